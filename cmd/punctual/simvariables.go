package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
)

// simVariables point a client that reads the environment at the simulated clouds. Each name is one that the
// vendor's own SDKs read, but for those with LLM_.
func simVariables(url, credential string) []string {
	return []string{
		envAzureEndpoint + "=" + url,
		envAzureKey + "=" + simulatedKey,
		envAzureDeployment + "=gpt-4o",
		envAzureVersion + "=2024-10-21",
		"OPENAI_BASE_URL=" + url + "/v1",
		"OPENAI_API_KEY=" + simulatedKey,
		"OPENAI_API_VERSION=2024-10-21", // the name that OpenAI's own SDKs read
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME=" + url,
		"AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + simulatedKey,
		"AWS_SECRET_ACCESS_KEY=" + simulatedKey,
		"AWS_EC2_METADATA_DISABLED=true",
		"LLM_BEDROCK_MODEL=us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"GOOGLE_VERTEX_BASE_URL=" + url,
		"GOOGLE_GEMINI_BASE_URL=" + url,
		"GOOGLE_CLOUD_PROJECT=simulated-project",
		"GOOGLE_CLOUD_LOCATION=global",
		"GOOGLE_API_KEY=" + simulatedKey,
		"GOOGLE_APPLICATION_CREDENTIALS=" + credential,
		"LLM_VERTEX_MODEL=gemini-2.5-flash",
	}
}

// realVariables name a real account, or keep the variables above from being read: no client may see them, or it
// would ask that account by accident.
func realVariables() []string {
	return []string{
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "GEMINI_API_KEY",
	}
}

// simEnvironment is the environment of a command: environ with vars, and without what names a real account.
func simEnvironment(environ, vars []string) []string {
	gone := realVariables()
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		gone = append(gone, name)
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(gone, name)
	})
	return append(kept, vars...)
}

// tokenPath is where the simulated credential of Google gets its tokens. It is a part of sim, not of a cloud: its
// requests are neither logged nor bent.
const tokenPath = "/v1/oauthtoken"

// writeCredential writes a file of Application Default Credentials that lead nowhere but to sim, of the one type
// that names where its tokens come from for every SDK of Google. The caller removes it.
func writeCredential(url string) (file string, err error) {
	data, err := json.Marshal(map[string]string{
		"type":          "external_account_authorized_user",
		"audience":      "//iam.googleapis.com/locations/global/workforcePools/simulated/providers/simulated",
		"client_id":     "simulated",
		"client_secret": simulatedKey,
		"refresh_token": simulatedKey,
		"token_url":     url + tokenPath,
	})
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "punctual-sim-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func serveToken(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"access_token":"simulated-token","token_type":"Bearer","expires_in":3600}`))
}
