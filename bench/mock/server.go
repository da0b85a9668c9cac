// Package mock is a provider on loopback that speaks OpenAI's wire protocol and has one fault. What it does to
// a request depends on which call the request belongs to and on nothing else, so rows of a table can be
// compared call by call.
package mock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Mode is a fault.
type Mode string

// The faults.
const (
	Healthy  Mode = "healthy"
	Hang     Mode = "hang"     // never answers
	Throttle Mode = "throttle" // answers 429 with Retry-After: 30 at once
	Fail     Mode = "fail"     // answers 500 at once
	Trickle  Mode = "trickle"  // sends headers, then a byte each 100 ms
)

// Options say what a Server does.
type Options struct {
	Mode  Mode    // "": Healthy
	Share float64 // the share of requests that meet the fault; 0: all
	Fates Fates
	// First is how far into a streamed answer its first content comes, as a share of the latency. A unary
	// answer comes whole at its end.
	First float64
}

// Server is a running mock.
type Server struct {
	URL string // up to and with /v1

	options Options
	server  *http.Server
	asked   atomic.Int64
	open    atomic.Int64

	mu  sync.Mutex
	nth map[int]int // requests seen of a call
}

// Marker is what stands before a call's number in its prompt.
const Marker = "call no. "

// Start starts a mock on a free port of 127.0.0.1. Its requests end with ctx.
func Start(ctx context.Context, o Options) (*Server, error) {
	if len(o.Fates) == 0 {
		return nil, errors.New("mock: no fates")
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String() + "/v1", options: o, nth: map[int]int{}}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Asked is how many requests came.
func (s *Server) Asked() int { return int(s.asked.Load()) }

// Open is how many requests are still waited for by their clients.
func (s *Server) Open() int { return int(s.open.Load()) }

// Close ends all connections.
func (s *Server) Close() error { return s.server.Close() }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.open.Add(1)
	defer s.open.Add(-1)
	body, err := io.ReadAll(r.Body) // only then net/http notices that the client has gone
	if err != nil {
		return
	}
	fate := s.fate(body)
	mode := s.options.Mode
	if share := s.options.Share; share > 0 && fate.Luck >= share {
		mode = Healthy
	}
	a := answering{w: w, ctx: r.Context(), streamed: bytes.Contains(body, []byte(`"stream":true`))}
	switch mode {
	case Hang:
		<-r.Context().Done()
	case Throttle:
		w.Header().Set("Retry-After", "30")
		a.refuse(http.StatusTooManyRequests, "rate_limit_exceeded")
	case Fail:
		a.refuse(http.StatusInternalServerError, "server_error")
	case Trickle:
		a.trickle()
	default:
		a.answer(fate.Latency, time.Duration(s.options.First*float64(fate.Latency)))
	}
}

// fate finds the call in the prompt, and which of its requests this one is.
func (s *Server) fate(body []byte) Fate {
	call := callOf(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	nth := s.nth[call]
	s.nth[call]++
	return s.options.Fates.of(call, nth)
}

func callOf(body []byte) int {
	_, after, _ := bytes.Cut(body, []byte(Marker))
	end := 0
	for end < len(after) && after[end] >= '0' && after[end] <= '9' {
		end++
	}
	call, err := strconv.Atoi(string(after[:end]))
	if err != nil {
		return 0
	}
	return call
}
