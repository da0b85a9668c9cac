package vertexai

import (
	"context"
	"io"
	"time"

	"github.com/punctual-llm/punctual/internal/gemini"
)

// reply is one call. What the service answered is taken from the exchange, not from the SDK.
type reply struct {
	conn     *conn
	channel  *channel // nil: nothing was begun
	exchange *exchange
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	cancel   context.CancelFunc
	stream   bool

	end    error // what Next returns from now on
	events events
	pieces int
	linger time.Duration
}

// Linger bounds the next waits.
func (r *reply) Linger(d time.Duration) { r.linger = d }

// Close ends the call. The SDK's stream has no Close: its context is what ends it.
func (r *reply) Close() {
	if r.channel != nil {
		r.cancel()
		r.conn.release(r.channel)
	}
}

// Next returns what the SDK's next piece was made of.
func (r *reply) Next() (*gemini.Response, error) {
	if r.end != nil {
		return nil, r.end
	}
	err := r.advance()
	if m := r.exchange.take(); m != nil {
		if err != nil { // the SDK did not like an empty message
			r.end = r.failure(err)
		}
		r.pieces++
		return decode(m), nil
	}
	r.end = r.failure(err)
	return nil, r.end
}

// advance lets the SDK make its call, or read one event more.
func (r *reply) advance() error {
	if !r.stream {
		if r.pieces > 0 {
			return io.EOF
		}
		return r.unary()
	}
	if r.linger > 0 {
		late := time.AfterFunc(r.linger, r.cancel)
		defer late.Stop()
	}
	return r.pull()
}
