package breaker

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	windowScore = 5  // sum of weights in the ring's two minutes that opens …
	windowShare = 4  // … if it is one part in so many …
	windowCalls = 10 // … of at least so many calls

	wireOpenFor = 5 * time.Second

	// gobreaker is open for this long, which keeps it in step with the gate: its clock was read before ours,
	// and it leaves the open state strictly after its time.
	innerOpenFor = time.Millisecond
	shortestOpen = 2 * innerOpenFor
)

// breaker is the breaker of one target. gobreaker decides which results count and when a probe is admitted;
// what counts for how much is decided in its callbacks, which run under its lock and for no stale result.
type breaker struct {
	set  *Set
	name string
	cb   *gobreaker.TwoStepCircuitBreaker[struct{}]
	gate gate

	lastFailed atomic.Pointer[failure]
	muted      bool // guarded by changes.mu

	// What follows belongs to the callbacks.
	born     time.Time
	now      time.Time     // of the result that is being counted
	ring     ring          // by age of the breaker
	run      sums          // since the last success
	wire     bool          // if this result opens, nothing but the wire did
	wireOpen time.Duration // the last opening if it was the wire's, else 0
	score    atomic.Int64  // run.weight, for readers
}

func newBreaker(s *Set, name string) *breaker {
	b := &breaker{set: s, name: name, born: time.Now()}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          name,
		MaxRequests:   1,
		Timeout:       innerOpenFor,
		IsExcluded:    func(err error) bool { return errors.Is(err, nothing{}) },
		IsSuccessful:  b.count,
		ReadyToTrip:   func(gobreaker.Counts) bool { return b.opens() },
		OnStateChange: b.changed,
	})
	return b
}

// allow asks the gate, then gobreaker, then the gate again: between the first two others may have opened
// the breaker, and a millisecond later gobreaker would admit this call as the probe of a wait just begun.
func (b *breaker) allow() (Permit, error) {
	if b.gate.wait() > 0 {
		return Permit{}, b.refusal()
	}
	done, err := b.cb.Allow()
	if err != nil {
		return Permit{}, b.refusal()
	}
	p := Permit{breaker: b, done: done}
	gate := b.gate.now.Load()
	if gate.wait() > 0 {
		p.Settle(Outcome{Weight: -1})
		return Permit{}, b.refusal()
	}
	if gate.name() == Open {
		b.probe(&p, gate)
	}
	return p, nil
}

// probe moves the gate, whose wait is over, to half-open and tells of it. If OnChange panics the caller never
// gets the permit.
func (b *breaker) probe(p *Permit, seen *gateState) {
	b.set.changes.probing(b, seen)
	told := false
	defer func() {
		if !told {
			p.Settle(Outcome{Weight: -1})
		}
	}()
	b.set.changes.tell()
	told = true
}

// bypassed hears how a call went that was made past the gate. A success is settled as that of the probe that
// gobreaker admits now; the gate as it was seen before shows that gobreaker was not closed then, and has not been
// since.
func (b *breaker) bypassed(verdict error) {
	seen := b.gate.now.Load()
	if verdict != nil || seen.name() == Closed {
		return
	}
	done, err := b.cb.Allow()
	switch {
	case err != nil: // a probe is out
	case b.gate.now.Load() != seen:
		done(nothing{})
	default:
		if seen.name() == Open {
			b.set.changes.probing(b, seen)
		}
		done(nil)
	}
}

func (b *breaker) refusal() error {
	_, until := b.gate.look()
	return &OpenError{Name: b.name, Until: until}
}

func (b *breaker) status() Status {
	state, until := b.gate.look()
	return Status{State: state, Score: float64(b.score.Load()) / 1000, Until: until}
}

// count is gobreaker's IsSuccessful.
func (b *breaker) count(verdict error) bool {
	b.now = time.Now()
	f, failed := errors.AsType[*failure](verdict)
	if !failed {
		b.ring.add(b.age(), failure{})
		b.run = sums{}
		b.score.Store(0)
		return true
	}
	b.ring.add(b.age(), *f)
	b.run.add(f.sums())
	b.score.Store(b.run.weight)
	b.wire = f.wire
	return false
}

// opens is gobreaker's ReadyToTrip: whether the failure just counted opens a closed breaker.
func (b *breaker) opens() bool {
	set := b.set.settings.Load()
	if b.run.weight >= set.threshold {
		b.wire = b.run.wire == b.run.weight
		return true
	}
	window := b.ring.total(b.age())
	b.wire = window.wire == window.weight
	return window.weight >= set.windowScore &&
		window.calls >= windowCalls &&
		window.weight*windowShare >= window.calls*1000
}

// changed is gobreaker's OnStateChange. Its way from open to half-open is none of the gate's.
func (b *breaker) changed(_ string, _, to gobreaker.State) {
	switch to {
	case gobreaker.StateOpen:
		b.set.changes.move(b, gateState{state: Open, until: b.now.Add(b.openFor())}, b.now)
	case gobreaker.StateClosed:
		b.ring = ring{}
		b.wireOpen = 0
		b.set.changes.move(b, gateState{state: Closed}, b.now)
	case gobreaker.StateHalfOpen:
	}
}

// openFor is how long to stay open from now. After failures of the wire the jitter only shortens it: 5 s is the
// most that a short cut of the network may cost.
func (b *breaker) openFor() time.Duration {
	b.wireOpen = b.nextWireOpen()
	nominal, factor := b.set.settings.Load().openFor, 0.9+0.2*rand.Float64()
	if b.wire {
		nominal, factor = b.wireOpen, 0.9+0.1*rand.Float64()
	}
	return max(time.Duration(float64(nominal)*factor), shortestOpen)
}

func (b *breaker) nextWireOpen() time.Duration {
	longest := b.set.settings.Load().openFor
	switch {
	case !b.wire:
		return 0
	case b.wireOpen == 0:
		return min(wireOpenFor, longest)
	default:
		return min(2*b.wireOpen, longest)
	}
}

func (b *breaker) age() time.Duration { return b.now.Sub(b.born) }
