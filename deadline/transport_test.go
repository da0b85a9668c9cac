package deadline_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

const name = "X-Deadline-Ms"

// roundTrip is a RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answered is an empty answer, as a RoundTripper gives it.
func answered(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func get(ctx context.Context, t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestTransport: each request is told what is left then, on a copy.
func TestTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent *http.Request
		rt := deadline.Transport(roundTrip(func(req *http.Request) (*http.Response, error) {
			sent = req
			return answered(req)
		}), &deadline.Header{Unit: s, Max: 895 * s, Hop: 200 * ms})
		do := func(req *http.Request) string {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return sent.Header.Get(name)
		}

		free := get(t.Context(), t, "http://callee/")
		equal(t, "header without a deadline", do(free), "")
		equal(t, "the request without a deadline", sent, free)

		ctx, cancel := deadline.With(t.Context(), 1000*s, nil)
		defer cancel()
		req := get(ctx, t, "http://callee/")
		req.Header.Set("Other", "1")
		equal(t, "header at first", do(req), "895")
		equal(t, "another header", sent.Header.Get("Other"), "1")
		time.Sleep(957*s + 300*ms)
		equal(t, "header of a retry", do(req), "42")
		time.Sleep(30 * s)
		equal(t, "header of a later retry", do(req), "12")
		time.Sleep(11*s + 600*ms)
		equal(t, "header below one unit", do(req), "")
		equal(t, "headers of the caller's request", len(req.Header), 1)

		ctx, cancel = context.WithTimeout(t.Context(), 5*s)
		defer cancel()
		req = get(ctx, t, "http://callee/")
		req.Header = nil
		equal(t, "header of a request without headers", do(req), "4")
		if req.Header != nil {
			t.Error("the caller's request got a header")
		}
	})
}

// closer counts calls of CloseIdleConnections.
type closer struct {
	roundTrip
	closed int
}

func (c *closer) CloseIdleConnections() { c.closed++ }

func TestTransportClosesIdleConnections(t *testing.T) {
	t.Parallel()
	base := &closer{roundTrip: answered}
	(&http.Client{Transport: deadline.Transport(base, nil)}).CloseIdleConnections()
	equal(t, "calls", base.closed, 1)
	(&http.Client{Transport: deadline.Transport(base.roundTrip, nil)}).CloseIdleConnections()
}

