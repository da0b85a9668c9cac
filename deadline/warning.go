package deadline

import (
	"context"
	"sync"
)

// warning is made by the first Warned of its execution.
type warning struct {
	once sync.Once
	due  <-chan struct{}
}

// Warned returns a channel that is closed when Options.Warn of the execution is left, by default the moment
// from which [Check] fails: time to flush what must not be lost. Every call for one execution returns the
// same channel. Without an execution deadline it is nil, which blocks for ever in a receive and never fires
// in a select.
//
// The channel is closed, too, when the execution ends before that, by its CancelFunc for instance, so that
// nobody waits on it for ever; ctx.Err tells the two apart, as long as there is time left. No goroutine
// waits for it, and the timer goes with the execution.
func Warned(ctx context.Context) <-chan struct{} {
	x := bounded(ctx)
	if x == nil {
		return nil
	}
	x.warning.once.Do(func() {
		early, cancel := context.WithDeadline(x, x.warnAt) //nolint:gosec // G118: the end of x releases it
		_ = cancel
		x.warning.due = early.Done()
	})
	return x.warning.due
}
