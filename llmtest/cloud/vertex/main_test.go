package vertex

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/cloudtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	resource    = "projects/p/locations/global/publishers/google/models/"
	unaryPath   = "/v1beta1/" + resource + "gemini-2.5-flash:generateContent"
	ssePath     = "/v1beta1/" + resource + "gemini-2.5-flash:streamGenerateContent?alt=sse"
	arrayPath   = "/v1/" + resource + "gemini-2.5-flash:streamGenerateContent"
	intsPath    = arrayPath + "?$alt=json;enum-encoding=int"
	gemini3Path = "/v1beta1/" + resource + "gemini-3-pro-preview:generateContent"
	expressPath = "/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent"
	geminiPath  = "/v1beta/models/gemini-2.5-flash:generateContent"
	geminiSSE   = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
	hello       = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
)

// request is one request of a test; the zero request is a valid one.
type request struct {
	method, path, body string
	header             map[string]string // Authorization: Bearer t, unless one is given
	http2              bool
}

// to is r, as it goes to s.
func (r request) to(t *testing.T, s *Server) cloudtest.Call {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.method, http.MethodPost), s.URL+cmp.Or(r.path, unaryPath), strings.NewReader(cmp.Or(r.body, hello)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if r.header == nil || r.header["X-Punctual-Fault"] != "" || r.header["X-Turn"] != "" {
		req.Header.Set("Authorization", "Bearer t")
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

// apiError is an error body.
type apiError struct {
	Code            int
	Message, Status string
	Details         []map[string]any
}

// errorOf reads an error body, in an array or not.
func errorOf(t *testing.T, body string) apiError {
	t.Helper()
	var outer struct{ Error *apiError }
	if err := json.Unmarshal(elements([]byte(body))[0], &outer); err != nil || outer.Error == nil {
		t.Fatalf("no error body: %v in %q", err, body)
	}
	return *outer.Error
}
