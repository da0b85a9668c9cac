package bedrock

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/cloud"
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

func (r request) make(ctx context.Context, t *testing.T, s *Server) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodPost), s.URL+cmp.Or(r.path, unaryPath),
		strings.NewReader(cmp.Or(r.body, hello)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req
}

func (r request) send(ctx context.Context, t *testing.T, s *Server) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!r.http2)
	transport.Protocols.SetUnencryptedHTTP2(r.http2)
	t.Cleanup(transport.CloseIdleConnections)
	return (&http.Client{Transport: transport}).Do(r.make(ctx, t, s))
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
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for more := 10; more > 0; {
		select {
		case <-tick.C:
			mu.Lock()
			if enough(got) {
				more--
			}
			mu.Unlock()
		case <-done:
			more = 0
		}
	}
	cancel()
	<-done
	return got
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

func or(value, otherwise string) string { return cmp.Or(value, otherwise) }

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
