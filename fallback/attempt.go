package fallback

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// attempt is one try on one target. Its Clock is the context the target gets.
type attempt struct {
	policy.Clock

	call    *call
	slot    *policy.Slot
	member  *member
	permit  breaker.Permit // of the target's breaker
	limits  llm.Limits
	waited  time.Duration // before it
	took    time.Duration
	ctx     context.Context //nolint:containedctx // of the observers' hooks
	hedge   *hedge          // nil unless a second target may be asked beside this one
	watched bool            // a unary call that is streamed inside
	lasting bool            // it has all that is left of the total, and that is less than an attempt may take
	content bool            // something reached the caller: nothing may be sent again
	refused bool            // an event came after a limit fell
	asking  bool            // the target runs
	inSink  bool            // and what it has called is the caller's: his sink and observers
	over    bool            // its end was told
	sinkErr error
}

// errRefused is what a target gets for an event that came after a limit fell.
var errRefused = errors.New("fallback: the attempt is over")

// admit asks the target's breaker for its permit. A last resort goes past it.
func (a *attempt) admit(resort bool) bool {
	if resort {
		a.permit = a.call.chain.breakers.Bypass(a.member.Name)
		return true
	}
	permit, err := a.call.chain.breakers.Allow(a.member.Name)
	a.permit, a.slot.Refused = permit, err != nil
	return err == nil
}

// run asks the target once. left and bound are the nearest end of the call and whose it is. It returns the
// attempt that decided, which with a hedge may be another one: its error is nil for an answer that can be
// used, and the Response beside an error is what the sink accepted.
func (a *attempt) run(now time.Time, limits llm.Limits, left time.Duration, bound llm.Bound) (*attempt, *llm.Response, *llm.Error) {
	defer a.leave()
	a.set(limits, left, bound)
	a.count()
	a.begin(now)
	if a.call.plan.Hedge.After > 0 {
		a.hedge = a.call.arm(a, left)
	}
	resp, err := a.generate(a.sink())
	if a.hedge != nil {
		return a.hedge.resolve(resp, err)
	}
	failure := a.endNow(resp, err)
	return a, resp, failure
}

// set fixes what the attempt may take.
func (a *attempt) set(limits llm.Limits, left time.Duration, bound llm.Bound) {
	c := a.call
	a.limits = limits
	a.lasting = bound == llm.BoundTotal && limits.Attempt >= left && left < c.limits.Attempt
	a.watched = c.sink == nil && c.plan.Watch.On(limits.Attempt, c.limits.Attempt, &a.member.Can)
	a.member.inFlight.Add(1)
}

// count counts the attempt in, on the goroutine of the call.
func (a *attempt) count() {
	c := a.call
	a.waited, c.waited = c.waited, 0
	c.tries++
	a.slot.Tries++
}

// begin tells the observers and starts the clock, when one of them panics, too: what ends the attempt then needs it.
func (a *attempt) begin(now time.Time) {
	c := a.call
	a.ctx = c.ctx
	defer func() { a.Init(a.ctx, now, a.limits, a.endBy(), c.sink != nil || a.watched) }()
	if c.observer != nil && c.observer.AttemptStart != nil {
		entry := a.entry()
		entry.Start = now
		if ctx := c.observer.AttemptStart(a.ctx, &entry); ctx != nil {
			a.ctx = ctx
		}
	}
}

// generate makes the one call of the target.
func (a *attempt) generate(sink llm.Sink) (*llm.Response, error) {
	a.asking = true
	resp, err := a.member.generator.Generate(&a.Clock, a.call.req, sink)
	a.asking = false
	if a.inSink { // the target recovered a panic of the caller's sink, which is nobody's to recover
		panic("fallback: target " + a.member.Name + " recovered a panic of the sink")
	}
	return resp, err
}

// leave settles what an attempt has open, when a panic or runtime.Goexit passes through, too.
func (a *attempt) leave() {
	defer a.abandon() // when an observer panics in drop, too
	if a.hedge != nil && a.call.pending != a.hedge {
		a.hedge.drop()
	}
}

// abandon ends an attempt that has no end of its own.
func (a *attempt) abandon() {
	if a.over {
		return
	}
	a.Stop()
	weight := 1.0
	if a.inSink || a.sinkErr != nil || !a.asking { // a panic of the caller's own code says nothing of the target
		weight = policy.Neutral
	}
	a.settle(weight, false)
	a.took = time.Since(a.Start())
	entry := a.entry()
	entry.Kind = llm.ErrUnknown
	a.tell(entry, &llm.Error{Kind: llm.ErrUnknown, Code: "panicked", Target: a.member.Name})
}

