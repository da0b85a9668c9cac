package policy

import (
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Cooldown leaves a target, or all targets that share a quota, alone for a while. The zero Cooldown is over.
// It is safe for concurrent use, and looking at one that is over costs no look at the clock.
type Cooldown struct {
	state atomic.Pointer[cooling]
}

type cooling struct {
	until time.Time
	why   llm.Kind
}

// Set starts a cool-down of d from now, for a failure of kind why. One that ends later is kept.
func (c *Cooldown) Set(d time.Duration, why llm.Kind) {
	next := &cooling{until: time.Now().Add(min(d, maxLimit)), why: why}
	for {
		old := c.state.Load()
		if old != nil && !old.until.Before(next.until) {
			return
		}
		if c.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// Wait is how much longer it lasts and the failure that began it; 0 and "" once it is over.
func (c *Cooldown) Wait() (d time.Duration, why llm.Kind) {
	s := c.state.Load()
	if s == nil {
		return 0, ""
	}
	if d = time.Until(s.until); d > 0 {
		return d, s.why
	}
	c.state.CompareAndSwap(s, nil)
	return 0, ""
}
