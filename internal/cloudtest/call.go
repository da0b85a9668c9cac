package cloudtest

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// patience bounds every wait that should end by itself.
const patience = 10 * time.Second

// Outcome is what a client has of an answer in the end.
type Outcome struct {
	Status int // 0: none
	Body   string
	Err    error
}

// Call is one request, over HTTP/1.1 or over unencrypted HTTP/2, by a client of its own.
type Call struct {
	Request *http.Request
	HTTP2   bool
}

// Send sends the request.
func (c Call) Send(t *testing.T) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!c.HTTP2)
	transport.Protocols.SetUnencryptedHTTP2(c.HTTP2)
	t.Cleanup(transport.CloseIdleConnections)
	return (&http.Client{Transport: transport}).Do(c.Request)
}

// Answer sends the request and returns the response with its whole body, and the error that ended it.
func (c Call) Answer(t *testing.T) (resp *http.Response, body string, err error) {
	t.Helper()
	resp, err = c.Send(t)
	if err != nil {
		return &http.Response{}, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp, string(all), err
}

// Outcome sends the request and reads its answer to the end.
func (c Call) Outcome(t *testing.T) Outcome {
	t.Helper()
	resp, body, err := c.Answer(t) //nolint:bodyclose // Answer has closed it
	return Outcome{Status: resp.StatusCode, Body: body, Err: err}
}

// Leave sends the request and leaves when what has come is enough, and a little later at that, in case more comes.
func (c Call) Leave(t *testing.T, enough func(Outcome) bool) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	var got Outcome
	var mu sync.Mutex
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err := c.Send(t)
		buf := make([]byte, 4096)
		for n := 0; ; {
			mu.Lock()
			got.Err = err
			if resp != nil {
				got.Status = resp.StatusCode
				got.Body += string(buf[:n])
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
	Linger(done, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return enough(got)
	})
	cancel()
	<-done
	return got
}

// Linger returns a little after enough holds, or when done is closed.
func Linger(done <-chan struct{}, enough func() bool) {
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

// Server is what every simulated cloud can tell of its requests.
type Server interface {
	Requests() []cloud.Request
	Wait(ctx context.Context, n int) error
}

// Last waits until n requests have ended and returns the last of them.
func Last(t *testing.T, s Server, n int) cloud.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Wait(ctx, n); err != nil {
		t.Fatalf("%d requests have not ended: %v", n, err)
	}
	return s.Requests()[n-1]
}

// Unzip is the body of a response that has to be compressed.
func Unzip(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	zip, err := gzip.NewReader(resp.Body)
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal(err, resp.Header)
	}
	body, err := io.ReadAll(zip)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
