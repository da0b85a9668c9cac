package bedrock

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sonnet     = "us.anthropic.claude-sonnet-4-20250514-v1%3A0"
	unaryPath  = "/model/" + sonnet + "/converse"
	streamPath = "/model/" + sonnet + "/converse-stream"
	hello      = `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
)

// request is one request of a test; the zero request is a valid one.
type request struct {
	method, path, body string
	header             map[string]string // Authorization: Bearer k, unless one is given
	http2              bool
}

// to is r, as it goes to s.
func (r request) to(t *testing.T, s *Server) cloudtest.Call {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.method, http.MethodPost), s.URL+cmp.Or(r.path, unaryPath),
		strings.NewReader(cmp.Or(r.body, hello)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
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

// messageOf reads an error body.
func messageOf(t *testing.T, body string) string {
	t.Helper()
	var e struct{ Message string }
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("no error body: %v in %q", err, body)
	}
	return e.Message
}

// exceptionOf is the exception that a response names.
func exceptionOf(resp *http.Response) string {
	name, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
	return name
}

func ordered(fault string) request {
	return request{path: streamPath, header: map[string]string{cloud.FaultHeader: fault}}
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
