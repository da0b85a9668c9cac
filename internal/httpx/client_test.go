package httpx

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCustomClientKeepsTransportAndJarButNotItsTimeout(t *testing.T) {
	t.Parallel()
	jar, _ := cookiejar.New(nil)
	called := false
	base := &http.Client{
		Jar:     jar,
		Timeout: time.Nanosecond,
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			called = true
			return answer(200, text("hi")), nil
		}),
	}
	before := *base
	c := Client(base, Options{})
	got, x, err := fetch(t.Context(), c, "http://host/", "{}")
	if got != "hi" || err != nil || !called || x.Status() != 200 {
		t.Errorf("got %q, %v, status %d", got, err, x.Status())
	}
	if c.Jar != jar || c.Timeout != 0 {
		t.Errorf("jar %v, timeout %v", c.Jar, c.Timeout)
	}
	if base.Timeout != before.Timeout || base.CheckRedirect != nil {
		t.Error("the base was changed")
	}
}

func TestClientWithoutTransportGetsATunedOne(t *testing.T) {
	t.Parallel()
	for _, base := range []*http.Client{nil, {Timeout: time.Second}} {
		tr, ok := Client(base, Options{}).Transport.(*shim).next.(*http.Transport)
		if !ok || tr == http.DefaultTransport {
			t.Fatalf("transport %v", tr)
		}
		if tr.MaxIdleConnsPerHost < 64 || tr.MaxIdleConns < 256 || tr.ResponseHeaderTimeout != 0 ||
			tr.Proxy == nil || tr.TLSHandshakeTimeout != 10*time.Second || tr.HTTP2.SendPingTimeout == 0 {
			t.Errorf("settings %+v", tr)
		}
	}
}

func TestClosingIdleConnectionsReachesTheTransport(t *testing.T) {
	t.Parallel()
	for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RemoteAddr)
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			c := Client(s.base, Options{})
			var seen []string
			for i := range 3 {
				addr, _, err := fetch(t.Context(), c, s.url, "{}")
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, addr)
				if i == 1 {
					c.CloseIdleConnections()
				}
			}
			if seen[0] != seen[1] || seen[1] == seen[2] {
				t.Errorf("connections %v, want the first twice", seen)
			}
			Client(&http.Client{Transport: roundTrip(nil)}, Options{}).CloseIdleConnections() // must not panic
		})
	}
}

func TestOnlyHarmlessRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int32
	stranger := serve(t, func(http.ResponseWriter, *http.Request) { strangers.Add(1) }, false)
	tests := []struct {
		name, method, to string
		code             int
		noGetBody        bool
		follow           bool
	}{
		{name: "POST to the same host", method: "POST", code: 307, to: "/end", follow: true},
		{name: "POST to the same host for good", method: "POST", code: 308, to: "/end", follow: true},
		{name: "GET to the same host", method: "GET", code: 302, to: "/end", follow: true},
		{name: "POST that would become GET", method: "POST", code: 302, to: "/end"},
		{name: "POST that would become GET for good", method: "POST", code: 301, to: "/end"},
		{name: "POST that should see other", method: "POST", code: 303, to: "/end"},
		{name: "POST to another host", method: "POST", code: 307, to: stranger.url + "/x"},
		{name: "POST without GetBody to another host", method: "POST", code: 307, to: stranger.url + "/x", noGetBody: true},
		{name: "GET to another host", method: "GET", code: 302, to: stranger.url + "/x"},
		{name: "loop", method: "POST", code: 307, to: "/"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var bodies, hooks atomic.Int32
			handler := func(w http.ResponseWriter, r *http.Request) {
				if b, _ := io.ReadAll(r.Body); string(b) == `{"hooked":true}` {
					bodies.Add(1)
				}
				if r.URL.Path == "/end" {
					fmt.Fprint(w, "end")
					return
				}
				w.Header().Set("Location", test.to)
				w.WriteHeader(test.code)
				fmt.Fprint(w, `{"moved":true}`)
			}
			for proto, s := range sites(t, handler) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					ctx, x := WithExchange(t.Context())
					req, _ := http.NewRequestWithContext(ctx, test.method, s.url, strings.NewReader("{}"))
					if test.method == "GET" {
						req.Body, req.GetBody, req.ContentLength = nil, nil, 0
					}
					if test.noGetBody {
						req.GetBody = nil
					}
					resp, err := Client(s.base, hooked(&hooks)).Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = resp.Body.Close() }()
					got, _ := io.ReadAll(resp.Body)
					if test.follow != (string(got) == "end") || test.follow != (x.Status() == 200) {
						t.Errorf("body %q, status %d", got, x.Status())
					}
					if test.follow != (x.Redirect() == "") || !test.follow && !strings.HasSuffix(x.Redirect(), test.to) {
						t.Errorf("Redirect() = %q", x.Redirect())
					}
					if !test.follow && string(x.ErrorBody()) != `{"moved":true}` {
						t.Errorf("ErrorBody() = %q", x.ErrorBody())
					}
				})
			}
			t.Cleanup(func() {
				if n := hooks.Load(); test.method == "POST" && bodies.Load() != n {
					t.Errorf("%d of %d requests had the patched body", bodies.Load(), n)
				}
			})
		})
	}
	t.Cleanup(func() {
		if n := strangers.Load(); n != 0 {
			t.Errorf("another host got %d requests", n)
		}
	})
}

func TestCheckRedirectOfTheBaseIsAskedToo(t *testing.T) {
	t.Parallel()
	no := errors.New("no redirects here")
	for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			s.base.CheckRedirect = func(*http.Request, []*http.Request) error { return no }
			_, _, err := fetch(t.Context(), Client(s.base, Options{}), s.url, "{}")
			if !errors.Is(err, no) {
				t.Errorf("error %v", err)
			}
		})
	}
}
