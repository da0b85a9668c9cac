package httpx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// hooked returns options that count the requests, set a header and replace the
// body.
func hooked(n *atomic.Int32) Options {
	return Options{
		Header: func(_ context.Context, h http.Header) error {
			n.Add(1)
			h.Set("Authorization", "Bearer fresh")
			return nil
		},
		Body: func(context.Context, []byte) ([]byte, error) { return []byte(`{"hooked":true}`), nil },
	}
}

// closer is a request body as smithy makes them: once closed it is at its end.
type closer struct {
	io.Reader
	closed atomic.Int32
}

func (c *closer) Read(p []byte) (int, error) {
	if c.closed.Load() > 0 {
		return 0, io.EOF
	}
	return c.Reader.Read(p)
}

func (c *closer) Close() error {
	c.closed.Add(1)
	return nil
}

func TestBodyReachesTheWireWhateverTheSDKDoesToIt(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	tests := []struct {
		name   string
		body   string
		length int64
	}{
		{"known length", `{"a":1}`, 7},
		{"unknown length", `{"a":1}`, -1},
		{"no length", `{"a":1}`, 0},
		{"length too small", `{"a":1}`, 3},
		{"length absurd", `{"a":1}`, 1 << 50},
		{"large", big, int64(len(big))},
		{"large of unknown length", big, -1},
		{"empty", "", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
				if len(r.TransferEncoding) > 0 {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.Copy(w, r.Body)
			}) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					body := &closer{Reader: strings.NewReader(test.body)}
					ctx, x := WithExchange(t.Context())
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
					req.Body, req.ContentLength = body, test.length
					resp, err := Client(s.base, Options{}).Do(req)
					if err != nil {
						t.Fatal(err)
					}
					if body.closed.Load() == 0 {
						t.Error("the SDK's body was not closed")
					}
					got, err := io.ReadAll(resp.Body)
					if string(got) != test.body || err != nil || x.Status() != 200 {
						t.Errorf("echo of %d bytes, %v, status %d", len(got), err, x.Status())
					}
					_ = resp.Body.Close()
				})
			}
		})
	}
}

// A transport that still reads the body after the SDK closed it is what broke
// bedrock's streams.
func TestSDKThatClosesItsBodyEarlyDoesNotHarmTheTransport(t *testing.T) {
	t.Parallel()
	body := &closer{Reader: strings.NewReader("all of it")}
	base := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		_ = body.Close()
		for i := range 2 { // the second time as for a replay
			if i > 0 {
				req.Body, _ = req.GetBody()
			}
			got, err := io.ReadAll(req.Body)
			if string(got) != "all of it" || err != nil {
				t.Errorf("transport read %q, %v", got, err)
			}
			_ = req.Body.Close()
		}
		return answer(200, text("")), nil
	})}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/", nil)
	req.Body = body
	if _, err := Client(base, Options{}).Do(req); err != nil {
		t.Error(err)
	}
}

func TestABodyIsGivenOutForOneRepeat(t *testing.T) {
	t.Parallel()
	base := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		repeats := 0
		for {
			body, err := req.GetBody()
			if err != nil {
				if repeats != 1 {
					t.Errorf("repeated %d times", repeats)
				}
				return nil, err
			}
			if got, err := io.ReadAll(body); string(got) != "{}" || err != nil {
				t.Errorf("transport read %q, %v", got, err)
			}
			if repeats++; repeats > 9 {
				return answer(200, text("")), nil
			}
		}
	})}
	c := Client(base, Options{})
	for range 2 { // each request has its own
		_, x, err := fetch(t.Context(), c, "http://host/", "{}")
		if !errors.Is(err, errRefused) || !x.Sent() {
			t.Errorf("%v, sent %v", err, x.Sent())
		}
	}
}

func TestRequestOfTheSDKIsNotChanged(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	var sent *http.Request
	s := &shim{Options: hooked(&n), next: roundTrip(func(req *http.Request) (*http.Response, error) {
		sent = req
		return answer(200, text("")), nil
	})}
	ctx, _ := WithExchange(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/", bytes.NewReader([]byte("{}")))
	req.TransferEncoding = []string{"chunked"}
	body := req.Body
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if req.ContentLength != 2 || req.Body != body || len(req.Header) != 0 || len(req.TransferEncoding) != 1 {
		t.Errorf("request changed: %+v", req)
	}
	if resp.Request != req {
		t.Error("the response does not name the SDK's request")
	}
	if got, _ := io.ReadAll(sent.Body); string(got) != `{"hooked":true}` || sent.ContentLength != int64(len(got)) {
		t.Errorf("sent %q of %d", got, sent.ContentLength)
	}
	if sent.Header.Get("Authorization") != "Bearer fresh" {
		t.Errorf("sent headers %v", sent.Header)
	}
	req.Header = nil
	req.Body = nil
	if _, err := s.RoundTrip(req); err != nil || sent.Body != http.NoBody {
		t.Errorf("bare request: %v, body %v", err, sent.Body)
	}
}

type tokenError struct{ reason string }

func (e *tokenError) Error() string { return e.reason }

func TestErrorOfAHookIsFoundAndNothingIsSent(t *testing.T) {
	t.Parallel()
	fail := &tokenError{"no token"}
	tests := map[string]struct {
		options Options
		body    io.Reader
	}{
		"header": {Options{Header: func(context.Context, http.Header) error { return fail }}, strings.NewReader("{}")},
		"body":   {Options{Body: func(context.Context, []byte) ([]byte, error) { return nil, fail }}, strings.NewReader("{}")},
		"read":   {Options{}, iotest.ErrReader(fail)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				t.Error("sent")
				return answer(200, text("")), nil
			})}
			body := &closer{Reader: test.body}
			ctx, x := WithExchange(t.Context())
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/", body)
			_, err := Client(base, test.options).Do(req)
			if found, ok := errors.AsType[*tokenError](err); !ok || found != fail {
				t.Errorf("error %v", err)
			}
			if x.Sent() || x.Status() != 0 || body.closed.Load() == 0 {
				t.Errorf("sent %v, status %d, closed %d", x.Sent(), x.Status(), body.closed.Load())
			}
		})
	}
}
