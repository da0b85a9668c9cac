package breaker

import (
	"sync"
	"sync/atomic"
	"time"
)

// changes moves the gates of a Set and tells OnChange of it. A change is queued under the lock that orders
// it, and told later, off all locks, by any call that finds one queued while nobody else is telling.
type changes struct {
	onChange func(Change) // nil: nobody listens

	mu      sync.Mutex
	queue   []Change
	telling bool
	queued  atomic.Int64 // len(queue), for those who hold no lock
}

// move sets the gate of b to another state.
func (c *changes) move(b *breaker, to gateState, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(b, to, at)
}

// probing makes the gate of b half-open, if it is still as the probe saw it that has passed it.
func (c *changes) probing(b *breaker, seen *gateState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.gate.now.Load() == seen {
		c.set(b, gateState{state: HalfOpen}, time.Now())
	}
}

func (c *changes) set(b *breaker, to gateState, at time.Time) {
	from := b.gate.now.Load().name()
	if to.state == Closed {
		b.gate.now.Store(nil)
	} else {
		b.gate.now.Store(&to)
	}
	if c.onChange == nil || b.muted {
		return
	}
	c.queue = append(c.queue, Change{Name: b.name, From: from, To: to.state, At: at})
	c.queued.Store(int64(len(c.queue)))
}

// mute keeps later changes of b from being told.
func (c *changes) mute(b *breaker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.muted = true
}

// tell hands what is queued to OnChange, unless somebody is doing so already: then that one tells it.
func (c *changes) tell() {
	for c.queued.Load() > 0 {
		change, ok := c.next()
		if !ok {
			return
		}
		c.tellOne(change)
	}
}

func (c *changes) next() (Change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.telling || len(c.queue) == 0 {
		return Change{}, false
	}
	c.telling = true
	first := c.queue[0]
	c.queue = c.queue[1:]
	c.queued.Store(int64(len(c.queue)))
	return first, true
}

func (c *changes) tellOne(change Change) {
	returned := false
	defer func() {
		c.mu.Lock()
		c.telling = false
		c.mu.Unlock()
		if !returned {
			c.tell() // a panic is on its way to the caller; the rest is told first
		}
	}()
	c.onChange(change)
	returned = true
}
