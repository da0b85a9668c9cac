package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestParallelCallsKeepTheirOwnExchanges(t *testing.T) {
	t.Parallel()
	for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Retry-After", string(b))
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, `{"error":%s}`, b)
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			c := Client(s.base, Options{SSE: true})
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					n := fmt.Sprint(i)
					got, x, err := fetch(t.Context(), c, s.url, n)
					if want := `{"error":` + n + `}`; got != want || string(x.ErrorBody()) != want || err != nil {
						t.Errorf("call %s: body %q, kept %q, %v", n, got, x.ErrorBody(), err)
					}
					if x.Status() != 429 || x.Header().Get("Retry-After") != n || !x.Sent() || x.Cut() {
						t.Errorf("call %s: %d %v", n, x.Status(), x.Header())
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestSentIsFalseOnlyWhenTheBodyCannotHaveLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		url  func(hang http.HandlerFunc) (string, *http.Client)
		sent bool
	}{
		{"refused", func(http.HandlerFunc) (string, *http.Client) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
			return "http://" + l.Addr().String(), nil
		}, false},
		{"certificate not trusted", func(hang http.HandlerFunc) (string, *http.Client) {
			return serve(t, hang, true).url, nil
		}, false},
		{"no answer over http1", func(hang http.HandlerFunc) (string, *http.Client) {
			s := serve(t, hang, false)
			return s.url, s.base
		}, true},
		{"no answer over http2", func(hang http.HandlerFunc) (string, *http.Client) {
			s := serve(t, hang, true)
			return s.url, s.base
		}, true},
		{"transport that fails first", func(http.HandlerFunc) (string, *http.Client) {
			return "http://host/", &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return nil, errors.New("no connection")
			})}
		}, false},
		{"transport that reads and fails", func(http.HandlerFunc) (string, *http.Client) {
			return "http://host/", &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				_, _ = req.Body.Read(make([]byte, 1))
				return nil, errors.New("broken pipe")
			})}
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, base := test.url(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body) // only then the server sees that its client left
				cancel()
				<-r.Context().Done()
			})
			ctx, x := WithExchange(ctx)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
			if _, err := Client(base, Options{}).Do(req); err == nil {
				t.Fatal("no error")
			}
			if x.Sent() != test.sent || x.Status() != 0 || x.Header() != nil {
				t.Errorf("Sent() = %v, status %d", x.Sent(), x.Status())
			}
		})
	}
}

func TestRequestWithoutBodyCountsAsSent(t *testing.T) {
	t.Parallel()
	base := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.EOF })}
	_, x, _ := fetch(t.Context(), Client(base, Options{}), "http://host/", "")
	if !x.Sent() {
		t.Error("nothing shows that it was not sent")
	}
}

func TestSecondRequestOfACallReplacesTheFirst(t *testing.T) {
	t.Parallel()
	requests := 0
	base := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		if requests++; requests == 2 {
			return nil, errors.New("no connection")
		}
		_, _ = io.ReadAll(req.Body)
		return answer(429, text(`{"error":1}`)), nil
	})}
	c := Client(base, Options{})
	ctx, x := WithExchange(t.Context())
	for range 2 {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/", strings.NewReader("{}"))
		if resp, err := c.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	if x.Status() != 0 || x.Header() != nil || x.ErrorBody() != nil || !x.Sent() {
		t.Errorf("status %d, body %q, sent %v", x.Status(), x.ErrorBody(), x.Sent())
	}
}

func TestClientWorksWithoutAnExchange(t *testing.T) {
	t.Parallel()
	for name, resp := range map[string]*http.Response{
		"ok":       answer(200, text("data: {\"error\":1}\n\ndata: {")),
		"error":    answer(500, text("{}")),
		"redirect": answer(307, text("{}")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				_, _ = io.ReadAll(req.Body)
				resp.Header.Set("Content-Type", "text/event-stream")
				return resp, nil
			})}
			resp, err := Client(base, Options{SSE: true}).Post("http://host/", "", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		})
	}
	var x *Exchange
	if x.Status() != 0 || x.Header() != nil || x.Sent() || x.Cut() || x.Redirect() != "" ||
		x.ErrorBody() != nil || x.StreamError() != nil {
		t.Error("a nil exchange knows something")
	}
}
