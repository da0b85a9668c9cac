package fallback

import (
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// failed takes a failure into account: what it means for the target, for this call and for others. It says
// why the call is over, "" if it goes on.
func (c *call) failed(a *attempt, err *llm.Error) llm.StopReason {
	now := a.Start().Add(a.took)
	c.remember(err, now)
	rule := policy.RuleFor(err.Kind, a.content, c.plan.Plan)
	s := a.slot
	wait := c.plan.Backoff.Delay(int(s.Tries), s.Waited, err.RetryAfter, nil)
	s.Waited, s.ReadyAt = wait, now.Sub(c.start)+wait
	c.cool(a.member, rule, err, now)
	if left, _ := c.left(now.Sub(c.start)); err.RetryAfter > 0 && err.Kind.Transient() && (wait > longestWait || wait > left) {
		a.member.own.Set(err.RetryAfter-time.Since(now), err.Kind) // for others, whatever is left to this call
	}
	c.clearRefused()
	if stop := s.Failed(err.Kind, rule, 1+c.plan.Retries(), !c.chain.inEmergency(), policy.Again(err)); stop != "" {
		c.stop = stop
	}
	switch {
	case err.Kind == llm.ErrDeadlineExceeded:
		return llm.StopDeadline
	case a.content:
		return llm.StopContent
	case !rule.Next && s.Dead, c.plan.AtMostOnce && !err.NotSent:
		return llm.StopFinal
	case err.Kind == llm.ErrContextTooLong:
		c.needLarger(a.member.Can.ContextWindow)
	}
	return ""
}

// clearRefused lets the breakers that said no be asked again.
func (c *call) clearRefused() {
	for i := range c.slots {
		c.slots[i].Refused = false
	}
}

// remember keeps the failure that the call ends with: the last one, but a target that can never work does not
// hide another's passing fault.
func (c *call) remember(err *llm.Error, now time.Time) {
	if err.RetryAfter > 0 {
		if at := now.Add(err.RetryAfter).Sub(c.start); c.retry == 0 || at < c.retry {
			c.retry = at
		}
	}
	if c.failure != nil && c.failure.Kind.Transient() {
		switch err.Kind {
		case llm.ErrAuth, llm.ErrNotFound, llm.ErrUnsupported, llm.ErrCircuitOpen:
			return
		default:
		}
	}
	c.failure = err
}

// cool leaves the target, or those that share its quota, alone for a while from when it failed: of a second target
// that failed before the first one the call hears late.
func (c *call) cool(m *member, rule policy.Rule, err *llm.Error, failed time.Time) {
	late := time.Since(failed)
	switch {
	case err.Kind == llm.ErrQuotaExceeded:
		m.group.Set(max(rule.Cool, err.RetryAfter)-late, err.Kind)
	case err.Kind == llm.ErrRateLimited && err.RetryAfter > 0:
		m.group.Set(err.RetryAfter-late, err.Kind)
	case rule.Cool > 0:
		m.own.Set(rule.Cool-late, err.Kind)
	}
}

// needLarger leaves out the targets with a window no larger than one that was too small.
func (c *call) needLarger(than int) {
	for i := range c.slots {
		s, m := &c.slots[i], c.member(i)
		if w := m.Can.ContextWindow; w <= 0 || w > than || s.Dead {
			continue
		}
		s.Dead = true
		if s.Tries == 0 && (c.pending == nil || c.pending.second.slot != s) {
			c.pass(s, m, llm.SkipUnsupported, 0)
		}
	}
}

// whyNone says why no target is asked any more. unfit: one would have been, with more time.
func (c *call) whyNone(unfit bool, bound llm.Bound) llm.StopReason {
	switch {
	case c.failure == nil:
		c.failure = c.refusal()
		return llm.StopTargets
	case unfit && bound == llm.BoundTotal:
		return llm.StopTotal
	case unfit:
		return llm.StopDeadline
	case c.stop != "":
		return c.stop
	default:
		return llm.StopTargets
	}
}

// refusal is the error of a call whose targets were all refused: what closed the one that opens first. One
// that can never work hides no other that can.
func (c *call) refusal() *llm.Error {
	e := &llm.Error{NotSent: true}
	var first time.Duration
	for i := range c.slots {
		m := c.member(i)
		d, why := m.cooled()
		if w := c.chain.breakers.Wait(m.Name); w > d || why == "" {
			d, why = w, llm.ErrCircuitOpen
		}
		passes, has := why.Transient(), e.Kind.Transient()
		if e.Kind == "" || passes && !has || passes == has && d < first {
			first, e.Kind, e.Target, e.Model = d, why, m.Name, m.Model
		}
	}
	if first > 0 {
		c.retry = time.Since(c.start) + first
	}
	return e
}

// passOver writes into the trail which targets before the chosen one were refused, and why.
func (c *call) passOver(chosen int) {
	for i := range c.slots[:chosen] {
		if s, m := &c.slots[i], c.member(i); s.Tries == 0 && !s.Dead && !c.usable(i) {
			c.passRefused(s, m)
		}
	}
}

func (c *call) passRefused(s *policy.Slot, m *member) {
	if d, _ := m.cooled(); d > 0 {
		c.pass(s, m, llm.SkipCooling, d)
	} else {
		c.pass(s, m, llm.SkipOpen, c.chain.breakers.Wait(m.Name))
	}
}

func (c *call) pass(s *policy.Slot, m *member, why llm.SkipReason, d time.Duration) {
	if !s.Passed {
		s.Passed = true
		c.skipped = append(c.skipped, llm.Skip{Target: m.Name, Why: why, For: d})
	}
}

// fail ends the call with its failure and the whole trail.
func (c *call) fail(stop llm.StopReason) (*llm.Response, error) {
	if c.pending != nil {
		c.pending.drop()
	}
	e := *c.failure
	e.Stopped, e.RetryAfter, e.Partial = stop, 0, c.partial
	if n := len(c.attempts); n > 0 && e.Target == "" { // the caller ended it between two attempts
		e.Target, e.Model = c.attempts[n-1].Target, c.attempts[n-1].Model
	}
	if c.retry > 0 && (e.Kind.Transient() || len(c.attempts) == 0) { // after any other, a retry is of no use
		e.RetryAfter = max(c.retry-time.Since(c.start), 0)
	}
	for i := range c.slots {
		s, m := &c.slots[i], c.member(i)
		switch {
		case s.Tries > 0 || s.Dead:
			if stop == llm.StopRetryTokens && s.Dead && s.Tries > 0 && m.tokens.Left() < s.Cost() {
				c.pass(s, m, llm.SkipNoTokens, 0)
			}
		case !c.usable(i):
			c.passRefused(s, m)
		case stop == llm.StopDeadline || stop == llm.StopTotal:
			c.pass(s, m, llm.SkipNoTime, 0)
		}
	}
	return e.Partial, c.describe(&e)
}

// describe adds what the call knows to an error.
func (c *call) describe(err error) error {
	e, ok := err.(*llm.Error) //nolint:errorlint // only errors made here come here
	if !ok {
		return err
	}
	e.Operation, e.Attempts, e.Skipped = c.req.Operation, c.attempts, c.skipped
	for i := range c.attempts {
		e.NotSent = e.NotSent && c.attempts[i].NotSent
	}
	return e
}
