package deadline

import (
	"context"
	"fmt"
	"time"
)

// execution is the context that With makes, and the one value that every look-up of this package reads. It
// is not changed after With returned it, but for the lazily made warning.
type execution struct {
	context.Context //nolint:containedctx // an execution is a context

	start    time.Time
	end      time.Time // zero: nothing ends it, it only carries caps
	lastCall time.Time // after it Check fails
	warnAt   time.Time // when the warning is due
	caps     map[string]time.Duration
	warning  warning
}

type executionKey struct{}

// Value answers for this package's own key and leaves the others to the context within.
func (x *execution) Value(key any) any {
	if key == (executionKey{}) {
		return x
	}
	return x.Context.Value(key)
}

// String is for people who print a context. Without it fmt would read the fields of the context within, which
// other goroutines write.
func (x *execution) String() string { return fmt.Sprintf("%v.deadline.With(%v)", x.Context, x.end) }

// executionOf is the innermost execution of ctx, nil if there is none.
func executionOf(ctx context.Context) *execution {
	x, _ := ctx.Value(executionKey{}).(*execution)
	return x
}

// bounded is executionOf, but nil for an execution without an end.
func bounded(ctx context.Context) *execution {
	if x := executionOf(ctx); x != nil && !x.end.IsZero() {
		return x
	}
	return nil
}

// With bounds all work under the result: it ends after total, or at ctx's own deadline if that is sooner,
// less the margin. As with context.WithTimeout, a total that is not positive, or not above the margin, gives
// a context that has already ended. The clock starts now.
//
// When the time is up, Err of the result is context.DeadlineExceeded and its context.Cause is an
// [*ExceededError], unless ctx ended first or at the same instant. Call the CancelFunc when the work is done;
// it releases the timer.
//
// An execution inside another one can only be shorter: the end, the moment from which [Check] fails and the
// moment of [Warned] are never later than those outside, and the caps outside hold when o has none.
// A context from context.WithoutCancel is inside nothing: work that must go on after the end, such as a last
// flush, gets a With of its own there, directly on it. Without one the look-ups still find the old execution, and so
// does a With further in, as long as a deadline set in between is not later than its end.
//
// o may be nil. With does not validate it: lengths below zero count as zero. See [Options.Validate].
func With(ctx context.Context, total time.Duration, o *Options) (context.Context, context.CancelFunc) {
	start := time.Now()
	end := start.Add(total)
	if own := ownEnd(ctx, start); !own.IsZero() && own.Before(end) {
		end = own
	}
	return newExecution(ctx, start, end, o)
}

// Limit makes an execution of what ctx has: it ends at ctx's own deadline less the margin. It is With for a
// context that came with a deadline, for example from the handler of a platform. If ctx has none, the result
// has none either, and only o.Caps hold.
func Limit(ctx context.Context, o *Options) (context.Context, context.CancelFunc) {
	start := time.Now()
	return newExecution(ctx, start, ownEnd(ctx, start), o)
}

// ownEnd is ctx's own deadline, zero if it has none. It is at now or later, and by the monotonic clock of now: that of a
// platform is often one of the wall clock, which may be set while the work goes on.
func ownEnd(ctx context.Context, now time.Time) time.Time {
	own, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return now.Add(max(own.Sub(now), 0))
}

