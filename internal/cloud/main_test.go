package cloud

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve plays replies in order over a Log and a Server, both closed with the test.
func serve(t *testing.T, replies ...Reply) (*Server, *Log) {
	t.Helper()
	script := NewScript(Replies(replies...)...)
	l := &Log{}
	s := MustListen(l.Handler(func(x *Exchange) { x.Play(*script.Next().Reply) }))
	t.Cleanup(func() { s.Close(); l.Drain() })
	return s, l
}

// raw sends one HTTP/1.1 request and returns all bytes of the response after its status line and header, and
// the error that ended them.
func raw(t *testing.T, s *Server) (head, body string, err error) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	all, err := io.ReadAll(bufio.NewReader(conn))
	head, body, _ = strings.Cut(string(all), "\r\n\r\n")
	return head, body, err
}

// post sends a request over HTTP/1.1 without keep-alive, or over HTTP/2.
func post(ctx context.Context, t *testing.T, url string, http2 bool) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("hi"))
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: transport}).Do(req)
}

// ended waits until n requests have ended and returns the last of them.
func ended(t *testing.T, l *Log, n int) Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := l.Wait(ctx, n); err != nil {
		t.Fatalf("%d requests have not ended: %v", n, err)
	}
	return l.Requests()[n-1]
}
