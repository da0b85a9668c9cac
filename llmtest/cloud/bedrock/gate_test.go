package bedrock

import (
	"strings"
	"testing"
)

// The answers of the gate, byte for byte where a recording or a report has them so.
const (
	unknownOperation = `{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}`
	badToken         = `{"Message":"Authentication failed: Please make sure your API Key is valid."}`
	expired          = `{"message":"The security token included in the request is expired"}`
	noCredential     = `{"message":"Missing Authentication Token"}`
	badModel         = `{"message":"The provided model identifier is invalid."}`
	anyAnswer        = `{"metrics":{"latencyMs":`
)

func bearer(token string) map[string]string { return map[string]string{"Authorization": token} }

func TestGate(t *testing.T) {
	s := start(t, &Options{Token: "the-token", Expired: []string{"old"}})
	for _, test := range []struct {
		name      string
		r         request
		status    int
		exception string
		body      string // its beginning
	}{
		{"token", request{header: bearer("Bearer the-token")}, 200, "", anyAnswer},
		{"another token", request{header: bearer("Bearer x")}, 403, "AccessDeniedException", badToken},
		{"expired token", request{header: bearer("Bearer old")}, 403, "ExpiredTokenException", expired},
		{"nothing", request{header: bearer("")}, 403, "MissingAuthenticationTokenException", noCredential},
		{"basic", request{header: bearer("Basic x")}, 403, "IncompleteSignatureException", `{"message":"Unsupported AWS 'algorithm'"}`},
		{"a signature where a token is wanted", signedRequest("AKID", "any"), 403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`},
		{"GET", request{method: "GET"}, 200, "", unknownOperation},
		{"path", request{path: "/model/x"}, 200, "", unknownOperation},
		{"operation", request{path: "/model/amazon.nova-pro-v1%3A0/invoke"}, 200, "", unknownOperation},
		{"root", request{path: "/"}, 200, "", unknownOperation},
		{"slashes that are not encoded", request{path: "/model/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0/converse", header: bearer("")}, 200, "", unknownOperation},
		{"no JSON", request{body: "{", header: bearer("Bearer the-token")}, 400, "SerializationException", `{"message":`},
		{"no object", request{body: "[1]", header: bearer("Bearer the-token")}, 400, "SerializationException", `{"message":"Start of structure or map found where not expected."}`},
		{"too large", request{body: strings.Repeat(" ", maxBody+1), header: bearer("Bearer the-token")}, 400, "ValidationException", `{"message":"Input is too long for requested model."}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := test.r.to(t, s).Answer(t)
			if err != nil || resp.StatusCode != test.status || exceptionOf(resp) != test.exception || !strings.HasPrefix(body, test.body) {
				t.Errorf("%v %d %s %s\nwant %d %s %s", err, resp.StatusCode, exceptionOf(resp), body, test.status, test.exception, test.body)
			}
			if resp.Header.Get("Content-Type") != jsonType || resp.Header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("header %v", resp.Header)
			}
		})
	}
}

func TestErrorTypesAreInTheirNameSpace(t *testing.T) {
	s := start(t, &Options{Token: "the-token", Expired: []string{"old"}})
	for name, want := range map[string]string{
		"old":       "ExpiredTokenException:http://internal.amazon.com/coral/com.amazon.coral.service/",
		"the-token": "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/",
	} {
		resp, _, err := request{body: "{}", header: bearer("Bearer " + name)}.to(t, s).Answer(t)
		if err != nil || resp.Header.Get("X-Amzn-Errortype") != want {
			t.Errorf("%v %v, want %s", err, resp.Header, want)
		}
	}
}

func TestModels(t *testing.T) {
	const onDemand = `{"message":"Invocation of model ID anthropic.claude-sonnet-4-20250514-v1:0 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model."}`
	all := start(t, nil)
	some := start(t, &Options{Models: map[string]string{
		"anthropic.claude-sonnet-4-20250514-v1:0": "", "prod": "amazon.nova-micro-v1:0",
	}})
	image := "{" + talk(hi+`,{"image":{"format":"png","source":{"bytes":"AAAA"}}}`) + "}"
	for _, test := range []struct {
		name   string
		s      *Server
		model  string // as in the path
		body   string
		status int
		want   string
	}{
		{"on demand", all, "amazon.nova-pro-v1%3A0", "", 200, anyAnswer},
		{"colon not encoded", all, "amazon.nova-pro-v1:0", "", 200, anyAnswer},
		{"profile", all, "us.anthropic.claude-sonnet-4-20250514-v1%3A0", "", 200, anyAnswer},
		{"profile of the world", all, "global.anthropic.claude-haiku-4-5-20251001-v1%3A0", "", 200, anyAnswer},
		{"model without on-demand throughput", all, "anthropic.claude-sonnet-4-20250514-v1%3A0", "", 400, onDemand},
		{"ARN of a profile", all, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0", "", 200, anyAnswer},
		{"ARN of a model", all, "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Famazon.nova-micro-v1%3A0", image, 400, `{"message":"This model doesn't support the image field`},
		{"ARN of something else", all, "arn%3Aaws%3As3%3A%3A%3Abucket%2Fkey", "", 400, badModel},
		{"nobody's", all, "does-not-exist", "", 400, badModel},
		{"without provider", all, "claude-sonnet-4", "", 400, badModel},
		{"encoded twice", all, "amazon.nova-pro-v1%253A0", "", 400, badModel},
		{"listed", some, "anthropic.claude-sonnet-4-20250514-v1%3A0", "", 200, anyAnswer},
		{"listed for another", some, "prod", image, 400, `{"message":"This model doesn't support the image field`},
		{"not listed", some, "amazon.nova-pro-v1%3A0", "", 400, badModel},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := request{path: "/model/" + test.model + "/converse", body: test.body}.to(t, test.s).Outcome(t)
			if got.Status != test.status || !strings.HasPrefix(got.Body, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestGenerationsOfClaude(t *testing.T) {
	for model, want := range map[string]int{
		"anthropic.claude-3-haiku-20240307-v1:0": 30, "us.anthropic.claude-3-7-sonnet-20250219-v1:0": 37,
		"eu.anthropic.claude-sonnet-4-20250514-v1:0": 40, "global.anthropic.claude-opus-4-6-v1": 46,
		"us.anthropic.claude-sonnet-5": 50, "anthropic.claude-v2": 0, "amazon.nova-pro-v1:0": 0, "arn:x": 0,
	} {
		c := call{model: modelOf(model)}
		if got := c.claude(); got != want {
			t.Errorf("%s is of generation %d, want %d", model, got, want)
		}
	}
}

// TestRecordedIDs are ids that the service has answered.
func TestRecordedIDs(t *testing.T) {
	for _, id := range []string{
		"anthropic.claude-3-sonnet-20240229-v1:0", "us.amazon.nova-2-lite-v1:0", "amazon.titan-text-express-v1",
		"us.deepseek.r1-v1:0", "moonshot.kimi-k2-thinking", "qwen.qwen3-32b-v1:0", "mistral.devstral-2-123b",
		"us.anthropic.claude-sonnet-4-6", "amazon.nova-micro-v1:0",
	} {
		if !wellFormed(id) || profilesOnly(id) || modelOf(id) == "" {
			t.Errorf("%s: well formed %t, profiles only %t, model %q", id, wellFormed(id), profilesOnly(id), modelOf(id))
		}
	}
}
