package cloud

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Hole is an address at which no connection is ever made.
type Hole struct {
	URL string

	listener net.Listener
	fill     []net.Conn
}

// BlackHole opens a port whose queue of unaccepted connections is full, so that a connect there neither
// succeeds nor fails: the phase that no server can play, because it never hears of the call. Where the queue
// cannot be filled (Windows), connections are made and nobody reads from them.
func BlackHole() (*Hole, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cloud: %w", err)
	}
	h := &Hole{URL: "http://" + l.Addr().String(), listener: l}
	if err := shrinkBacklog(l); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return h, nil
		}
		h.Close()
		return nil, fmt.Errorf("cloud: %w", err)
	}
	for range 512 { // Linux takes one or two, others as many as they please
		conn, _ := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
		if conn == nil { // full
			return h, nil
		}
		h.fill = append(h.fill, conn)
	}
	h.Close()
	return nil, errors.New("cloud: the queue of the black hole does not fill")
}

// Close frees the port; connects that wait there then fail.
func (h *Hole) Close() {
	for _, c := range h.fill {
		_ = c.Close()
	}
	_ = h.listener.Close()
}
