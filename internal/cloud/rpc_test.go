package cloud

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestResetConn: over HTTP/2 a reset takes the other requests of the connection with it.
func TestResetConn(t *testing.T) {
	for _, connections := range []bool{true, false} {
		l := &Log{}
		s := MustListenConns(l.Handler(func(x *Exchange) {
			if string(x.Body) != "reset" {
				x.Play(Reply{Chunks: []Chunk{{Data: []byte("ab")}}, End: EndHang})
				return
			}
			if connections {
				x.ResetConn()
			}
			x.SetBody([]byte("readable"))
			x.Play(Reply{Chunks: []Chunk{{Data: []byte("cd")}}, End: EndReset})
		}))
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		first := send(ctx, t, transport, s.URL, "hang")
		if _, err := io.ReadFull(first, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		second := send(ctx, t, transport, s.URL, "reset")
		if _, err := io.ReadAll(second); err == nil || strings.Contains(err.Error(), "stream error") == connections {
			t.Errorf("connections %v: %v", connections, err)
		}
		if !connections {
			cancel() // the other request lives
		}
		if _, err := io.ReadAll(first); err == nil || (ctx.Err() == nil) != connections {
			t.Errorf("connections %v: the other ended with %v", connections, err)
		}
		cancel()
		for _, b := range []io.Closer{first, second} {
			b.Close()
		}
		transport.CloseIdleConnections()
		s.Close()
		l.Drain()
		if r := l.Requests()[1]; string(r.Body) != "readable" || r.Gone {
			t.Errorf("logged %+v", r)
		}
	}
}

func send(ctx context.Context, t *testing.T, transport *http.Transport, url, body string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

func TestListenConnsFailsOnATakenPort(t *testing.T) {
	s, _ := serve(t, Reply{})
	if _, err := ListenConns(strings.TrimPrefix(s.URL, "http://"), http.NotFoundHandler()); err == nil {
		t.Error("two servers on one port")
	}
}
