package fallback

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// member is a target of one chain, with what is shared with later chains behind a pointer.
type member struct {
	Target
	*state

	group *policy.Cooldown // of its quota group; its own if it is alone
}

// state is what all calls on a target share. It lives on in a later chain as long as the target's name and
// fingerprint stay.
type state struct {
	generator llm.Generator // of the target, Detached where that is needed
	close     func() error
	closing   sync.Once

	model    atomic.Pointer[llm.ModelRef] // learned from an answer, where Target.Model is not set
	own      policy.Cooldown
	tokens   policy.Tokens
	inFlight atomic.Int64

	mu     sync.Mutex // guards what follows, the last failure
	kind   llm.Kind
	failed time.Time
}

// shut closes the target, once.
func (s *state) shut() (err error) {
	s.closing.Do(func() {
		if s.close != nil {
			err = s.close()
		}
	})
	return err
}

func (s *state) fail(k llm.Kind, at time.Time) {
	s.mu.Lock()
	s.kind, s.failed = k, at
	s.mu.Unlock()
}

// wrote reports whether the target's model is who.
func (m *member) wrote(who llm.ModelRef) bool {
	if m.Model != (llm.ModelRef{}) {
		return m.Model == who
	}
	learned := m.model.Load()
	return learned != nil && *learned == who
}

// learn keeps the model that answered, so that its next turn comes back to this target.
func (m *member) learn(who llm.ModelRef) {
	if m.Model == (llm.ModelRef{}) && who != (llm.ModelRef{}) && !m.wrote(who) {
		learned := who // only here on the heap
		m.model.Store(&learned)
	}
}

// cooled is how much longer the target is left alone, and for what.
func (m *member) cooled() (time.Duration, llm.Kind) {
	d, why := m.own.Wait()
	if g, whose := m.group.Wait(); g > d {
		return g, whose
	}
	return d, why
}

// Status is how one target is doing, as of now.
type Status struct {
	Target      string
	Model       llm.ModelRef
	State       breaker.State
	Score       float64   // of its breaker: weighted failures since the last success
	OpenUntil   time.Time // zero unless its breaker is open
	CooledUntil time.Time // zero unless it is left alone for a while
	Cooled      llm.Kind  // the failure that it is left alone for
	Tokens      int       // retry tokens left; -1: no limit
	InFlight    int       // attempts under way
	LastFailure llm.Kind  // "" if none was seen
	LastAt      time.Time // of LastFailure
}

// Status says how each target is doing, in the chain's order. It may be called at any time.
func (c *Chain) Status() []Status {
	all := make([]Status, len(c.members))
	for i := range c.members {
		m := &c.members[i]
		b := c.breakers.Status(m.Name)
		s := Status{
			Target: m.Name, Model: m.Model, State: b.State, Score: b.Score, OpenUntil: b.Until,
			Tokens: m.tokens.Left(), InFlight: int(m.inFlight.Load()),
		}
		if d, why := m.cooled(); d > 0 {
			s.CooledUntil, s.Cooled = time.Now().Add(d), why
		}
		m.mu.Lock()
		s.LastFailure, s.LastAt = m.kind, m.failed
		m.mu.Unlock()
		all[i] = s
	}
	return all
}
