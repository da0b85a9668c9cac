package httpx

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/punctual-llm/punctual/internal/sse"
)

// ErrCut is what every [CutError] is, for errors.Is.
var ErrCut = errors.New("httpx: response body cut")

// CutError is a 2xx response body that stopped before its end.
//
// Its cause can be reached by errors.Is and errors.As, unless it is
// io.ErrUnexpectedEOF or io.EOF: those are hidden, because SDKs that see one end
// their stream as if it were whole. [sse.ErrUnfinished] is a cause too: an event
// stream that ended inside an event.
type CutError struct {
	Err error
}

// Error names the cause, hidden or not.
func (e *CutError) Error() string { return ErrCut.Error() + ": " + e.Err.Error() }

// Is reports whether target is ErrCut.
func (e *CutError) Is(target error) bool { return target == ErrCut }

// Unwrap returns the cause if it is safe to show.
func (e *CutError) Unwrap() error {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) || errors.Is(e.Err, io.EOF) {
		return nil
	}
	return e.Err
}

// cutBody is a 2xx body that marks its early end.
type cutBody struct {
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the exchange the body belongs to
	x      *Exchange
	closed atomic.Bool
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err == nil || err == io.EOF { // a Reader's EOF is never wrapped
		return n, err
	}
	return n, b.judge(err)
}

// judge renames the errors that mean the peer, or the way to it, stopped: all
// but those of a reader that gave up itself.
func (b *cutBody) judge(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) { // no doubt about that one
		switch {
		case b.closed.Load(), b.ctx.Err() != nil,
			errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
	b.x.markCut()
	return &CutError{Err: err}
}

// Close returns nil whatever happens: there is nothing an SDK could do about a
// body that does not close, and one of them prints it.
func (b *cutBody) Close() error {
	b.closed.Store(true)
	_ = b.body.Close()
	return nil
}

// eventBody is a normalised event stream that keeps its exchange informed.
type eventBody struct {
	*sse.Reader
	x        *Exchange
	reported bool
}

func (b *eventBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if payload := b.ErrorPayload(); payload != nil && !b.reported {
		b.reported = true
		b.x.reported(payload)
	}
	if b.Unfinished() {
		b.x.markCut()
	}
	if errors.Is(err, sse.ErrUnfinished) {
		err = &CutError{Err: err}
	}
	return n, err
}
