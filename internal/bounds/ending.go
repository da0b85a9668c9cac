package bounds

import (
	"context"
	"time"
)

// endGrace is how long a stream may take from its end mark, or the last content behind that, to its end. The count
// of tokens comes in between; without it the answer is complete all the same.
const endGrace = time.Second

// Grace is how long the end of a stream may take: a second, but no more than a quarter of the time that is left to
// ctx.
func Grace(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return endGrace
	}
	return min(endGrace, time.Until(deadline)/4)
}

// Ending hangs up on a stream that has finished and does not end. It is for one goroutine.
type Ending struct {
	HangUp func()
	timer  *time.Timer // nil before the first end mark
	at     time.Time   // zero: the grace begins with the next Await
}

// Await gives the stream what is left of its grace.
func (e *Ending) Await(ctx context.Context) {
	if e.at.IsZero() {
		e.at = time.Now().Add(Grace(ctx))
	}
	if left := time.Until(e.at); e.timer == nil {
		e.timer = time.AfterFunc(left, e.HangUp)
	} else {
		e.timer.Reset(left)
	}
}

// Pause stops the clock, while the sink has the word.
func (e *Ending) Pause() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// Reopen is for content behind the end mark: the grace begins anew.
func (e *Ending) Reopen() { e.at = time.Time{} }
