package fallback

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// streamEnd bounds a stream as a whole when nobody set a deadline or a longer total: a provider that drips for ever
// would otherwise be waited for for ever.
const streamEnd = 10 * time.Minute

// longestWait is the longest wait for one target. What asks for more is left alone, and the call goes on.
const longestWait = time.Minute

// call is one call over the targets of its plan, from its start to its answer or error.
type call struct {
	chain    *Chain
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	req      *llm.Request
	sink     llm.Sink
	observer *llm.Observer
	plan     *operation

	start      time.Time
	due        time.Duration // when ctx ends, after start; 0: never
	execution  bool          // ctx carries an execution deadline
	caller     bool          // the deadline of ctx is sooner: the caller's own
	limits     llm.Limits
	minimum    time.Duration // the shortest attempt worth starting
	slots      []policy.Slot // in the order of the call
	lastResort bool          // it was used
	tries      int32
	waited     time.Duration // since the last attempt
	pending    *hedge        // its second target goes on, though the first has failed

	attempts []llm.Attempt
	skipped  []llm.Skip
	warnings []llm.Warning
	failure  *llm.Error     // what the call ends with if nothing else comes; observers have it, so it is not changed
	partial  *llm.Response  // what stands beside the failure
	retry    time.Duration  // the earliest useful retry, after the start; 0: unknown
	stop     llm.StopReason // why a target that failed will not be asked again
}

// prepare works out what the call may spend, and on which targets.
func (c *call) prepare() error {
	plan, known := c.chain.plans.of(c.req.Operation)
	if !known {
		c.warnings = append(c.warnings, llm.Warning{
			Code: "unknown_operation", Field: "operation",
			Message: "no plan has this name; the default plan was used",
		})
	}
	c.plan, c.start = plan, time.Now()
	if err := c.checkExecution(); err != nil {
		return c.describe(err)
	}
	if err := c.choose(); err != nil {
		return c.describe(err)
	}
	c.limits = policy.Override(plan.Limits, c.req.Limits)
	if c.limits.Idle == 0 {
		c.limits.Idle = policy.DefaultIdle(c.limits.Attempt)
	}
	c.limits.Total = policy.Plan{Limits: c.limits}.Total(len(c.slots))
	budget := c.limits.Total
	if d, ok := c.ctx.Deadline(); ok {
		c.due = cmp.Or(d.Sub(c.start), -1)
		budget = min(budget, c.due)
	}
	c.minimum = policy.Minimum(budget)
	return nil
}

// checkExecution refuses a call for which the execution has too little time left.
func (c *call) checkExecution() error {
	end, ok := deadline.End(c.ctx)
	if !ok {
		return nil
	}
	d, _ := c.ctx.Deadline()
	c.execution, c.caller = true, d.Before(end)
	if err := deadline.Check(c.ctx); err != nil && c.ctx.Err() == nil {
		return c.executionError(err)
	}
	return nil
}

func (c *call) executionError(err error) *llm.Error {
	return &llm.Error{
		Kind: llm.ErrDeadlineExceeded, Code: "EXECUTION_DEADLINE_EXCEEDED", Bound: llm.BoundExecution,
		Stopped: llm.StopDeadline, NotSent: true, Err: err,
	}
}

// run is the one loop: retry and fallback alike. It picks a target, asks it, and judges what came.
func (c *call) run() (*llm.Response, error) {
	defer c.release()
	now := c.start
	for {
		a, resp, err := c.turn(now)
		switch {
		case a == nil:
			if err != nil {
				return c.fail(err.Stopped)
			}
		case a.sinkErr != nil:
			if resp == nil { // it says at least who was asked
				resp = &llm.Response{}
			}
			return c.answer(resp, a), a.sinkErr
		case err == nil:
			return c.answer(resp, a), nil
		default:
			if stop := c.failed(a, err); stop != "" {
				c.keep(resp, err.Kind)
				return c.fail(stop)
			}
		}
		now = time.Now()
	}
}

