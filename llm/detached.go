package llm

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Detached returns a Generator that returns on time although g ignores its context: g works on a goroutine
// of its own, on a Clone of the request, and is left behind when the context ends. Events still reach the
// sink on the calling goroutine; if one comes too late, the call ends with the context's error, whatever g
// makes of that. A panic of g continues on the calling goroutine, as an error that unwraps
// to g's own if that was one. It costs a goroutine a call and a hand-over an event, so use it only for code
// that does not pass the cancel cases of llmtest/conformance. What g still does after it was left behind
// cannot be seen any more. Nothing is started when ctx is over already.
func Detached(g Generator) Generator {
	if g == nil {
		return GeneratorFunc(func(context.Context, *Request, Sink) (*Response, error) {
			return nil, Invalid("generator", "is nil", "give Detached a Generator")
		})
	}
	return GeneratorFunc(func(ctx context.Context, req *Request, sink Sink) (*Response, error) {
		if err := ctx.Err(); err != nil {
			return nil, &Error{Kind: KindOf(err), NotSent: true, Err: context.Cause(ctx)}
		}
		// Whatever ends the call, a panic of the sink included, ends the worker's wait too.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		d := &detached{ctx: ctx, done: make(chan detachedResult, 1)}
		var forward Sink
		if sink != nil {
			d.events, d.acks = make(chan Event), make(chan error)
			forward = d.forward
		}
		go d.work(g, req.Clone(), forward)
		return d.pump(sink)
	})
}

type detached struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	events chan Event
	acks   chan error
	done   chan detachedResult // buffered, so that the worker never waits for a caller who has gone

	missed atomic.Bool // an event found nobody any more
	seen   Accumulator // what the sink accepted
}

type detachedResult struct {
	resp     *Response
	err      error
	panicked any
	stack    []byte
	exited   bool // runtime.Goexit
}

// work runs g and always reports, after a panic and after runtime.Goexit too.
func (d *detached) work(g Generator, req *Request, sink Sink) {
	result := detachedResult{exited: true}
	defer func() {
		if p := recover(); p != nil {
			result = detachedResult{panicked: p, stack: debug.Stack()}
		}
		d.done <- result
	}()
	resp, err := g.Generate(d.ctx, req, sink)
	result = detachedResult{resp: resp, err: err}
}

// forward is the sink on the worker's goroutine: it hands the event over and waits for the verdict. What is no
// content goes no further.
func (d *detached) forward(e Event) error {
	if !e.content() {
		return nil
	}
	select {
	case d.events <- e:
	case <-d.ctx.Done():
		d.missed.Store(true)
		return context.Cause(d.ctx)
	}
	select {
	case err := <-d.acks:
		return err
	case <-d.ctx.Done():
		return context.Cause(d.ctx)
	}
}

// pump runs on the calling goroutine until g is done or the context ends.
func (d *detached) pump(sink Sink) (*Response, error) {
	for {
		select {
		case e := <-d.events:
			err := sink(e)
			if err == nil {
				d.seen.Add(e)
			}
			select {
			case d.acks <- err:
			case <-d.ctx.Done():
			}
			if err != nil {
				return d.seen.Partial(), err
			}
		case r := <-d.done:
			return d.deliver(r)
		case <-d.ctx.Done():
			return d.abandon()
		}
	}
}

// abandon prefers a result that is already there: at the deadline both may be ready.
func (d *detached) abandon() (*Response, error) {
	select {
	case r := <-d.done:
		return d.deliver(r)
	default:
		return d.seen.Partial(), &Error{Kind: KindOf(d.ctx.Err()), Code: "left_behind", Err: context.Cause(d.ctx)}
	}
}

// deliver is the worker's result as the caller's goroutine returns it.
func (d *detached) deliver(r detachedResult) (*Response, error) {
	switch {
	case r.panicked != nil:
		panic(&detachedPanic{value: r.panicked, stack: r.stack})
	case r.exited:
		return d.seen.Partial(), &Error{Kind: ErrUnknown, Code: "generator_exited"}
	case r.err != nil && d.events != nil:
		return d.accepted(r.resp), r.err
	case d.missed.Load(): // g made nothing of it, but the sink has not got all of the answer
		return d.accepted(r.resp), &Error{Kind: KindOf(d.ctx.Err()), Err: context.Cause(d.ctx)}
	default:
		return r.resp, r.err
	}
}

// accepted is what stands beside an error: of the content only what the sink accepted. The worker cannot
// know that of its last event, since its wait for the verdict ends with the context.
func (d *detached) accepted(resp *Response) *Response {
	seen := d.seen.Partial()
	if resp == nil || seen == nil {
		return seen
	}
	own := *resp
	own.Message.Parts = seen.Message.Parts
	return &own
}

// detachedPanic carries a panic from the worker to the calling goroutine, with the stack it began on.
type detachedPanic struct {
	value any
	stack []byte
}

func (p *detachedPanic) Error() string {
	return fmt.Sprintf("%v\n\nin a detached generator:\n%s", p.value, p.stack)
}

func (p *detachedPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}
