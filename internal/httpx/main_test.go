package httpx

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answer is a response without a wire.
func answer(status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1}
}

func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// A site is one handler on the wire.
type site struct {
	url  string
	base *http.Client
}

// sites serves h over HTTP/1.1 and over HTTP/2 with TLS.
func sites(t *testing.T, h http.HandlerFunc) map[string]site {
	t.Helper()
	return map[string]site{"http1": serve(t, h, false), "http2": serve(t, h, true)}
}

func serve(tb testing.TB, h http.HandlerFunc, http2 bool) site {
	tb.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse it are wanted here
	tr := Transport()
	if http2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
		roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		tr.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	} else {
		srv.Start()
	}
	tb.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
	})
	return site{srv.URL, &http.Client{Transport: tr}}
}

// post sends body and returns the response, its error, and the exchange.
func post(ctx context.Context, c *http.Client, url, body string) (*http.Response, *Exchange, error) {
	ctx, x := WithExchange(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, x, err
	}
	resp, err := c.Do(req)
	return resp, x, err
}

// fetch is post with the whole body read.
func fetch(ctx context.Context, c *http.Client, url, body string) (string, *Exchange, error) {
	resp, x, err := post(ctx, c, url, body)
	if err != nil {
		return "", x, err
	}
	got, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	return string(got), x, err
}
