package breaker

import (
	"sync/atomic"
	"time"
)

// gate is the state as callers see it. gobreaker's own runs ahead of it: its open state lasts a millisecond,
// and whatever result comes in after that makes it half-open. Readers take no lock; [changes] writes.
type gate struct {
	now atomic.Pointer[gateState]
}

// gateState is never changed once made. A nil one is closed.
type gateState struct {
	state State
	until time.Time // of Open
}

func (g *gateState) name() State {
	if g == nil {
		return Closed
	}
	return g.state
}

// wait is how much longer nobody passes.
func (g *gateState) wait() time.Duration {
	if g == nil || g.state != Open {
		return 0
	}
	return max(time.Until(g.until), 0)
}

func (g *gate) wait() time.Duration { return g.now.Load().wait() }

// look is the state and until when it is sure to last. Once its wait is over an open gate is half-open.
func (g *gate) look() (State, time.Time) {
	now := g.now.Load()
	switch {
	case now.wait() > 0:
		return Open, now.until
	case now.name() == Closed:
		return Closed, time.Time{}
	default:
		return HalfOpen, time.Time{}
	}
}
