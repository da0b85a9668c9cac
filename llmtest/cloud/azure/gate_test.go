package azure

import (
	"strings"
	"testing"
)

// The bodies of the gateway, byte for byte where a recording has them so.
const (
	wrongKey      = `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}`
	wrongToken    = `{"statusCode":401,"message":"Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired."}`
	noResource    = `{"error":{"code":"404","message": "Resource not found"}}`
	noDeployment  = `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}`
	noModel       = `{"error":{"message":"The model ` + "`gpt-9`" + ` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`
	noOpenAIKey   = `{"error":{"message":"You didn't provide an API key.`
	badOpenAIKey  = `{"error":{"message":"Incorrect API key provided: ***.`
	anyAnswer     = `{"choices":[{`
	modelsPath    = "/models/chat/completions?api-version=2024-05-01-preview"
	azureV1Path   = "/openai/v1/chat/completions"
	compatiblePat = "/chat/completions"
)

func TestGate(t *testing.T) {
	s := start(t, &Options{Key: "the-key", Token: "the-token", Deployments: map[string]string{"gpt-4o": "gpt-4o", "prod": "gpt-4.1"}})
	key, token := map[string]string{"Api-Key": "the-key"}, map[string]string{"Authorization": "Bearer the-token"}
	bearerKey := map[string]string{"Authorization": "Bearer the-key"}
	unknown := strings.Replace(hello, "gpt-4o", "gpt-9", 1)
	tests := []struct {
		name   string
		r      request
		status int
		body   string // its beginning
	}{
		{"deployment, key", request{header: key}, 200, anyAnswer},
		{"deployment, token", request{header: token}, 200, anyAnswer},
		{"deployment, key as token", request{header: bearerKey}, 401, wrongToken},
		{"deployment, token as key", request{header: map[string]string{"Api-Key": "the-token"}}, 401, wrongKey},
		{"deployment, nothing", request{header: map[string]string{}}, 401, wrongToken},
		{"deployment, basic", request{header: map[string]string{"Authorization": "Basic the-key"}}, 401, wrongToken},
		{"deployment unknown", request{path: "/openai/deployments/gpt-9/chat/completions?api-version=2024-10-21", header: key}, 404, noDeployment},
		{"deployment of another name", request{path: "/openai/deployments/prod/chat/completions?api-version=2024-10-21", header: key}, 200, anyAnswer},
		{"deployment, escaped", request{path: "/openai/deployments/gpt%2D4o/chat/completions?api-version=2024-10-21", header: key}, 200, anyAnswer},
		{"no api-version", request{path: "/openai/deployments/gpt-4o/chat/completions", header: key}, 404, noResource},
		{"api-version that never was", request{path: "/openai/deployments/gpt-4o/chat/completions?api-version=2020-01-01", header: key}, 404, noResource},
		{"api-version that is none", request{path: "/openai/deployments/gpt-4o/chat/completions?api-version=latest", header: key}, 404, noResource},
		{"GET", request{method: "GET", header: key}, 404, noResource},
		{"path", request{path: "/openai/deployments/gpt-4o/completions?api-version=2024-10-21", header: key}, 404, noResource},
		{"root", request{path: "/", header: key}, 404, noResource},
		{"models, key", request{path: modelsPath, header: key}, 200, anyAnswer},
		{"models, wrong key", request{path: modelsPath, header: map[string]string{"Api-Key": "x"}}, 401, wrongKey},
		{"v1, key", request{path: azureV1Path, header: key}, 200, anyAnswer},
		{"v1, key as token", request{path: azureV1Path, header: bearerKey}, 200, anyAnswer},
		{"v1, token", request{path: azureV1Path, header: token}, 200, anyAnswer},
		{"v1 unknown", request{path: azureV1Path, header: key, body: unknown}, 404, noDeployment},
		{"OpenAI, key", request{path: openAIPath, header: bearerKey}, 200, anyAnswer},
		{"OpenAI, Azure's header", request{path: openAIPath, header: key}, 401, noOpenAIKey},
		{"OpenAI, wrong key", request{path: openAIPath, header: map[string]string{"Authorization": "Bearer x"}}, 401, badOpenAIKey},
		{"OpenAI, unknown model", request{path: openAIPath, header: bearerKey, body: unknown}, 404, noModel},
		{"compatible", request{path: compatiblePat, header: bearerKey}, 200, anyAnswer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := test.r.to(t, s).Answer(t)
			if err != nil || resp.StatusCode != test.status || !strings.HasPrefix(body, test.body) {
				t.Errorf("%v %d %s\nwant %d %s", err, resp.StatusCode, body, test.status, test.body)
			}
			if resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Apim-Request-Id") == "" && !strings.HasPrefix(test.r.path, "/v1") && test.r.path != compatiblePat {
				t.Errorf("header %v", resp.Header)
			}
		})
	}
}

func TestAnyCredentialButNone(t *testing.T) {
	s := start(t, nil)
	for _, path := range []string{deploymentPath, modelsPath, azureV1Path, openAIPath, compatiblePat} {
		resp, _, err := request{path: path}.to(t, s).Answer(t)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %d with a key", path, err, resp.StatusCode)
		}
		resp, _, err = request{path: path, header: map[string]string{}}.to(t, s).Answer(t)
		if err != nil || resp.StatusCode != 401 {
			t.Errorf("%s: %v %d without", path, err, resp.StatusCode)
		}
	}
}