// settle closes the account with the breaker. Only the first failure of a target within a call has weight:
// one call is one witness, or a poison request would open every breaker for everybody.
func (a *attempt) settle(weight float64, wire bool) {
	if weight > 0 {
		if a.slot.Witnessed {
			weight = policy.Neutral
		}
		a.slot.Witnessed = true
	}
	a.permit.Settle(breaker.Outcome{Weight: weight, Wire: wire})
}

// endBy is when a stream must have ended: at the caller's deadline, which needs no timer of ours, or at the end of
// the call. A watched call ends with its total.
func (a *attempt) endBy() time.Time {
	c := a.call
	switch {
	case a.watched:
		return c.start.Add(c.limits.Total)
	case c.due != 0:
		return time.Time{}
	default:
		return c.start.Add(c.end())
	}
}

// sink is what the target pushes its events into; nil for a unary call.
func (a *attempt) sink() llm.Sink {
	switch {
	case a.watched:
		return a.discard
	case a.call.sink != nil:
		return a.accept
	default:
		return nil
	}
}

// content reports whether e is content: nothing else commits a stream or ends a limit.
func content(e llm.Event) bool {
	switch e.Kind {
	case "", llm.EventDone:
		return false
	case llm.EventText, llm.EventReasoning, llm.EventToolArguments:
		return e.Delta != ""
	default:
		return true
	}
}

// discard is the sink of a watched call: events only move the clock.
func (a *attempt) discard(e llm.Event) error {
	if !content(e) {
		return nil
	}
	if !a.Enter() {
		a.refused = true
		return errRefused
	}
	a.Leave()
	return nil
}

// accept is the sink of the attempt: only content passes, and only while no limit has fallen.
func (a *attempt) accept(e llm.Event) error {
	switch {
	case a.sinkErr != nil:
		return a.sinkErr
	case !content(e):
		return nil
	case !a.Enter(): // before the claim: a first target whose limit fell must not drop the second
		a.refused = true
		return errRefused
	}
	defer a.Leave()
	if a.hedge != nil && !a.content && !a.hedge.claimFirst() {
		return errHedged
	}
	return a.deliver(e)
}

// deliver hands an event to the caller, on his goroutine.
func (a *attempt) deliver(e llm.Event) error {
	a.inSink = true
	if !a.content {
		a.content = true
		if o := a.call.observer; o != nil && o.FirstContent != nil {
			o.FirstContent(a.ctx)
		}
	}
	err := a.call.sink(e)
	a.inSink = false
	a.sinkErr = err
	return err
}

// endNow is end for an attempt that has ended just now.
func (a *attempt) endNow(resp *llm.Response, err error) *llm.Error {
	return a.end(resp, err, time.Since(a.Start()), a.call.ctx.Err())
}

// end judges the attempt, settles it and writes it into the trail: what it took, and the error of the caller's
// context when it ended. It returns nil for an answer that can be used.
func (a *attempt) end(resp *llm.Response, err error, took time.Duration, callerErr error) *llm.Error {
	fell := a.Stop()
	a.took = took
	failure := a.judge(resp, err, fell, callerErr)
	a.account(fell, failure)
	a.finish(resp, failure)
	return failure
}

// judge says how the attempt ended: nil for an answer that can be used. An answer that comes just after a limit
// is an answer, unless the caller has gone.
func (a *attempt) judge(resp *llm.Response, err error, fell llm.Bound, callerErr error) *llm.Error {
	c := a.call
	if err == nil && a.refused && c.sink != nil { // whatever the target says, the caller has not got all of it
		err = errRefused
	}
	over := callerErr != nil || c.due != 0 && a.Start().Add(a.took).Sub(c.start) >= c.due
	if err == nil && !errors.Is(callerErr, context.Canceled) {
		bad := c.judgeAnswer(resp) // also at the deadline itself: an answer in hand is what the caller waited for
		if bad == nil || fell == "" && !over {
			return bad
		}
		err = bad // what a target returns when its time is up, and no answer
	}
	v := policy.Judge(callerErr, over, fell, err)
	switch {
	case v.Bound == llm.BoundCaller:
		v.Bound = c.owner()
	case v.Bound == llm.BoundEnd && a.watched:
		v.Bound = llm.BoundTotal
	case v.Bound == llm.BoundAttempt && a.lasting:
		v.Bound = llm.BoundTotal
	}
	return verdictError(v, err, context.Cause(c.ctx))
}

// verdictError is the target's own error when that is the verdict, else one of ours around it.
func verdictError(v policy.Verdict, err, cause error) *llm.Error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok && e != nil && e.Kind == v.Kind && v.Bound == "" {
		own := *e // an error that was returned is not changed
		return &own
	}
	own := &llm.Error{Kind: v.Kind, Bound: v.Bound, Err: err}
	if err == nil {
		own.Err = cause
	}
	if ok && e != nil {
		own.RequestID, own.Status, own.NotSent = e.RequestID, e.Status, e.NotSent
		if v.Bound == "" {
			own.Code, own.Message, own.RetryAfter, own.NoRetry = e.Code, e.Message, e.RetryAfter, e.NoRetry
		}
	}
	return own
}

