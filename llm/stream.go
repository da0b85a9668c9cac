package llm

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Stream is one answer as it arrives, for one reader, once. Leaving the loop stops the call. A Stream that
// is never read costs nothing and needs no closing.
type Stream struct {
	client *Client
	ctx    context.Context //nolint:containedctx // the call begins when the stream is read, with the caller's context
	req    *Request

	used atomic.Bool
	resp *Response
	err  error
}

// errLeft is what the sink of a Stream returns after its reader left the loop.
var errLeft = errors.New("llm: the reader left the stream")

// Events yields every event. An error is the last pair; otherwise the last event is [EventDone] with the
// complete answer. A second loop over the same Stream yields [ErrInvalid].
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s.used.Swap(true) {
			yield(Event{}, Invalid("stream", "was read before", "call Client.Stream for a new answer"))
			return
		}
		// Should the loop body panic, nothing below runs, and this stays.
		s.err = &Error{Kind: ErrCanceled, Code: "reader_panicked"}
		left := false
		resp, err := s.client.run(s.ctx, s.req, func(e Event) error {
			if left {
				return errLeft
			}
			if !e.content() { // a Generator that breaks its contract must not end the loop early
				return nil
			}
			if !yield(e, nil) {
				left = true
				return errLeft
			}
			return nil
		})
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

func (s *Stream) settle(resp *Response, err error, left bool) {
	switch {
	case left && err != nil:
		s.resp, s.err = nil, &Error{Kind: ErrCanceled, Code: "reader_left", Operation: s.req.Operation, Partial: resp}
	case err != nil:
		s.resp, s.err = nil, err
	default:
		s.resp, s.err = resp, nil
	}
}

// Text yields only what is meant for the reader: no reasoning, no arguments of tool calls.
func (s *Stream) Text() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range s.Events() {
			switch {
			case err != nil:
				yield("", err)
				return
			case e.Kind == EventText:
				if !yield(e.Delta, nil) {
					return
				}
			}
		}
	}
}

// Response returns the complete answer after a loop over the Stream; without one it reads all of it. After
// a loop that was left early it fails with [ErrCanceled] and what had arrived as Partial.
func (s *Stream) Response() (*Response, error) {
	if !s.used.Load() {
		for range s.Events() { //nolint:revive // read to the end, settle keeps the outcome
		}
	}
	return s.resp, s.err
}