// keep keeps what stands beside the failure that ends the call: what the caller's sink accepted. Without a sink
// nothing was accepted, also if the call was streamed inside; of a filtered answer the caller gets what there is.
func (c *call) keep(resp *llm.Response, why llm.Kind) {
	if c.sink != nil || why == llm.ErrContentFiltered {
		c.partial = resp
	}
}

// turn asks one target. The attempt is nil when none was asked: to look again after a sleep, or, with an
// error that only says why, because the call is over.
func (c *call) turn(now time.Time) (*attempt, *llm.Response, *llm.Error) {
	if h := c.pending; h != nil {
		c.pending = nil
		return h.await()
	}
	elapsed := now.Sub(c.start)
	left, bound := c.left(elapsed)
	if stop := c.stopBefore(left, bound); stop != "" {
		return nil, nil, &llm.Error{Stopped: stop}
	}
	at, sleep, unfit := policy.Pick(c.slots, c.wait, elapsed, left, c.after(left, elapsed))
	resort := false
	if at < 0 {
		at = c.resort()
		resort = at >= 0
	}
	soon := sleep           // until a usable one is ready; 0: there is none to wait for
	if at < 0 || soon > 0 { // it may be worth more to wait for one that is left alone
		var late bool
		at, sleep, late = policy.Pick(c.slots, c.waitCooling, elapsed, left, c.after(left, elapsed))
		unfit = unfit || late
	}
	switch {
	case at < 0:
		return nil, nil, &llm.Error{Stopped: c.whyNone(unfit, bound)}
	case !c.pay(at, resort):
		return nil, nil, nil
	case sleep > 0:
		sleep = c.spread(at, sleep, elapsed, left)
		if soon > 0 {
			sleep = min(sleep, soon)
		}
		c.sleep(sleep)
		c.clearRefused() // a probe that was out may have been answered meanwhile
		return nil, nil, nil
	}
	a := &attempt{call: c, slot: &c.slots[at], member: c.member(at)}
	if !a.admit(resort) {
		return nil, nil, nil
	}
	c.passOver(at)
	limits := policy.Shorten(c.limits, a.member.Limits)
	limits.Attempt = policy.Share(left, limits.Attempt, c.minimum, policy.Live(c.slots, at, c.usable))
	return a.run(now, limits, left, bound)
}

func (c *call) member(slot int) *member { return &c.chain.members[c.slots[slot].Target] }

// wait is what a slot waits for beside its own back-off; below 0 it is refused.
func (c *call) wait(slot int) time.Duration {
	if !c.usable(slot) {
		return -1
	}
	return 0
}

func (c *call) usable(slot int) bool {
	m := c.member(slot)
	if c.slots[slot].Refused || c.chain.breakers.Wait(m.Name) > 0 {
		return false
	}
	d, _ := m.cooled()
	return d <= 0
}

// waitCooling is wait for when no target is ready: one that is left alone for a while is waited for, then.
func (c *call) waitCooling(slot int) time.Duration {
	m := c.member(slot)
	d, why := m.cooled()
	if c.slots[slot].Refused || c.chain.breakers.Wait(m.Name) > 0 ||
		d > 0 && (d > longestWait || !why.Transient()) { // a key that is wrong is so afterwards
		return -1
	}
	return d
}

// resort chooses the last resort when every target is refused: one that was not asked in this call and whose
// breaker is open or probing, the least failed of them. -1: none.
func (c *call) resort() int {
	if c.lastResort || c.plan.NoLastResort || len(c.slots) < 2 {
		return -1
	}
	best, score := -1, 0.0
	for i := range c.slots {
		s, m := &c.slots[i], c.member(i)
		d, _ := m.cooled()
		poor := m.tokens.Left() >= 0 && m.tokens.Left() < policy.ResortCost
		if s.Dead || s.Tries > 0 || d > 0 || poor {
			continue
		}
		if at := c.chain.breakers.Status(m.Name).Score; best < 0 || at < score {
			best, score = i, at
		}
	}
	return best
}

