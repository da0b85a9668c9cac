package deadline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// unbounded is the share of work that nothing bounds: long, and still far from an overflow when added to.
const unbounded = 100 * 365 * 24 * time.Hour

// Share is how long each of n steps in a row may take so that all of them fit into what [Remaining] says;
// n below 1 counts as 1. Ask again before each step, with the steps still to come, and time that one step
// did not use goes to the others. Steps side by side may take Share(ctx, 1) each.
//
// Without an execution deadline it is a hundred years, not 0: a share that is used as a limit then limits
// nothing. With no time left it is 0.
func Share(ctx context.Context, n int) time.Duration {
	left, ok := Remaining(ctx)
	if !ok {
		return unbounded
	}
	return left / time.Duration(max(n, 1))
}

// Step opens a context for one named step. It ends after the step's cap in Options.Caps, or when no more
// than reserve is left for what comes after, whichever is sooner, and never later than ctx. Call the
// CancelFunc when the step is done. When the step's own limit ends it, Err of the result is
// context.DeadlineExceeded and its cause an [*ExceededError] that names the step.
//
// It fails with an error that is an [*ExceededError] and names the step when nothing but the reserve is left, with
// the cause of ctx when that has ended, and with an error that lists the known names when no execution
// around ctx has a cap of that name. A reserve below zero is an error. With every error the context has
// already ended, so that a step whose error was overlooked does nothing, and the CancelFunc may be called.
//
// Without an execution deadline, for instance where [FromEnv] found none, the cap and a deadline of ctx itself
// hold. Unlike [Check], Step does not stop at Options.FailFast: the last step of an execution is often the one
// that the others reserved time for.
func Step(ctx context.Context, name string, reserve time.Duration) (context.Context, context.CancelFunc, error) {
	now := time.Now()
	limit, left, err := grant(ctx, name, reserve)
	if err != nil {
		step, cancel := ended(ctx, err)
		return step, cancel, err
	}
	if limit >= left { // the end of ctx is limit enough, and its cause the true one
		step, cancel := context.WithCancel(ctx)
		return step, cancel, nil
	}
	cause := &ExceededError{Step: name, Total: limit, Elapsed: limit}
	step, cancel := context.WithDeadlineCause(ctx, now.Add(limit), cause)
	return step, cancel, nil
}

// grant is the limit that the step gets of what is left, unbounded standing for no limit on either side.
func grant(ctx context.Context, name string, reserve time.Duration) (limit, remaining time.Duration, err error) {
	x := executionOf(ctx)
	if limit, err = x.capOf(name); err != nil {
		return 0, 0, err
	}
	if reserve < 0 {
		return 0, 0, fmt.Errorf("deadline: step %q: the reserve of %v is below zero (give what comes after it, or 0)", name, reserve)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return 0, 0, context.Cause(ctx)
	}
	remaining, ok := left(ctx)
	if ok && remaining <= reserve {
		return 0, 0, x.noStep(name, remaining, reserve)
	}
	if ctx.Err() != nil { // before its own deadline, or without one
		return 0, 0, context.Cause(ctx)
	}
	if !ok {
		return limit, unbounded, nil
	}
	return min(limit, remaining-reserve), remaining, nil
}

// noStep is the error of a step for which nothing but the reserve is left, or nothing.
func (x *execution) noStep(name string, remaining, reserve time.Duration) error {
	exceeded := x.exceeded(name, time.Now())
	if remaining == 0 {
		return exceeded
	}
	return fmt.Errorf("%w: %v are left, and its reserve is %v (lower the reserve or raise the total)",
		exceeded, readable(remaining), readable(reserve))
}

// capOf is the cap of a step, unbounded if it is known and has none.
func (x *execution) capOf(name string) (time.Duration, error) {
	if x == nil || len(x.caps) == 0 {
		return 0, fmt.Errorf("deadline: step %q is unknown: nothing around it names steps (list them in Options.Caps)", name)
	}
	most, known := x.caps[name]
	if !known {
		names := strings.Join(slices.Sorted(maps.Keys(x.caps)), ", ")
		return 0, fmt.Errorf("deadline: step %q is unknown: Options.Caps has %s", name, names)
	}
	if most <= 0 {
		return unbounded, nil
	}
	return most, nil
}

// ended is a context that is over because of err: Err says whether time was the reason.
func ended(ctx context.Context, err error) (context.Context, context.CancelFunc) {
	if errors.Is(err, context.DeadlineExceeded) {
		over, cancel := context.WithDeadlineCause(ctx, time.Now(), err)
		if over.Err() != nil {
			return over, cancel
		}
		cancel() // the timer of ctx is late
	}
	over, cancel := context.WithCancelCause(ctx)
	cancel(err)
	return over, func() { cancel(nil) }
}
