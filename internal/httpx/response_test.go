package httpx

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-llm/punctual/internal/sse"
)

// flush sends what a handler wrote.
func flush(w http.ResponseWriter, s string) {
	_, _ = io.WriteString(w, s)
	_ = http.NewResponseController(w).Flush()
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}

func TestBodyThatStopsIsCutAndNeverACleanEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"aborted": func(w http.ResponseWriter, _ *http.Request) {
			flush(w, "half")
			panic(http.ErrAbortHandler)
		},
		"shorter than its length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			flush(w, "half")
			panic(http.ErrAbortHandler)
		},
		"aborted inside gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzipped(strings.Repeat("half", 100))
			flush(w, z[:len(z)-5])
			panic(http.ErrAbortHandler)
		},
		"gzip that ends early": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzipped(strings.Repeat("half", 100))
			flush(w, z[:len(z)-5])
		},
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for proto, s := range sites(t, handler) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					got, x, err := fetch(t.Context(), Client(s.base, Options{}), s.url, "{}")
					if !strings.HasPrefix(got, "half") {
						t.Errorf("body %q", got)
					}
					cut, ok := errors.AsType[*CutError](err)
					if !ok || !errors.Is(err, ErrCut) || !x.Cut() || x.Status() != 200 {
						t.Fatalf("error %v, Cut() = %v", err, x.Cut())
					}
					if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
						t.Errorf("%v passes for an end of file", err)
					}
					if !strings.Contains(err.Error(), cut.Err.Error()) {
						t.Errorf("%q does not name its cause", err)
					}
				})
			}
		})
	}
}

func TestResetConnectionIsCutAndStillAReset(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		flush(w, "half")
		<-read
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}, false)
	resp, x, err := post(t.Context(), Client(s.base, Options{}), s.url, "{}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	close(read)
	_, err = io.ReadAll(resp.Body)
	if !errors.Is(err, ErrCut) || !errors.Is(err, syscall.ECONNRESET) || !x.Cut() {
		t.Errorf("error %v, Cut() = %v", err, x.Cut())
	}
	_ = resp.Body.Close()
}

func TestHealthyBodyIsNotCut(t *testing.T) {
	t.Parallel()
	for proto, s := range sites(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		flush(w, gzipped("whole"))
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			got, x, err := fetch(t.Context(), Client(s.base, Options{}), s.url, "{}")
			if got != "whole" || err != nil || x.Cut() {
				t.Errorf("got %q, %v, Cut() = %v", got, err, x.Cut())
			}
		})
	}
}

func TestReaderThatGivesUpIsNoCut(t *testing.T) {
	t.Parallel()
	mine := errors.New("my reason")
	tests := map[string]struct {
		stop func(cancel context.CancelCauseFunc, body io.Closer)
		is   error
	}{
		"cancelled": {func(cancel context.CancelCauseFunc, _ io.Closer) { cancel(mine) }, mine},
		"closed":    {func(_ context.CancelCauseFunc, body io.Closer) { _ = body.Close() }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
				flush(w, "half")
				<-r.Context().Done()
			}) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					resp, x, err := post(ctx, Client(s.base, Options{}), s.url, "{}")
					if err != nil {
						t.Fatal(err)
					}
					if _, err = io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
						t.Fatal(err)
					}
					test.stop(cancel, resp.Body)
					_, err = io.ReadAll(resp.Body)
					if err == nil || errors.Is(err, ErrCut) || x.Cut() {
						t.Errorf("error %v, Cut() = %v", err, x.Cut())
					}
					if test.is != nil && !errors.Is(err, test.is) && !errors.Is(err, context.Canceled) {
						t.Errorf("error %v does not name its context", err)
					}
					if err = resp.Body.Close(); err != nil {
						t.Errorf("Close() = %v", err)
					}
				})
			}
		})
	}
}

func TestEventStreamsAreNormalisedOnDemand(t *testing.T) {
	t.Parallel()
	const event, plain = "text/event-stream; charset=utf-8", "application/json"
	tests := []struct {
		name, contentType, accept, in, out, payload string
		off, cut                                    bool
	}{
		{name: "stream", contentType: event, in: ": hi\n\ndata: { }\n\n", out: "data: {}\n\n"},
		{name: "not asked for", off: true, contentType: event, in: ": hi\n\n", out: ": hi\n\n"},
		{name: "other content", contentType: plain, in: "{ }", out: "{ }"},
		{name: "error in it", contentType: event, in: "data: { \"error\": 1}\n\n", out: "data: {\"error\":1}\n\n", payload: `{"error":1}`},
		{name: "JSON in place of a stream", contentType: plain, accept: "text/event-stream", in: "{\n \"error\": 1\n}", out: "data: {\"error\":1}\n\n", payload: `{"error":1}`},
		{name: "half a frame", contentType: event, in: "data: {", out: "data: {\n\n", cut: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for proto, s := range sites(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				flush(w, test.in)
			}) {
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					c := Client(s.base, Options{SSE: !test.off, Header: func(_ context.Context, h http.Header) error {
						return nil
					}})
					ctx, x := WithExchange(t.Context())
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader("{}"))
					req.Header.Set("Accept", test.accept)
					resp, err := c.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if string(got) != test.out || string(x.StreamError()) != test.payload {
						t.Errorf("got %q, payload %q", got, x.StreamError())
					}
					if x.Cut() != test.cut || errors.Is(err, ErrCut) != test.cut || errors.Is(err, sse.ErrUnfinished) != test.cut {
						t.Errorf("error %v, Cut() = %v", err, x.Cut())
					}
				})
			}
		})
	}
}

func TestEventArrivesWhileTheStreamHangs(t *testing.T) {
	t.Parallel()
	for proto, s := range sites(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "data: {\"error\": 1}\n")
		_ = z.Flush()
		flush(w, "")
		<-r.Context().Done()
	}) {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			resp, x, err := post(t.Context(), Client(s.base, Options{SSE: true}), s.url, "{}")
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 100)
			n, err := resp.Body.Read(buf)
			if string(buf[:n]) != "data: {\"error\":1}\n\n" || err != nil || x.StreamError() == nil {
				t.Errorf("got %q, %v", buf[:n], err)
			}
			_ = resp.Body.Close()
		})
	}
}
