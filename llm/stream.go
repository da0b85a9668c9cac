package llm

import (
	"context"
	"iter"
	"sync/atomic"
)

// Stream is one answer as it arrives, for one reader, once. Leaving the loop stops the call. A Stream that
// is never read costs nothing and needs no closing.
type Stream struct {
	client *Client
	ctx    context.Context //nolint:containedctx // the call begins when the stream is read, with the caller's context
	req    *Request

	used atomic.Bool // somebody reads it, or did
	over atomic.Bool // nothing may reach the reader any more
	done bool        // resp and err hold the outcome; both nil after a panic
	resp *Response
	err  error
}

// errLeft is what the sink of a Stream returns after its reader has left the loop.
var errLeft = &Error{Kind: ErrCanceled, Code: "reader_left"}

// Events yields every event. An error is the last pair; otherwise the last event is [EventDone] with the
// complete answer. A second loop over the same Stream yields [ErrInvalid].
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s == nil {
			yield(Event{}, Invalid("stream", "is nil", "get one from Client.Stream"))
			return
		}
		if s.used.Swap(true) {
			yield(Event{}, Invalid("stream", "was read before", "make a new Stream for a new answer"))
			return
		}
		defer func() { s.done = true }()
		resp, err := s.client.run(s.ctx, s.req, s.sink(yield))
		left := s.over.Swap(true)
		s.settle(resp, err, left)
		switch {
		case left:
		case err != nil:
			yield(Event{}, err)
		default:
			yield(Event{Kind: EventDone, Response: resp}, nil)
		}
	}
}

// sink hands events to the reader. It holds against a Generator that breaks its contract: what is no content
// does not reach the reader, and neither does anything after he left or after the call ended.
func (s *Stream) sink(yield func(Event, error) bool) Sink {
	return func(e Event) error {
		if s.over.Load() {
			return errLeft
		}
		if !e.content() || yield(e, nil) {
			return nil
		}
		s.over.Store(true)
		return errLeft
	}
}

func (s *Stream) settle(resp *Response, err error, left bool) {
	switch {
	case left && KindOf(err) != ErrCanceled: // the Generator hid why it ended, or gave an answer nobody took
		s.err = &Error{Kind: ErrCanceled, Code: errLeft.Code, Operation: s.req.Operation}
	case err != nil:
		s.err = err
	default:
		s.resp = resp
	}
}

// Text yields only what is meant for the reader: no reasoning, no arguments of tool calls. The text of a Generator
// that sends no events, against its contract, comes in one piece at the end.
func (s *Stream) Text() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		streamed := false
		for e, err := range s.Events() {
			switch {
			case err != nil:
				yield("", err)
				return
			case e.Kind == EventText:
				streamed = true
				if !yield(e.Delta, nil) {
					return
				}
			case e.Kind == EventDone && !streamed && e.Response.Text() != "":
				if !yield(e.Response.Text(), nil) {
					return
				}
			}
		}
	}
}

// Response returns the complete answer after a loop over the Stream; without one it reads all of it. After
// a loop that was left early it fails with [ErrCanceled] and has as Partial what had arrived before the event
// at which the loop was left. Inside the loop it fails with [ErrInvalid].
func (s *Stream) Response() (*Response, error) {
	if s == nil {
		return nil, Invalid("stream", "is nil", "get one from Client.Stream")
	}
	if !s.used.Load() {
		s.Events()(func(Event, error) bool { return true }) // settle keeps the outcome
	}
	switch {
	case !s.done:
		return nil, Invalid("stream", "is still being read", "ask for the answer after the loop")
	case s.resp == nil && s.err == nil:
		return nil, panicked(s.req)
	default:
		return s.resp, s.err
	}
}
