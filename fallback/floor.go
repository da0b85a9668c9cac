package fallback

import (
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// after is what of left a wait has to leave: the shortest attempt worth starting, and all of the time in which the
// execution starts nothing any more. elapsed is the time since the call began.
func (c *call) after(left, elapsed time.Duration) time.Duration {
	if !c.execution {
		return c.minimum
	}
	last, _ := deadline.LastCall(c.ctx)
	return max(c.minimum, left-(last.Sub(c.start)-elapsed))
}
