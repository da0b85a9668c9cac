package azure

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

	"github.com/punctual-llm/punctual/internal/cloud"
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

func (r request) send(ctx context.Context, t *testing.T, s *Server) (*http.Response, error) {
	t.Helper()
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	req, err := http.NewRequestWithContext(ctx, or(r.method, "POST"), s.URL+or(r.path, deploymentPath), strings.NewReader(or(r.body, hello)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", or(r.contentType, "application/json"))
	if r.header == nil || r.header[cloud.FaultHeader] != "" {
		req.Header.Set("Api-Key", "k")
		req.Header.Set("Authorization", "Bearer k")
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
