package llm

import (
	"context"
	"slices"
)

// Observer watches calls, as httptrace.ClientTrace watches requests. Nil fields are skipped, and fields may
// be added. Hooks run on the call's goroutine, so they must be quick; they may run for several calls at
// once. A Client emits the two call hooks; only chains emit attempts.
//
// One hook is an exception: under hedging, AttemptStart of the second target runs on a goroutine of the chain's
// own, at once with whatever the call does for the first attempt, its hooks included. What it shares with other
// hooks of the call needs a lock, and a panic there ends the process, while any other hook panics on the
// goroutine of the call. A panic of the target that lost is kept from the call: AttemptEnd hears of it as
// [ErrUnknown] with the code "panicked" if it came before the call was decided, and nobody does if it came later.
type Observer struct {
	// CallStart returns the context of the call; nil keeps the old one. The Request may be invalid: read it
	// with care, and do not change it.
	CallStart func(ctx context.Context, req *Request) context.Context
	// AttemptStart returns the context of the attempt; nil keeps the old one. The Attempt is the chain's:
	// read it, do not keep it.
	AttemptStart func(ctx context.Context, a *Attempt) context.Context
	// FirstContent comes with the first content of a stream, before the reader has it.
	FirstContent func(ctx context.Context)
	// AttemptEnd ends what AttemptStart began; err is nil if the target answered.
	AttemptEnd func(ctx context.Context, a *Attempt, err error)
	// CallEnd ends what CallStart began, after a panic too. resp may be non-nil beside an error, as in
	// [Generator].
	CallEnd func(ctx context.Context, resp *Response, err error)
}

// WithObserver adds o to the observers of ctx; those that are there already stay and run first. One that is
// there already is not added again: a call made inside another with the same context is told of once.
func WithObserver(ctx context.Context, o *Observer) context.Context {
	if o == nil {
		return ctx
	}
	ctx, _ = (*observers)(nil).with(o).join(ctx)
	return ctx
}

// ObserverOf returns what WithObserver put into ctx as one Observer, nil if there is none.
func ObserverOf(ctx context.Context) *Observer {
	if s := observersOf(ctx); s != nil {
		return s.joined
	}
	return nil
}

type observerKey struct{}

// observers is a set of observers in order; nil is the empty set. It is not changed once it was made.
type observers struct {
	list   []*Observer
	joined *Observer // calls all of them
}

func observersOf(ctx context.Context) *observers {
	s, _ := ctx.Value(observerKey{}).(*observers)
	return s
}

// with is s and o; s itself if o is nil or in it.
func (s *observers) with(o *Observer) *observers {
	switch {
	case o == nil:
		return s
	case s == nil:
		return &observers{list: []*Observer{o}, joined: o}
	case slices.Contains(s.list, o):
		return s
	default:
		return &observers{list: append(slices.Clone(s.list), o), joined: bothObservers(s.joined, o)}
	}
}

// join adds s to what ctx carries, and returns all of it as one Observer.
func (s *observers) join(ctx context.Context) (context.Context, *Observer) {
	old := observersOf(ctx)
	all := old
	switch {
	case s == nil:
	case old == nil:
		all = s // nothing to merge, the usual case
	default:
		for _, o := range s.list {
			all = all.with(o)
		}
	}
	if all == nil {
		return ctx, nil
	}
	if all != old {
		ctx = context.WithValue(ctx, observerKey{}, all)
	}
	return ctx, all.joined
}

// bothObservers runs a, then b. Start hooks hand the context on, end hooks run in the same order.
func bothObservers(a, b *Observer) *Observer {
	return &Observer{
		CallStart:    bothStarts(a.CallStart, b.CallStart),
		AttemptStart: bothStarts(a.AttemptStart, b.AttemptStart),
		FirstContent: both(a.FirstContent, b.FirstContent, func(ctx context.Context) {
			a.FirstContent(ctx)
			b.FirstContent(ctx)
		}),
		AttemptEnd: both(a.AttemptEnd, b.AttemptEnd, func(ctx context.Context, t *Attempt, err error) {
			a.AttemptEnd(ctx, t, err)
			b.AttemptEnd(ctx, t, err)
		}),
		CallEnd: both(a.CallEnd, b.CallEnd, func(ctx context.Context, r *Response, err error) {
			a.CallEnd(ctx, r, err)
			b.CallEnd(ctx, r, err)
		}),
	}
}

// both is the hook for a and b: joined if there are two, else the one there is.
func both[H func(context.Context) | func(context.Context, *Attempt, error) | func(context.Context, *Response, error)](a, b, joined H) H {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return joined
	}
}

func bothStarts[T any](a, b func(context.Context, *T) context.Context) func(context.Context, *T) context.Context {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return func(ctx context.Context, v *T) context.Context { return started(started(ctx, a, v), b, v) }
	}
}

// started calls a start hook and keeps the old context if it returns none.
func started[T any](ctx context.Context, hook func(context.Context, *T) context.Context, v *T) context.Context {
	if next := hook(ctx, v); next != nil {
		return next
	}
	return ctx
}
