package breaker

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultThreshold = 3
	defaultOpenFor   = 300 * time.Second
	longestOpenFor   = 10 * 365 * 24 * time.Hour // longer ones mean the same; with its jitter it does not overflow
)

// Options are the settings of a [Set]. The zero Options are the defaults.
type Options struct {
	// Threshold is the sum of weights since the last success that opens a breaker. 0 or less: 3, which is
	// three failures or six timeouts.
	Threshold float64
	// OpenFor is how long an open breaker refuses before it lets a probe through, ±10 % drawn anew at each
	// opening. 0 or less: 300 s.
	OpenFor time.Duration
	// OnChange, if set, is told of each change of state: in order, one at a time, and off all locks, so it
	// may use the Set. It runs on the goroutine of a call, which waits for it; a panic goes to that call.
	OnChange func(Change)
}

// Set holds the breakers of targets by name, each made on its first use. Chains that share a Set share their
// targets' state. [NewSet] makes one; it is safe for concurrent use.
type Set struct {
	settings atomic.Pointer[settings]
	changes  changes

	breakers sync.Map // of *breaker by name
}

// NewSet returns a Set without state: every breaker is closed. A nil o means the defaults.
func NewSet(o *Options) *Set {
	if o == nil {
		o = &Options{}
	}
	s := &Set{changes: changes{onChange: o.OnChange}}
	s.Adjust(o.Threshold, o.OpenFor)
	return s
}

// settings are what Options come to.
type settings struct {
	threshold   int64 // sums of weights are in thousandths
	windowScore int64
	openFor     time.Duration
}

// Adjust replaces Options.Threshold and Options.OpenFor; 0 or less is the default, as there. What breakers have counted
// stays, and one that is open stays open for as long as it was to: the new values hold from the next failure on.
func (s *Set) Adjust(threshold float64, openFor time.Duration) {
	if !(threshold > 0) { // NaN, too
		threshold = defaultThreshold
	}
	if openFor <= 0 {
		openFor = defaultOpenFor
	}
	threshold, openFor = min(threshold, math.MaxInt32), min(openFor, longestOpenFor)
	s.settings.Store(&settings{
		threshold: thousandths(threshold), windowScore: thousandths(max(windowScore, threshold)), openFor: openFor,
	})
}

// Wait is how much longer the named breaker refuses every call; 0: ask [Set.Allow]. After sleeping for
// exactly that long a probe is admitted, unless another call's probe is out by then. It takes no lock, and
// looks at the clock only while the breaker is open.
func (s *Set) Wait(name string) time.Duration {
	if b := s.find(name); b != nil {
		return b.gate.wait()
	}
	return 0
}

// Allow admits one call to the named target, or fails with an [*OpenError] while its breaker is open or its
// one probe is out. Every Permit must be settled: a probe that never is keeps the breaker half-open.
func (s *Set) Allow(name string) (Permit, error) {
	b := s.find(name)
	if b == nil {
		b = s.add(name)
	}
	return b.allow()
}

// Bypass is a Permit for a call that is made although the named breaker may refuse it, as a last resort. It
// takes no probe's slot. If the call succeeds the target is seen to be alive: that closes the breaker as a
// probe's success does, unless a probe is out, whose verdict is awaited, or the breaker has opened within the
// last millisecond. Whatever else becomes of the call says nothing, nor does any end of it while the breaker is
// closed.
func (s *Set) Bypass(name string) Permit {
	b := s.find(name)
	if b == nil {
		b = s.add(name)
	}
	return Permit{breaker: b, done: b.bypassed}
}

// Status is the state of the named breaker; one that has not been used is closed.
func (s *Set) Status(name string) Status {
	if b := s.find(name); b != nil {
		return b.status()
	}
	return Status{State: Closed}
}

// Forget drops the state of the named breaker: the next call finds it new and closed. OnChange hears nothing
// of that, nor of the calls that are still out; they settle without effect.
func (s *Set) Forget(name string) {
	if b, ok := s.breakers.LoadAndDelete(name); ok {
		s.changes.mute(b.(*breaker))
	}
}

func (s *Set) find(name string) *breaker {
	b, _ := s.breakers.Load(name)
	found, _ := b.(*breaker)
	return found
}

func (s *Set) add(name string) *breaker {
	b, _ := s.breakers.LoadOrStore(name, newBreaker(s, name))
	return b.(*breaker)
}

// thousandths is a weight in the unit of all sums, so that six halves are three exactly; at least 1.
func thousandths(weight float64) int64 { return max(int64(math.Round(weight*1000)), 1) }