// newExecution starts an execution under ctx whose end, before the margin, is end; zero: it has none.
func newExecution(ctx context.Context, start, end time.Time, o *Options) (context.Context, context.CancelFunc) {
	if o == nil {
		o = new(Options)
	}
	x := &execution{start: start, caps: o.caps()}
	outer := enclosing(ctx)
	if x.caps == nil && outer != nil {
		x.caps = outer.caps
	}
	var cancel context.CancelFunc
	if end.IsZero() {
		if outer != nil { // it goes on, perhaps with other caps
			x.start, x.end, x.lastCall, x.warnAt = outer.start, outer.end, outer.lastCall, outer.warnAt
		}
		x.Context, cancel = context.WithCancel(ctx)
		return x, cancel
	}
	if end = end.Add(-max(o.Margin, 0)); end.Before(start) {
		end = start
	}
	total := end.Sub(start)
	failFast := o.failFast(total)
	x.end, x.lastCall, x.warnAt = end, end.Add(-failFast), end.Add(-o.warn(failFast))
	if outer != nil && !outer.end.IsZero() {
		x.lastCall, x.warnAt = sooner(x.lastCall, outer.lastCall), sooner(x.warnAt, outer.warnAt)
	}
	x.Context, cancel = context.WithDeadlineCause(ctx, end, &ExceededError{Total: total, Elapsed: total})
	return x, cancel
}

// enclosing is the execution that ctx is inside of: it has not left its bounds by context.WithoutCancel.
func enclosing(ctx context.Context) *execution {
	x := executionOf(ctx)
	if x == nil || x.end.IsZero() {
		return x
	}
	if own, ok := ctx.Deadline(); !ok || own.After(x.end) {
		return nil
	}
	return x
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Remaining is how long work under ctx may still take: until the end of its execution, or until ctx's own
// deadline if that is sooner, as inside a [Step]. It is never negative. It is false when ctx has no
// execution deadline, whatever deadline it has itself.
func Remaining(ctx context.Context) (time.Duration, bool) {
	if bounded(ctx) == nil {
		return 0, false
	}
	return left(ctx)
}

// left is the time to the sooner of ctx's own deadline and the end of its execution, never negative, and
// false if it has neither.
func left(ctx context.Context) (time.Duration, bool) {
	end, ok := ctx.Deadline()
	if x := bounded(ctx); x != nil && (!ok || x.end.Before(end)) {
		end, ok = x.end, true
	}
	if !ok {
		return 0, false
	}
	return max(time.Until(end), 0), true
}

// Elapsed is the time since the execution of ctx started, 0 if it has none.
func Elapsed(ctx context.Context) time.Duration {
	if x := executionOf(ctx); x != nil {
		return time.Since(x.start)
	}
	return 0
}

// Total is all the time that the execution of ctx was given at its start, the margin taken off, so that what
// has elapsed and what remains add up to it. It is false when ctx has no execution deadline.
func Total(ctx context.Context) (time.Duration, bool) {
	if x := bounded(ctx); x != nil {
		return x.end.Sub(x.start), true
	}
	return 0, false
}

// End is when the execution of ctx ends. It is false when ctx has no execution deadline. A deadline of ctx
// before it is not the execution's: somebody else set it, for example a [Step] or a caller.
func End(ctx context.Context) (time.Time, bool) {
	if x := bounded(ctx); x != nil {
		return x.end, true
	}
	return time.Time{}, false
}

// Check is an [*ExceededError] once less than Options.FailFast of the execution is left, or nothing: what is
// started now would be cut off. Otherwise, and without an execution deadline, it is nil.
//
// It looks at the execution and at nothing else: neither at a shorter deadline of ctx nor at whether ctx was
// canceled.
func Check(ctx context.Context) error {
	x := bounded(ctx)
	if x == nil {
		return nil
	}
	now := time.Now()
	if now.Before(x.end) && !now.After(x.lastCall) {
		return nil
	}
	return x.exceeded("", now)
}

// LastCall is the moment after which [Check] fails: whoever has to wait before a piece of work waits no longer than
// until then. It is false when ctx has no execution deadline.
func LastCall(ctx context.Context) (time.Time, bool) {
	if x := bounded(ctx); x != nil {
		return x.lastCall, true
	}
	return time.Time{}, false
}

// exceeded is the error of the execution at now. One without an end had what it used.
func (x *execution) exceeded(step string, now time.Time) *ExceededError {
	elapsed := now.Sub(x.start)
	total := elapsed
	if !x.end.IsZero() {
		total = x.end.Sub(x.start)
	}
	return &ExceededError{Step: step, Total: total, Elapsed: elapsed}
}