// TestMiddleware: min(own, received), 400 on garbage, 504 when spent.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	capped := &deadline.Header{Max: 30 * s}
	tests := []struct {
		name     string
		h        *deadline.Header
		own      time.Duration // deadline of the server's context; 0: none
		received []string
		status   int
		left     time.Duration // -1: the handler's context has no deadline
		body     string
	}{
		{"received", nil, 0, []string{"20000"}, 200, 20 * s, ""},
		{"received below its own", nil, 60 * s, []string{"20000"}, 200, 20 * s, ""},
		{"its own below what is received", nil, 10 * s, []string{"20000"}, 200, 10 * s, ""},
		{"its own alone", nil, 10 * s, nil, 200, 10 * s, ""},
		{"neither", nil, 0, nil, 200, -1, ""},
		{"at most Max", capped, 0, []string{"60000"}, 200, 30 * s, ""},
		{"Max alone", capped, 0, nil, 200, 30 * s, ""},
		{"Max and its own", capped, 10 * s, nil, 200, 10 * s, ""},
		{"no hop is taken off", &deadline.Header{Hop: 5 * s}, 0, []string{"20000"}, 200, 20 * s, ""},
		{"the least time", nil, 0, []string{"1"}, 200, ms, ""},
		{"garbage", nil, 0, []string{"<soon>"}, 400, 0, `{"code":"INVALID_DEADLINE","message":"deadline: header X-Deadline-Ms: want digits only, got 6 bytes that are something else (send a whole number, in units of 1ms)"}`},
		{"a sign", nil, 0, []string{"-5"}, 400, 0, "INVALID_DEADLINE"},
		{"repeats", nil, 0, []string{"5", "6"}, 400, 0, "INVALID_DEADLINE"},
		{"overflow", nil, 0, []string{"9223372036854775807"}, 400, 0, "INVALID_DEADLINE"},
		{"zero", nil, 0, []string{"0"}, 504, 0, `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"0s","elapsed":"0s"}`},
		{"its own is over", nil, -1, []string{"20000"}, 504, 0, "EXECUTION_DEADLINE_EXCEEDED"},
		{"its own is over, nothing received", nil, -1, nil, 504, 0, "EXECUTION_DEADLINE_EXCEEDED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var served *http.Request
				h := deadline.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					ctx := r.Context()
					served = r
					left, ok := deadline.Remaining(ctx)
					equal(t, "ok", ok, tt.left >= 0)
					equal(t, "Remaining", left, max(tt.left, 0))
					equal(t, "Elapsed", deadline.Elapsed(ctx), 0)
				}), tt.h)
				own, stop := within(t.Context(), tt.own)
				defer stop()
				req := get(own, t, "/")
				for _, value := range tt.received {
					req.Header.Add(name, value)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				equal(t, "status", w.Code, tt.status)
				if !strings.Contains(w.Body.String(), tt.body) {
					t.Errorf("body is %s, want %s", w.Body, tt.body)
				}
				if tt.status == http.StatusOK {
					equal(t, "context after the end", served.Context().Err(), context.Canceled)
					return
				}
				equal(t, "type", w.Header().Get("Content-Type"), "application/json")
				equal(t, "the body is JSON", json.Valid(w.Body.Bytes()), true)
				if served != nil {
					t.Error("the handler ran")
				}
			})
		})
	}
}

// TestMiddlewareInExecution: a request to a server whose execution is about to end is refused.
func TestMiddlewareInExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, stop := deadline.With(t.Context(), 60*s, nil)
		defer stop()
		h := deadline.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil)
		status := func() int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, get(server, t, "/"))
			return w.Code
		}
		time.Sleep(55 * s)
		equal(t, "status with the floor left", status(), http.StatusOK)
		time.Sleep(ms)
		equal(t, "status below the floor", status(), http.StatusGatewayTimeout)
	})
}

// TestMiddlewareBoundsHandler: the handler's context ends in time with the typed error.
func TestMiddlewareBoundsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h := deadline.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			http.Error(w, context.Cause(r.Context()).Error(), http.StatusGatewayTimeout)
		}), nil)
		req := get(t.Context(), t, "/")
		req.Header.Set(name, "1500")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		equal(t, "time", time.Since(start), 1500*ms)
		equal(t, "answer", w.Body.String(), "deadline: execution deadline exceeded (1.5s of 1.5s used)\n")
	})
}

// TestThreeHops sends a request over real connections through three services; each hop's number is smaller
// by at least the deduction.
func TestThreeHops(t *testing.T) {
	t.Parallel()
	const hop = 100 * ms
	h := &deadline.Header{Hop: hop}
	client := &http.Client{Transport: deadline.Transport(nil, h)}
	defer client.CloseIdleConnections()
	// Each service puts what it received before what the next one answers.
	serve := func(next string) *httptest.Server {
		server := httptest.NewServer(deadline.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get(name)+" ")
			if next == "" {
				return
			}
			resp, err := client.Do(get(r.Context(), t, next))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(w, resp.Body)
		}), h))
		t.Cleanup(server.Close)
		return server
	}
	first := serve(serve(serve("").URL).URL)

	ctx, cancel := deadline.With(t.Context(), 20*s, nil)
	defer cancel()
	resp, err := client.Do(get(ctx, t, first.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("20000 %s", body)
	before, hops := 20*s, strings.Fields(string(body))
	equal(t, "hops", len(hops), 3)
	for i, text := range hops {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Duration(n) * ms; left > before-hop || left <= 0 {
			t.Errorf("hop %d was told %v after %v", i+1, left, before)
		} else {
			before = left
		}
	}
}
