package cloud

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// ListenConns is [Listen] for a handler that uses [Exchange.ResetConn].
func ListenConns(addr string, h http.Handler) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cloud: %w", err)
	}
	return ServeConns(l, h), nil
}

// ServeConns is [ListenConns] on a listener of the caller's, which the Server closes.
func ServeConns(l net.Listener, h http.Handler) *Server {
	s := &Server{URL: "http://" + l.Addr().String(), served: make(chan struct{})}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler:           h,
		Protocols:         protocols,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnState:         s.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l)
	}()
	return s
}

// MustListenConns is ListenConns on a free port for tests; it panics where there is none.
func MustListenConns(h http.Handler) *Server {
	s, err := ListenConns("", h)
	if err != nil {
		panic(err)
	}
	return s
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// ResetConn makes [EndReset] reset the whole connection also over HTTP/2, where it otherwise resets the stream.
// Other requests on the connection die with it. It needs a server of [ListenConns].
func (x *Exchange) ResetConn() {
	if conn, ok := x.R.Context().Value(connKey{}).(net.Conn); ok {
		x.W = &connWriter{ResponseWriter: x.W, conn: conn}
	}
}

// connWriter gives away its connection without the server's knowledge.
type connWriter struct {
	http.ResponseWriter

	conn net.Conn
}

// Unwrap gives http.ResponseController what else the writer can do.
func (w *connWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack is for a reset alone.
func (w *connWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.conn, nil, nil }

// SetBody puts a body into the log that people can read, in place of the bytes that came.
func (x *Exchange) SetBody(body []byte) { x.update(func(r *Request) { r.Body = body }) }
