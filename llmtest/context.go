package llmtest

import (
	"context"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// over returns how ctx ended, nil while it lives. A deadline counts from its instant on, whether or not the
// context's own timer has run: otherwise two timers at the same instant would be a coin toss.
func over(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// wait waits d and reports whether ctx still lives.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return over(ctx) == nil
}

// ended is the error for a context that is over.
func ended(ctx context.Context, notSent bool) *llm.Error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = over(ctx)
	}
	return &llm.Error{Kind: llm.KindOf(over(ctx)), NotSent: notSent, Err: cause}
}
