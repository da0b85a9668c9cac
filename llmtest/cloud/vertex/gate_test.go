package vertex

import (
	"cmp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The texts of the gate, byte for byte where a recording has them so.
const (
	noCredential = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
	badToken     = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
	badKey       = "API key not valid. Please pass a valid API key."
	noKeys       = "API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a principal. See https://cloud.google.com/docs/authentication"
	unregistered = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
	permission   = "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/q/locations/global/publishers/google/models/gemini-2.5-flash' (or it may not exist)."
	versions     = " was not found or your project does not have access to it. Please ensure you are using a valid model version. For more information, see: https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions"
	noModelAPI   = "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods."
)

func TestGate(t *testing.T) {
	s := start(t, &Options{
		Token: "the-token", APIKey: "the-key", Project: "p", Location: "global",
		Models: map[string]string{"gemini-2.5-flash": "gemini-2.5-flash", "123": "gemini-3.5-flash"},
	})
	client := rpcClient(t, s)
	token, key := map[string]string{"authorization": "Bearer the-token"}, map[string]string{"x-goog-api-key": "the-key"}
	none := map[string]string{}
	other := func(from, to string) string { return strings.Replace(unaryPath, from, to, 1) }
	tests := []struct {
		name    string
		path    string
		header  map[string]string
		code    int // 200
		status  string
		message string
		reason  string
		rest    bool // has no form over gRPC
	}{
		{name: "token", header: token},
		{name: "key", header: key},
		{name: "key alone", path: expressPath, header: key},
		{name: "token, stream", path: ssePath, header: token},
		{name: "endpoint", path: "/v1/projects/p/locations/global/endpoints/123:generateContent", header: token},
		{name: "Gemini API, key", path: geminiPath, header: key, rest: true},
		{name: "Gemini API, key in the query", path: geminiPath + "?key=the-key", header: none, rest: true},
		{name: "Gemini API, key in the query of a stream", path: geminiSSE + "&key=the-key", header: none, rest: true},
		{name: "Gemini API, token", path: geminiPath, header: token, rest: true},
		{name: "nothing", header: none, code: 401, status: "UNAUTHENTICATED", message: noCredential, reason: "CREDENTIALS_MISSING"},
		{name: "nothing, stream", path: arrayPath, header: none, code: 401, status: "UNAUTHENTICATED", message: noCredential, reason: "CREDENTIALS_MISSING"},
		{name: "basic", header: map[string]string{"authorization": "Basic the-token"}, code: 401, status: "UNAUTHENTICATED", message: noCredential, reason: "CREDENTIALS_MISSING"},
		{name: "wrong token", header: map[string]string{"authorization": "Bearer x"}, code: 401, status: "UNAUTHENTICATED", message: badToken, reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED"},
		{name: "key as token", header: map[string]string{"authorization": "Bearer the-key"}, code: 401, status: "UNAUTHENTICATED", message: badToken, reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED"},
		{name: "wrong key", path: expressPath, header: map[string]string{"x-goog-api-key": "x"}, code: 400, status: "INVALID_ARGUMENT", message: badKey, reason: "API_KEY_INVALID"},
		{name: "Gemini API, wrong key", path: geminiPath + "?key=x", header: none, code: 400, status: "INVALID_ARGUMENT", message: badKey, reason: "API_KEY_INVALID", rest: true},
		{name: "Gemini API, nothing", path: geminiPath, header: none, code: 403, status: "PERMISSION_DENIED", message: unregistered, rest: true},
		{name: "another project", path: other("/p/", "/q/"), header: token, code: 403, status: "PERMISSION_DENIED", message: permission, reason: "IAM_PERMISSION_DENIED"},
		{name: "another location", path: other("global", "us-east9"), header: token, code: 404, status: "NOT_FOUND", message: "Publisher Model `projects/p/locations/us-east9/publishers/google/models/gemini-2.5-flash`" + versions},
		{name: "unknown model", path: other("gemini-2.5-flash", "gemini-9"), header: token, code: 404, status: "NOT_FOUND", message: "Publisher Model `projects/p/locations/global/publishers/google/models/gemini-9`" + versions},
		{name: "unknown model, key alone", path: strings.Replace(expressPath, "2.5-flash", "9", 1), header: key, code: 404, status: "NOT_FOUND", message: "Publisher Model `publishers/google/models/gemini-9`" + versions},
		{name: "unknown endpoint", path: "/v1/projects/p/locations/global/endpoints/9:generateContent", header: token, code: 404, status: "NOT_FOUND", message: "Endpoint `projects/p/locations/global/endpoints/9` not found."},
		{name: "Gemini API, unknown model", path: "/v1beta/models/gemini-9:generateContent", header: key, code: 404, status: "NOT_FOUND", message: noModelAPI, rest: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := request{path: test.path, header: test.header}.to(t, s).Answer(t)
			if err != nil || resp.StatusCode != max(test.code, 200) {
				t.Fatalf("%v %d %s", err, resp.StatusCode, body)
			}
			if test.code != 0 {
				e := errorOf(t, body)
				if e.Code != test.code || e.Status != test.status || e.Message != test.message || reasonOf(e) != test.reason {
					t.Errorf("%s", body)
				}
			}
			if test.rest {
				return
			}
			path, _, _ := strings.Cut(cmp.Or(test.path, unaryPath), "?")
			_, name, method := route(path)
			got, err := rpcRequest{stream: method != "generateContent", model: name, header: test.header}.digest(t, client)
			if e := statusOf(err); test.code == 0 && err != nil || test.code != 0 && (e.Status != test.status || e.Message != test.message) {
				t.Errorf("over gRPC: %q, %v", got, err)
			}
			if test.reason != "" && len(status.Convert(err).Details()) == 0 {
				t.Errorf("over gRPC without details: %v", err)
			}
		})
	}
}

func reasonOf(e apiError) string {
	for _, d := range e.Details {
		if reason, ok := d["reason"].(string); ok {
			return reason
		}
	}
	return ""
}

func TestKeysWhereOnlyTokensAreTaken(t *testing.T) {
	s := start(t, &Options{Token: "the-token"})
	got := request{path: expressPath, header: map[string]string{"x-goog-api-key": "k"}}.to(t, s).Outcome(t)
	if e := errorOf(t, got.Body); got.Status != 401 || e.Message != noKeys {
		t.Errorf("%+v", got)
	}
}

func TestAnyCredentialButNone(t *testing.T) {
	s := start(t, nil)
	for _, path := range []string{unaryPath, ssePath, expressPath, geminiPath} {
		if got := (request{path: path}).to(t, s).Outcome(t); got.Status != 200 {
			t.Errorf("%s: %+v", path, got)
		}
		if got := (request{path: path, header: map[string]string{}}).to(t, s).Outcome(t); got.Status != 401 && got.Status != 403 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	s := start(t, nil)
	for _, r := range []request{
		{path: "/"},
		{path: "/v1/models"},
		{path: "/v1beta1/models/gemini-2.5-flash:generateContent"},
		{path: "/v1beta/" + resource + "gemini-2.5-flash:generateContent"},
		{path: "/v1/" + resource + "gemini-2.5-flash:countTokens"},
		{path: "/v1/" + resource + "gemini-2.5-flash"},
		{path: "/v1/" + resource + ":generateContent"},
		{path: "/v1/projects/p/locations//publishers/google/models/m:generateContent"},
		{path: "/v2/" + resource + "m:generateContent"},
		{path: "/v1/projects/p/locations/global/publishers/anthropic/models/m:generateContent"},
		{path: "/<script>"},
		{method: "GET"},
	} {
		resp, body, err := r.to(t, s).Answer(t)
		if err != nil || resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "text/html; charset=UTF-8" ||
			!strings.HasPrefix(body, "<!DOCTYPE html>") || strings.Contains(body, "<script>") {
			t.Errorf("%s: %v %d %v %s", r.path, err, resp.StatusCode, resp.Header, body)
		}
	}
}

func TestRPCNames(t *testing.T) {
	s := start(t, nil)
	client := rpcClient(t, s)
	for _, model := range []string{"gemini-2.5-flash", "models/gemini-2.5-flash", "projects/p/locations/l/models/m"} {
		_, err := rpcRequest{model: model}.digest(t, client)
		if e := statusOf(err); e.Message != "Invalid resource field value in the request." {
			t.Errorf("%s: %v", model, err)
		}
	}
	ctx := t.Context()
	if _, err := client.CountTokens(ctx, nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("another method: %v", err)
	}
}