// account settles the permit and the retry tokens.
func (a *attempt) account(fell llm.Bound, failure *llm.Error) {
	c, paid := a.call, int(a.slot.Paid)
	a.slot.Paid = 0
	switch {
	case a.sinkErr != nil:
		a.settle(policy.RuleFor(llm.ErrCanceled, a.content, c.plan.Plan).Weight, false)
		a.member.tokens.Return(paid) // the target did answer
	case failure != nil:
		weight, wire := policy.Weigh(policy.RuleFor(failure.Kind, a.content, c.plan.Plan), failure, a.took, policy.Evidence(c.plan.Limits.Attempt))
		a.settle(weight, wire)
		a.member.fail(failure.Kind, a.Start().Add(a.took))
	default:
		weight := 0.0
		if fell != "" { // the caller gets the answer, the breaker hears that it was late
			slow := &llm.Error{Kind: llm.ErrTimeout, Bound: fell}
			weight, _ = policy.Weigh(policy.RuleFor(llm.ErrTimeout, false, c.plan.Plan), slow, a.took, policy.Evidence(c.plan.Limits.Attempt))
		}
		a.settle(weight, false)
		a.member.tokens.Return(max(paid, 1))
	}
}

// entry is the attempt as the trail has it, as far as it has come.
func (a *attempt) entry() llm.Attempt {
	return llm.Attempt{
		Target: a.member.Name, Model: a.member.Model, Start: a.Start(),
		Wait: a.waited, Limit: a.limits.Attempt, Took: a.took,
	}
}

// finish writes the attempt into the trail and tells the observers.
func (a *attempt) finish(resp *llm.Response, failure *llm.Error) {
	entry := a.entry()
	entry.FirstContent = a.FirstContent()
	if resp != nil {
		entry.Usage = resp.Usage
	}
	var err error
	switch {
	case a.sinkErr != nil:
		entry.Kind, err = llm.ErrCanceled, a.sinkErr
	case failure != nil:
		entry.Kind, entry.Bound, entry.Status = failure.Kind, failure.Bound, failure.Status
		entry.RequestID, entry.NotSent = failure.RequestID, failure.NotSent
		entry.Limit = a.fallenLimit(failure.Bound)
		entry.Model = cmp.Or(entry.Model, failure.Model)
		failure.Target, failure.Model = a.member.Name, entry.Model
		failure.Partial = nil
		err = failure
	case resp != nil:
		entry.Model = cmp.Or(entry.Model, resp.Model)
	}
	a.tell(entry, err)
}

// lose ends an attempt that another was faster than. It says nothing of the target.
func (a *attempt) lose(resp *llm.Response, took time.Duration) {
	if a.over {
		return
	}
	a.took = took
	entry := a.entry()
	entry.Kind = llm.ErrCanceled
	if resp != nil {
		entry.Usage = resp.Usage
	}
	a.settle(policy.Neutral, false)
	a.tell(entry, &llm.Error{Kind: llm.ErrCanceled, Code: "hedged", Target: a.member.Name, Model: a.member.Model})
}

// tell ends the attempt for the trail and the observers.
func (a *attempt) tell(entry llm.Attempt, err error) {
	a.over = true
	a.member.inFlight.Add(-1)
	c := a.call
	if c.attempts == nil { // one that answered is the only one
		n := 1
		if err != nil {
			n += len(c.slots)
		}
		c.attempts = make([]llm.Attempt, 0, n)
	}
	c.attempts = append(c.attempts, entry)
	if c.observer != nil && c.observer.AttemptEnd != nil {
		c.observer.AttemptEnd(a.ctx, &c.attempts[len(c.attempts)-1], err)
	}
}

// fallenLimit is how long the limit that ended an attempt let it run; the limit of the attempt if none did.
func (a *attempt) fallenLimit(b llm.Bound) time.Duration {
	c := a.call
	begun := a.Start().Sub(c.start)
	switch {
	case b == llm.BoundTotal:
		return c.limits.Total - begun
	case (b == llm.BoundCaller || b == llm.BoundExecution) && c.due > begun:
		return c.due - begun
	}
	switch b {
	case llm.BoundConnect:
		return a.limits.Connect
	case llm.BoundFirstContent:
		return a.limits.FirstContent
	case llm.BoundIdle:
		return a.limits.Idle
	case llm.BoundEnd:
		return c.end() - begun
	default:
		return a.limits.Attempt
	}
}
