package azure

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	deploymentPath = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
	reasoningPath  = "/openai/deployments/o3-mini/chat/completions?api-version=2024-10-21"
	openAIPath     = "/v1/chat/completions"
)

// request is one request of a test; the zero request is a valid one.
type request struct {
	method, path, body, contentType string
	header                          map[string]string // Api-Key: k, unless one is given
	http2                           bool
}

const hello = `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`

const helloStream = `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`

// to is r, as it goes to s.
func (r request) to(t *testing.T, s *Server) cloudtest.Call {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.method, http.MethodPost), s.URL+cmp.Or(r.path, deploymentPath), strings.NewReader(cmp.Or(r.body, hello)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	if r.header == nil || r.header[cloud.FaultHeader] != "" {
		req.Header.Set("Api-Key", "k")
		req.Header.Set("Authorization", "Bearer k")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return cloudtest.Call{Request: req, HTTP2: r.http2}
}

// start starts a cloud that ends with the test.
func start(t *testing.T, o *Options) *Server {
	t.Helper()
	s := StartOptions(o)
	t.Cleanup(s.Close)
	return s
}

// errorOf reads an error body.
func errorOf(t *testing.T, body string) (e struct {
	Message, Type, Param, Code string
	InnerError                 struct {
		Code                string
		ContentFilterResult map[string]struct {
			Filtered bool
			Severity string
		} `json:"content_filter_result"`
	}
},
) {
	t.Helper()
	outer := struct{ Error any }{&e}
	if err := json.Unmarshal([]byte(body), &outer); err != nil {
		t.Fatalf("no error body: %v in %q", err, body)
	}
	return e
}
