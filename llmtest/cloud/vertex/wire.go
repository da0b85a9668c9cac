package vertex

import (
	"net/http"

	"github.com/punctual-llm/punctual/internal/cloud"
)

const (
	jsonType = "application/json; charset=UTF-8"
	sseType  = "text/event-stream"
)

// wire puts an answer into bytes. It is for one answer.
type wire interface {
	header() http.Header
	whole(r response) []byte // the answer to a unary call
	event(r response) []byte // one of a stream
	end() []byte             // behind the last of a stream
	// fail is an error inside an answer; it may add to the header.
	fail(h http.Header, no *refusal) []byte
}

func (c *call) wire() wire {
	switch {
	case c.grpc():
		return rpcWire{c}
	case c.sse:
		return sseWire{c}
	case c.stream:
		return &arrayWire{c: c}
	default:
		return bodyWire{c}
	}
}

// ping is a frame that every client must skip; the one message of a call over gRPC has room for none.
func (c *call) ping(r *cloud.Reply) string {
	switch {
	case c.grpc() && (!c.stream || len(r.Body) > 0):
		return ""
	case c.grpc():
		return string(rpcWire{c}.event(response{}))
	case c.sse:
		return ": ping\r\n\r\n"
	default:
		return " \n"
	}
}

// send plays a reply, the last thing that is done for a call.
func (c *call) send(r cloud.Reply) {
	if c.grpc() {
		c.x.ResetConn()
		if c.status != 0 {
			defer c.x.SetStatus(c.status)
		}
	}
	c.x.Play(r)
}

// bodyWire is one object.
type bodyWire struct{ c *call }

func (w bodyWire) header() http.Header                  { return w.c.header(jsonType) }
func (bodyWire) whole(r response) []byte                { return append(pretty(r), '\n') }
func (bodyWire) event(r response) []byte                { return append(pretty(r), '\n') }
func (bodyWire) end() []byte                            { return nil }
func (bodyWire) fail(_ http.Header, no *refusal) []byte { return append(no.body(), '\n') }

// sseWire is a stream of events. An error inside it is bare JSON, as recorded.
type sseWire struct{ c *call }

func (w sseWire) header() http.Header   { return w.c.header(sseType) }
func (sseWire) whole(r response) []byte { return append(pretty(r), '\n') }
func (sseWire) event(r response) []byte {
	return append(append([]byte("data: "), spaced(r)...), "\r\n\r\n"...)
}
func (sseWire) end() []byte                            { return nil }
func (sseWire) fail(_ http.Header, no *refusal) []byte { return append(no.body(), '\n') }

// arrayWire is a stream that is one JSON array over time.
type arrayWire struct {
	c     *call
	begun bool
}

func (w *arrayWire) header() http.Header     { return w.c.header(jsonType) }
func (w *arrayWire) whole(r response) []byte { return append(pretty(r), '\n') }
func (w *arrayWire) event(r response) []byte { return w.next(pretty(r)) }
func (w *arrayWire) end() []byte             { return []byte("]") }

func (w *arrayWire) fail(_ http.Header, no *refusal) []byte { return append(w.next(no.body()), ']') }

func (w *arrayWire) next(element []byte) []byte {
	before := "[" // the first
	if w.begun {
		before = ",\r\n"
	}
	w.begun = true
	return append(append([]byte(before), element...), '\n')
}
