package fallback_test

import (
	"errors"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// checkTrail: every try is in the trail once, with the times it had.
func (c *simCall) checkTrail(r *simRules, attempts []llm.Attempt) {
	free := slices.Clone(c.tries)
	for i := range attempts {
		a := &attempts[i]
		at := slices.IndexFunc(free, func(t *simTry) bool { return t.target == a.Target && t.start.Equal(a.Start) })
		if at < 0 {
			if t := r.targets[a.Target]; t == nil || t.Prompt || a.Took > slack {
				c.problem("the trail has a try of %s at %v that never was", a.Target, a.Start.Sub(c.start))
			}
			continue
		}
		try := free[at]
		free = slices.Delete(free, at, at+1)
		c.checkBound(r, a)
		lost := a.Kind == llm.ErrCanceled
		if try.prompt && !lost && !try.end.Equal(a.Start.Add(a.Took)) {
			c.problem("%s took %v, the trail says %v", a.Target, try.end.Sub(try.start), a.Took)
		}
		if e := try.said(a); e != nil && try.fault.Act == actFail && !try.end.After(a.Start.Add(a.Took)) {
			c.checkKind(a, e)
		}
	}
	for _, try := range free {
		c.problem("the trail lost a try of %s at %v", try.target, try.start.Sub(c.start))
	}
	byStart := slices.Clone(attempts)
	slices.SortStableFunc(byStart, func(a, b llm.Attempt) int { return a.Start.Compare(b.Start) })
	before := c.start
	for i := range byStart {
		a := &byStart[i]
		switch {
		case a.Start.Before(before):
			if a.Wait != 0 {
				c.problem("%s waited %v beside another", a.Target, a.Wait)
			}
		case !a.Start.Equal(before.Add(a.Wait)):
			c.problem("%s began %v after what was before and waited %v", a.Target, a.Start.Sub(before), a.Wait)
		}
		before = maxTime(before, a.Start.Add(a.Took))
	}
}

// checkBound: a limit that fell was over.
func (c *simCall) checkBound(r *simRules, a *llm.Attempt) {
	end := a.Start.Add(a.Took)
	due := time.Time{}
	switch a.Bound {
	case llm.BoundAttempt, llm.BoundFirstContent, llm.BoundConnect:
		due = a.Start.Add(a.Limit)
	case llm.BoundIdle:
		due = maxTime(a.Start, c.sinkLast).Add(a.Limit)
	case llm.BoundTotal:
		due = c.start.Add(r.total)
	case llm.BoundEnd:
		due = c.start.Add(latestEnd)
	case llm.BoundCaller, llm.BoundExecution:
		due = r.deadline
	default:
	}
	if end.Before(due) {
		c.problem("%s was ended by %s %v early", a.Target, a.Bound, due.Sub(end))
	}
	if (a.Bound == llm.BoundCaller || a.Bound == llm.BoundExecution) && r.deadline.IsZero() ||
		a.Bound == llm.BoundCaller && c.Deadline == 0 || a.Bound == llm.BoundExecution && c.Execution == 0 {
		c.problem("%s was ended by %s, and there is none", a.Target, a.Bound)
	}
}

// checkKind: what a target said is what the trail says, unless a limit or the caller ended it.
func (c *simCall) checkKind(a *llm.Attempt, e *llm.Error) {
	want := e.Kind
	switch e.Kind { // a target speaks of its own
	case llm.ErrCanceled:
		want = llm.ErrConnection
	case llm.ErrDeadlineExceeded:
		want = llm.ErrTimeout
	default:
	}
	if a.Kind != want {
		c.problem("%s failed with %s, the trail says %s", a.Target, want, a.Kind)
	}
	if a.NotSent && !e.NotSent {
		c.problem("the trail says that %s was not sent", a.Target)
	}
}

func (c *simCall) checkSkipped(r *simRules, attempts []llm.Attempt, skipped []llm.Skip) {
	for i, skip := range skipped {
		tried := slices.ContainsFunc(attempts, func(a llm.Attempt) bool { return a.Target == skip.Target })
		switch {
		case !slices.Contains(r.listed, skip.Target):
			c.problem("%s was skipped and is not of the plan", skip.Target)
		case slices.ContainsFunc(skipped[:i], func(s llm.Skip) bool { return s.Target == skip.Target }):
			c.problem("%s was skipped twice", skip.Target)
		case tried && (skip.Why == llm.SkipRoute || skip.Why == llm.SkipUnsupported || skip.Why == llm.SkipNoTime):
			c.problem("%s was skipped (%s) and asked", skip.Target, skip.Why)
		}
	}
}

// simSlot is what the checks know of a target at a moment of a call.
type simSlot struct {
	tries         int
	dead, reserve bool
	once          bool
	ready         time.Time
}

// end takes an attempt into account that was not lost.
func (p *simSlot) end(a *llm.Attempt, try *simTry, r *simRules, retries bool) {
	again, once := true, false
	switch a.Kind {
	case llm.ErrRateLimited, llm.ErrTimeout:
		p.reserve = true
	case llm.ErrUnavailable, llm.ErrConnection:
	case llm.ErrInterrupted, llm.ErrBadOutput:
		once = true
	default:
		again = false
	}
	if e := try.said(a); e != nil && e.NoRetry {
		again = false
	}
	p.dead = p.dead || !again || once && p.once || !retries || p.tries >= r.tries
	p.once = p.once || once
	p.ready = a.Start.Add(a.Took).Add(r.backoff(try, a))
}

// backoff is the least that is waited before a target is asked again.
func (r *simRules) backoff(try *simTry, a *llm.Attempt) time.Duration {
	least := 100 * ms
	if m := r.plan.Backoff.Max; m > 0 {
		least = min(least, m)
	}
	if e := try.said(a); e != nil {
		least = max(least, e.RetryAfter)
	}
	return least
}

// said is the error of the target's own that ended attempt a, nil if something else did.
func (try *simTry) said(a *llm.Attempt) *llm.Error {
	if try == nil || a.Bound != "" || a.Kind == llm.ErrCanceled {
		return nil
	}
	e, _ := errors.AsType[*llm.Error](try.err)
	return e
}

// checkOrder goes through the trail and holds each step against the decision table.
func (c *simCall) checkOrder(r *simRules, attempts []llm.Attempt) {
	slots := map[string]*simSlot{}
	for _, name := range r.listed {
		slots[name] = &simSlot{}
	}
	if e, ok := errors.AsType[*llm.Error](c.err); ok && r.calm && len(attempts) > 0 && c.Execution == 0 && e.Kind != llm.ErrCanceled && e.Kind != llm.ErrDeadlineExceeded {
		last := c.start
		for i := range attempts {
			last = maxTime(last, attempts[i].Start.Add(attempts[i].Took))
		}
		if waited := c.end.Sub(last); waited > 0 {
			c.problem("it waits %v for nothing", waited)
		}
	}
	var over string // why nothing more may begin
	var since time.Time
	on := c.world.emergency(c.start, c.end)
	for i := range attempts {
		a := &attempts[i]
		p := slots[a.Target]
		if p == nil {
			c.problem("%s is not of the plan", a.Target)
			return
		}
		switch {
		case over != "" && !a.Start.Before(since) && !r.overlaps(attempts, i):
			c.problem("%s is asked after %s", a.Target, over)
		case p.dead:
			c.problem("%s is asked again", a.Target)
		case a.Start.Before(p.ready):
			c.problem("%s is asked again %v early", a.Target, p.ready.Sub(a.Start))
		}
		if left := r.left(c, a.Start); i > 0 && left < r.minimum && !r.overlaps(attempts, i) {
			c.problem("%s is asked with %v left, less than %v", a.Target, left, r.minimum)
		}
		if r.calm {
			c.checkChoice(a, p, slots, r)
		}
		p.tries++
		if a.Kind == llm.ErrCanceled || a.Kind == "" {
			continue
		}
		p.end(a, c.tryOf(a), r, !on)
		since = a.Start.Add(a.Took)
		if (a.Kind == llm.ErrInvalid || a.Kind == llm.ErrContentFiltered) && !slices.Contains(r.plan.FallbackOn, a.Kind) {
			over = string(a.Kind)
		}
		if a.Kind == llm.ErrDeadlineExceeded {
			over = "the deadline"
		}
	}
}

// overlaps reports whether attempt i ran beside another. A hedge that is asked at the very moment at which the
// first ends ran beside it, too.
func (r *simRules) overlaps(attempts []llm.Attempt, i int) bool {
	a := &attempts[i]
	for k := range attempts {
		b := &attempts[k]
		if k != i && (beside(a, b) || beside(b, a) || r.tie(a, b) || r.tie(b, a)) {
			return true
		}
	}
	return false
}

// tie reports whether b may be a hedge of a that began when a ended.
func (r *simRules) tie(a, b *llm.Attempt) bool {
	return r.plan.Hedge.After > 0 && b.Start.Sub(a.Start) == r.plan.Hedge.After && b.Start.Equal(a.Start.Add(a.Took))
}

// beside reports whether b began while a was under way.
func beside(a, b *llm.Attempt) bool {
	return b.Start.After(a.Start) && b.Start.Before(a.Start.Add(a.Took))
}

// checkChoice: the first round comes before the second, and reserve is for when there is nobody else.
func (c *simCall) checkChoice(a *llm.Attempt, p *simSlot, slots map[string]*simSlot, r *simRules) {
	if p.tries == 0 {
		return
	}
	for _, name := range r.fit {
		other := slots[name]
		switch {
		case name == a.Target || other.dead:
		case other.tries == 0:
			c.problem("%s is asked again before %s was asked at all", a.Target, name)
		case p.reserve && !other.reserve && r.left(c, other.ready) > 60*s:
			c.problem("%s is a reserve and asked before %s", a.Target, name)
		}
	}
}

// checkHedge: only one runs beside another, only where the plan says so, and not too early.
func (c *simCall) checkHedge(r *simRules, attempts []llm.Attempt) {
	for i := range attempts {
		for k := range attempts {
			a, b := &attempts[i], &attempts[k]
			if !beside(a, b) {
				continue
			}
			if after := r.plan.Hedge.After; after <= 0 || b.Start.Sub(a.Start) < after || a.Target == b.Target ||
				r.plan.AtMostOnce || c.world.emergency(c.start, c.end) {
				c.problem("%s runs beside %s", b.Target, a.Target)
			}
			first, second := c.tryOf(a), c.tryOf(b)
			if a.Kind != llm.ErrCanceled || first == nil || second == nil || !first.prompt || b.Kind != "" && c.author() != second {
				continue
			}
			won := second.pushed
			if !c.Streamed {
				if won = second.end; b.Kind != "" { // it has won nothing: the caller canceled
					continue
				}
			}
			if late := first.end.Sub(won); !won.IsZero() && late > slack {
				c.problem("%s goes on for %v after %s was faster", a.Target, late, b.Target)
			}
		}
	}
}

// checkShares: an attempt gets its part of the time, no more and no less.
func (c *simCall) checkShares(r *simRules, attempts []llm.Attempt) {
	slots := map[string]*simSlot{}
	for _, name := range r.fit {
		slots[name] = &simSlot{}
	}
	on := c.world.emergency(c.start, c.end)
	for i := range attempts {
		a := &attempts[i]
		p := slots[a.Target]
		if p == nil || r.overlaps(attempts, i) || len(c.world.flips) > 1 { // a flip leaves no trace of what it ended
			return
		}
		if at := slices.IndexFunc(c.hooks, func(h simHook) bool { return h.target == a.Target && h.start.Equal(a.Start) }); at >= 0 {
			live := 1
			for name, other := range slots {
				if name != a.Target && !other.dead && !other.reserve && other.tries <= p.tries && (!slices.Contains(c.hooks[at].open, name) || c.world.changedAt(name, a.Start)) {
					live++
				}
			}
			left := r.left(c, a.Start)
			if r.minimum > 0 {
				live = max(min(live, int(left/r.minimum)), 1)
			}
			longest := r.limits.Attempt
			if l := r.targets[a.Target].Limits.Attempt; l > 0 {
				longest = min(longest, l)
			}
			want, got := min(longest, max(left/time.Duration(live), 1)), c.hooks[at].limit
			if got < want || got > min(longest, max(left, 1)) || r.calm && got != want {
				c.problem("%s gets %v of %v, it should be %v (%d live)", a.Target, got, left, want, live)
			}
		}
		p.tries++
		p.end(a, c.tryOf(a), r, !on)
	}
}
