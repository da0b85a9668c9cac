package policy

import (
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Slot is what one call knows about one target.
type Slot struct {
	ReadyAt   time.Duration // when it may be asked again, after the start of the call
	Waited    time.Duration // the wait before its last try
	Target    int32         // the caller's index of the target; the slots themselves lie in the order of the call
	Tries     int32
	Paid      int8 // retry tokens taken for its next try
	Dead      bool // not to be asked again in this call
	Reserve   bool // to be asked again only when no other is usable: it hung, or it throttled
	OnceSpent bool // it used up the one retry of an interrupted or bad answer
	Witnessed bool // its breaker has heard of a failure in this call: further ones have no weight
	Refused   bool // its breaker said no just now; cleared by the next attempt or sleep
	Passed    bool // the trail says that it was passed over
	Throttled bool // its last failure was a throttling one
}

// Pick chooses the slot to ask next, at now after the start of the call: one without Reserve before one
// with, then a ready one, then the one with the fewest tries, then the first. wait says how long a slot is left
// alone beside its own ReadyAt: 0 if it is usable, negative if it is refused for good. A sleep above 0 is how
// long to wait first: only when no slot is ready, and then for the one that is ready soonest. One that is left
// alone is slept for when that ends before any usable slot is ready; a usable slot without Reserve is not
// passed over for one with it. A wait is worth it only if minimum is left after it. i is -1 when no slot is
// worth it; unfit then says that one would have been with more time.
func Pick(slots []Slot, wait func(i int) time.Duration, now, left, minimum time.Duration) (i int, sleep time.Duration, unfit bool) {
	var usable, alone, aloneReserve choice // the best of each
	for at := range slots {
		s := &slots[at]
		if s.Dead {
			continue
		}
		rest := wait(at)
		if rest < 0 {
			continue
		}
		w := max(rest, s.ReadyAt-now, 0)
		if w > 0 && w+minimum > left {
			unfit = true
			continue
		}
		of := &usable
		switch {
		case rest > 0 && s.Reserve:
			of = &aloneReserve
		case rest > 0:
			of = &alone
		}
		if c := (choice{true, at, w, s.Tries, s.Reserve}); !of.is || c.before(*of) {
			*of = c
		}
	}
	best := usable.orSooner(alone)
	if !usable.is || usable.reserve {
		best = best.orSooner(aloneReserve)
	}
	if !best.is {
		return -1, 0, unfit
	}
	return best.slot, best.wait, false
}

// choice is a slot that may be asked. The zero choice is none.
type choice struct {
	is      bool
	slot    int
	wait    time.Duration
	tries   int32
	reserve bool
}

// orSooner is d if it is ready sooner than c, or if c is none.
func (c choice) orSooner(d choice) choice {
	if d.is && (!c.is || d.wait < c.wait) {
		return d
	}
	return c
}

// before reports whether c is chosen rather than d, which lies before it.
func (c choice) before(d choice) bool {
	switch {
	case c.reserve != d.reserve:
		return d.reserve
	case c.wait > 0 && d.wait > 0:
		return c.wait < d.wait
	case c.wait > 0 || d.wait > 0:
		return c.wait == 0
	default:
		return c.tries < d.tries
	}
}

// Live is how many targets share the time that is left when slots[i] is asked: itself, and the usable others
// without Reserve that were tried no more often. usable is asked of slots that are not Dead.
func Live(slots []Slot, i int, usable func(i int) bool) int {
	live := 1
	for at := range slots {
		s := &slots[at]
		if at != i && !s.Dead && !s.Reserve && s.Tries <= slots[i].Tries && usable(at) {
			live++
		}
	}
	return live
}

// Retry tokens: what a retry on the same target costs, after a throttling answer and else.
const (
	retryCost    = 10
	throttleCost = 5
	// ResortCost is what a call to a target whose breaker refuses it costs: in an outage such calls end by themselves.
	ResortCost = 10
)

// Cost is what the next try of the slot costs in retry tokens; the first costs none.
func (s *Slot) Cost() int {
	switch {
	case s.Tries == 0:
		return 0
	case s.Throttled:
		return throttleCost
	default:
		return retryCost
	}
}

// Failed takes a failed try into account: whether the slot may be asked again, and whether only when nobody
// else can be. tries is how many tries a target has, retries whether there are any at all just now. Reason
// says why there is no further try although the rule allows one, "" if there is one or the rule forbids it.
func (s *Slot) Failed(k llm.Kind, r Rule, tries int, retries, again bool) (reason llm.StopReason) {
	s.Throttled = k == llm.ErrRateLimited
	s.Reserve = s.Reserve || r.Reserve
	switch {
	case !r.Same || !again || r.Once && s.OnceSpent:
	case !retries:
		reason = llm.StopEmergency
	case int(s.Tries) >= tries:
		reason = llm.StopTries
	default:
		s.OnceSpent = s.OnceSpent || r.Once
		return ""
	}
	s.Dead = true
	return reason
}