// pay takes the retry tokens for the next try of a slot. Without them there is no retry.
func (c *call) pay(slot int, resort bool) bool {
	s, cost := &c.slots[slot], c.slots[slot].Cost()
	if resort {
		c.lastResort, cost = true, policy.ResortCost
	}
	if int(s.Paid) >= cost {
		return true
	}
	if !c.member(slot).tokens.Take(cost - int(s.Paid)) {
		if !resort {
			s.Dead, c.stop = true, llm.StopRetryTokens
		}
		return false
	}
	s.Paid = int8(cost)
	return true
}

// release gives back what was taken and not used, and lets a second target go.
func (c *call) release() {
	if c.pending != nil {
		c.pending.drop()
	}
	for i := range c.slots {
		if s := &c.slots[i]; s.Paid > 0 {
			c.member(i).tokens.Return(int(s.Paid))
			s.Paid = 0
		}
	}
}

// spread lengthens a wait for the end of a cool-down, at which all calls that wait for it would come back at
// the same instant. A slot's own wait after a failure is spread already. What has to be left after it is.
func (c *call) spread(slot int, wait, elapsed, left time.Duration) time.Duration {
	if c.slots[slot].ReadyAt-elapsed >= wait {
		return wait
	}
	return wait + rand.N(min(wait/2, left-c.after(left, elapsed)-wait)+1)
}

func (c *call) sleep(d time.Duration) {
	begun := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
	c.waited += time.Since(begun)
}

// left is the time to the nearest end of the call, and whose end that is.
func (c *call) left(elapsed time.Duration) (time.Duration, llm.Bound) {
	left, bound := c.limits.Total-elapsed, llm.BoundTotal
	if c.due != 0 {
		if d := c.due - elapsed; d <= left {
			left, bound = d, c.owner()
		}
	}
	return left, bound
}

// stopBefore says why no further attempt may be started, "" if one may.
func (c *call) stopBefore(left time.Duration, bound llm.Bound) llm.StopReason {
	switch {
	case c.ctx.Err() != nil:
		c.failure = c.callerError()
		if c.failure.Kind == llm.ErrCanceled {
			return llm.StopFinal
		}
		return llm.StopDeadline
	case left <= 0 && c.failure == nil && bound == llm.BoundTotal: // it passed in a sleep
		c.failure = &llm.Error{Kind: llm.ErrTimeout, Bound: bound, NotSent: true}
		return llm.StopTotal
	case left <= 0 && c.failure == nil: // a deadline that has passed, but whose timer has not fired yet
		c.failure = &llm.Error{Kind: llm.ErrDeadlineExceeded, Bound: c.owner(), NotSent: true}
		return llm.StopDeadline
	case len(c.attempts) == 0 && left > 0, left >= c.minimum && left > 0:
	case bound == llm.BoundTotal:
		return llm.StopTotal
	default:
		return llm.StopDeadline
	}
	if c.execution {
		if err := deadline.Check(c.ctx); err != nil {
			if c.failure == nil {
				c.failure = c.executionError(err)
			}
			return llm.StopDeadline
		}
	}
	if c.limits.Tries > 0 && int(c.tries) >= c.limits.Tries {
		return llm.StopTries
	}
	return ""
}

// end is how long after its start a call whose caller has no deadline is over at the latest: not before its total,
// for an attempt may begin until then, and each has an end.
func (c *call) end() time.Duration { return max(streamEnd, c.limits.Total) }

// owner is whose the deadline of ctx is.
func (c *call) owner() llm.Bound {
	if c.execution && !c.caller {
		return llm.BoundExecution
	}
	return llm.BoundCaller
}

// over reports whether the caller's context has ended, or its deadline has passed though its timer has not run.
func (c *call) over() bool {
	return c.ctx.Err() != nil || c.due != 0 && time.Since(c.start) >= c.due
}

func (c *call) callerError() *llm.Error {
	v := policy.Judge(c.ctx.Err(), false, "", nil)
	e := &llm.Error{Kind: v.Kind, NotSent: true, Err: context.Cause(c.ctx)}
	if v.Bound != "" {
		e.Bound = c.owner()
	}
	return e
}
