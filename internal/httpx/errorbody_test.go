package httpx

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestErrorBodyIsReadAsFarAsItIsOfUse(t *testing.T) {
	t.Parallel()
	const whole = `{"error":{"message":"slow down"}}`
	page := "<html>" + strings.Repeat("x", 5000)
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name string
		body string
		then http.HandlerFunc
		want string
	}{
		{"JSON", whole, nil, whole},
		{"JSON on an open connection", whole, hang, whole},
		{"JSON with blanks before it", "\n\n " + whole, hang, "\n\n " + whole},
		{"array", `[{"error":1}]`, hang, `[{"error":1}]`},
		{"page", page, nil, page},
		{"text that begins like JSON", "{oops} " + page, nil, "{oops} " + page},
		{"nothing", "", nil, ""},
		{"cut", whole[:9], func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, whole[:9]},
		{"endless text", "no", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				flush(w, page)
			}
		}, ""},
		{"endless blanks", "", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				flush(w, strings.Repeat(" ", 9000))
			}
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
				flush(w, test.body)
				if test.then != nil {
					test.then(w, r)
				}
			}) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					got, x, err := fetch(t.Context(), Client(s.base, Options{}), s.url, "{}")
					if x.Status() != 503 || err != nil || got != string(x.ErrorBody()) || x.Cut() {
						t.Errorf("status %d, body of %d, kept %d, %v", x.Status(), len(got), len(x.ErrorBody()), err)
					}
					if endless := strings.HasPrefix(test.name, "endless"); endless && len(got) != errorBodySize || !endless && got != test.want {
						t.Errorf("body of %d: %.100q", len(got), got)
					}
				})
			}
		})
	}
}

func TestHangInsideAnErrorEndsBeforeTheCall(t *testing.T) {
	t.Parallel()
	for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		flush(w, `{"error":`)
		<-r.Context().Done()
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			got, x, err := fetch(ctx, Client(s.base, Options{}), s.url, "{}")
			if got != `{"error":` || x.Status() != 500 || err != nil || ctx.Err() != nil {
				t.Errorf("got %q, status %d, %v, context %v", got, x.Status(), err, ctx.Err())
			}
		})
	}
}

// dripping is an error body that sends a blank every 50 ms until it is closed.
func dripping(closed *bool) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for {
			if _, err := w.Write([]byte(" ")); err != nil {
				*closed = true
				return
			}
			time.Sleep(50 * time.Millisecond) // in a bubble
		}
	}()
	return r
}

func TestTimeForAnErrorBodyIsAQuarterOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	tests := []struct{ left, want time.Duration }{
		{0, 250 * time.Millisecond}, // no deadline
		{time.Minute, 250 * time.Millisecond},
		{2 * time.Second, 250 * time.Millisecond},
		{400 * time.Millisecond, 100 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, start, closed := t.Context(), time.Now(), false
				if test.left > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.left)
					defer cancel()
				}
				c := Client(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					return answer(500, dripping(&closed)), nil
				})}, Options{})
				_, x, err := fetch(ctx, c, "http://host/", "{}")
				if took := time.Since(start); took != test.want || err != nil || x.Status() != 500 {
					t.Errorf("took %v, want %v; %v", took, test.want, err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if !closed {
					t.Error("the body was not closed")
				}
			})
		})
	}
}

func TestCancelEndsTheReadOfAnErrorBodyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start, closed := time.Now(), false
		time.AfterFunc(70*time.Millisecond, cancel)
		c := Client(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(500, dripping(&closed)), nil
		})}, Options{})
		_, x, err := fetch(ctx, c, "http://host/", "{}")
		if took := time.Since(start); took != 70*time.Millisecond || err != nil || x.Status() != 500 {
			t.Errorf("took %v, %v, status %d", took, err, x.Status())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !closed {
			t.Error("the body was not closed")
		}
	})
}

func TestConnectionsSurviveErrorsAndNoneIsLost(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]bool{"ended": false, "left open": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Peer", r.RemoteAddr)
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(w, `{"error":{}}`)
				if hang {
					flush(w, "")
					<-r.Context().Done()
				}
			}, false)
			s.base.Transport.(*http.Transport).MaxConnsPerHost = 1
			c := Client(s.base, Options{})
			peers := map[string]bool{}
			for range 20 { // would wait for ever if a connection stayed taken
				resp, x, err := post(t.Context(), c, s.url, "{}")
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.StatusCode
				peers[x.Header().Get("X-Peer")] = true
			}
			if !hang && len(peers) != 1 {
				t.Errorf("%d connections for 20 calls", len(peers))
			}
		})
	}
}

// A 101 hands over the bare connection, and reading that would outlast every context.
func TestSwitchingProtocolsIsAnAnswerWithoutABody(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 X\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the peer leaves
	}()
	c := Client(nil, Options{})
	body, x, err := fetch(t.Context(), c, "http://"+listener.Addr().String()+"/", "{}")
	if err != nil || body != "" || x.Status() != http.StatusSwitchingProtocols {
		t.Errorf("%q, %d, %v", body, x.Status(), err)
	}
	<-gone // the connection was closed
	_ = listener.Close()
	c.CloseIdleConnections()
}
