package cloud

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves a handler on a port of its own, over HTTP/1.1 and unencrypted HTTP/2.
type Server struct {
	URL string

	http   *http.Server
	conns  sync.WaitGroup
	served chan struct{}
	close  sync.Once
}

// Listen serves h on addr; "" is a free port of 127.0.0.1.
func Listen(addr string, h http.Handler) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cloud: %w", err)
	}
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
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// MustListen is Listen on a free port for tests; it panics where there is none, as httptest does.
func MustListen(h http.Handler) *Server {
	s, err := Listen("", h)
	if err != nil {
		panic(err)
	}
	return s
}

func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	default:
	}
}

// Close closes the port and every connection, and waits until they are gone. Handlers that hang return then,
// because their peer has left: those of HTTP/1.1 before Close does, those of HTTP/2 a moment later, so
// [Log.Drain] comes next. It may be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		_ = s.http.Close()
		<-s.served
		_ = s.http.Close() // connections that came in the meantime
		s.conns.Wait()
	})
	<-s.served
}
