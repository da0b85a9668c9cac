package vertex

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
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

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func (r request) send(ctx context.Context, t *testing.T, s *Server) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, or(r.method, "POST"), s.URL+or(r.path, unaryPath), strings.NewReader(or(r.body, hello)))
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
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!r.http2)
	transport.Protocols.SetUnencryptedHTTP2(r.http2)
	t.Cleanup(transport.CloseIdleConnections)
	return (&http.Client{Transport: transport}).Do(req)
}

// answer sends r and returns the response with its whole body, and the error that ended it.
func (r request) answer(ctx context.Context, t *testing.T, s *Server) (resp *http.Response, body string, err error) {
	t.Helper()
	resp, err = r.send(ctx, t, s)
	if err != nil {
		return &http.Response{}, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp, string(all), err
}

// outcome is what a client has of an answer in the end.
type outcome struct {
	status int // 0: none
	body   string
	err    error
}

func (r request) outcome(t *testing.T, s *Server) outcome {
	t.Helper()
	resp, body, err := r.answer(t.Context(), t, s)
	return outcome{resp.StatusCode, body, err}
}

// leaving sends r and leaves when what has come is enough, and a little later at that, in case more comes.
func (r request) leaving(t *testing.T, s *Server, enough func(outcome) bool) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got outcome
	var mu sync.Mutex
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err := r.send(ctx, t, s)
		buf := make([]byte, 4096)
		for n := 0; ; {
			mu.Lock()
			got.err = err
			if resp != nil {
				got.status = resp.StatusCode
				got.body += string(buf[:n])
			}
			mu.Unlock()
			if err != nil {
				break
			}
			n, err = resp.Body.Read(buf)
		}
		if resp != nil {
			resp.Body.Close()
		}
	}()
	lingering(done, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return enough(got)
	})
	cancel()
	<-done
	return got
}

// lingering returns a little after enough holds, or when done is closed.
func lingering(done <-chan struct{}, enough func() bool) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for more := 10; more > 0; {
		select {
		case <-tick.C:
			if enough() {
				more--
			}
		case <-done:
			more = 0
		}
	}
}

// start starts a cloud that ends with the test.
func start(t *testing.T, o *Options) *Server {
	t.Helper()
	s := StartOptions(o)
	t.Cleanup(s.Close)
	return s
}

// last waits until n requests have ended and returns the last of them.
func last(t *testing.T, s *Server, n int) Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, n); err != nil {
		t.Fatalf("%d requests have not ended: %v", n, err)
	}
	return s.Requests()[n-1]
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
