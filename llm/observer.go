package llm

import "context"

// Observer watches calls, as httptrace.ClientTrace watches requests. Nil fields are skipped, and fields may
// be added. Hooks run on the call's goroutine, so they must be quick; they may run for several calls at
// once. A Client emits the two call hooks; only chains emit attempts.
type Observer struct {
	// CallStart returns the context of the call; nil keeps the old one.
	CallStart func(ctx context.Context, req *Request) context.Context
	// AttemptStart returns the context of the attempt; nil keeps the old one. The Attempt is the chain's:
	// read it, do not keep it.
	AttemptStart func(ctx context.Context, a *Attempt) context.Context
	FirstContent func(ctx context.Context)
	AttemptEnd   func(ctx context.Context, a *Attempt, err error)
	// CallEnd: resp may be non-nil beside an error, as in [Generator].
	CallEnd func(ctx context.Context, resp *Response, err error)
}

type observerKey struct{}

// WithObserver adds o to the observers of ctx; those that are there already stay and run first.
func WithObserver(ctx context.Context, o *Observer) context.Context {
	if o == nil {
		return ctx
	}
	if old := ObserverOf(ctx); old != nil {
		o = bothObservers(old, o)
	}
	return context.WithValue(ctx, observerKey{}, o)
}

// ObserverOf returns what WithObserver put into ctx as one Observer, nil if there is none.
func ObserverOf(ctx context.Context) *Observer {
	o, _ := ctx.Value(observerKey{}).(*Observer)
	return o
}

// bothObservers runs a, then b. Start hooks hand the context on, end hooks run in the same order.
func bothObservers(a, b *Observer) *Observer {
	o := *a
	if a.CallStart == nil {
		o.CallStart = b.CallStart
	} else if b.CallStart != nil {
		o.CallStart = func(ctx context.Context, req *Request) context.Context {
			return started(b.CallStart, started(a.CallStart, ctx, req), req)
		}
	}
	if a.AttemptStart == nil {
		o.AttemptStart = b.AttemptStart
	} else if b.AttemptStart != nil {
		o.AttemptStart = func(ctx context.Context, t *Attempt) context.Context {
			return started(b.AttemptStart, started(a.AttemptStart, ctx, t), t)
		}
	}
	if a.FirstContent == nil {
		o.FirstContent = b.FirstContent
	} else if b.FirstContent != nil {
		o.FirstContent = func(ctx context.Context) { a.FirstContent(ctx); b.FirstContent(ctx) }
	}
	if a.AttemptEnd == nil {
		o.AttemptEnd = b.AttemptEnd
	} else if b.AttemptEnd != nil {
		o.AttemptEnd = func(ctx context.Context, t *Attempt, err error) {
			a.AttemptEnd(ctx, t, err)
			b.AttemptEnd(ctx, t, err)
		}
	}
	if a.CallEnd == nil {
		o.CallEnd = b.CallEnd
	} else if b.CallEnd != nil {
		o.CallEnd = func(ctx context.Context, r *Response, err error) { a.CallEnd(ctx, r, err); b.CallEnd(ctx, r, err) }
	}
	return &o
}

// started calls a start hook and keeps the old context if it returns none.
func started[T any](hook func(context.Context, *T) context.Context, ctx context.Context, v *T) context.Context {
	if next := hook(ctx, v); next != nil {
		return next
	}
	return ctx
}
