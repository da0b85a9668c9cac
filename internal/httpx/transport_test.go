package httpx

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTransportSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }, true)
	got, _, err := fetch(t.Context(), Client(s.base, Options{}), s.url, "{}")
	if got != "HTTP/2.0" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// pipes is a network without sockets: a listener whose connections are pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// vanishing is a connection whose peer can vanish without a word: writes get
// lost and reads wait.
type vanishing struct {
	net.Conn
	gone   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (v *vanishing) Write(p []byte) (int, error) {
	select {
	case <-v.gone:
		return len(p), nil
	default:
		return v.Conn.Write(p)
	}
}

func (v *vanishing) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	select {
	case <-v.gone:
		<-v.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (v *vanishing) Close() error {
	v.once.Do(func() { close(v.closed) })
	return v.Conn.Close()
}

func TestDeadHTTP2ConnectionIsFoundWithoutADeadline(t *testing.T) {
	t.Parallel()
	pool := httptest.NewUnstartedServer(nil) // for its certificate only
	pool.EnableHTTP2 = true
	pool.StartTLS()
	pool.Close()
	synctest.Test(t, func(t *testing.T) {
		network, gone := make(pipes), make(chan struct{})
		srv := &http.Server{
			TLSConfig: &tls.Config{Certificates: pool.TLS.Certificates, MinVersion: tls.VersionTLS12},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				flush(w, "half")
				<-r.Context().Done()
			}),
		}
		go func() { _ = srv.ServeTLS(network, "", "") }()
		tr := Transport()
		tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			network <- far
			return &vanishing{Conn: near, gone: gone, closed: make(chan struct{})}, nil
		}
		resp, x, err := post(t.Context(), Client(&http.Client{Transport: tr}, Options{}), "https://host/", "{}")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		close(gone)
		start := time.Now()
		_, err = io.ReadAll(resp.Body)
		if took := time.Since(start); err == nil || !x.Cut() || took > time.Minute || took < 10*time.Second {
			t.Errorf("found after %v: %v", took, err)
		}
		_ = resp.Body.Close()
		tr.CloseIdleConnections()
		close(network)
		_ = srv.Close()
	})
}
