package fallback

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// attempt is one try on one target. Its Clock is the context the target gets.
type attempt struct {
	policy.Clock

	call    *call
	target  *Target
	now     time.Time // start
	trail   llm.Attempt
	ctx     context.Context //nolint:containedctx // of the observers' hooks
	content bool            // something reached the caller: nothing may be sent again
	refused bool            // an event came after a limit fell
	inSink  bool
	sinkErr error
}

// errRefused is what a target gets for an event that came after a limit fell.
var errRefused = errors.New("fallback: the attempt is over")

// run asks the target once. left and bound are the nearest end of the call and whose it is. The error is nil
// for an answer that can be used; the Response beside an error is what the sink accepted.
func (a *attempt) run(limit, left time.Duration, bound llm.Bound) (*llm.Response, *llm.Error) {
	c, t := a.call, a.target
	limits := policy.Shorten(c.limits, t.Limits)
	limits.Attempt = min(limit, limits.Attempt)
	a.trail = llm.Attempt{Target: t.Name, Model: t.Model, Start: a.now, Limit: limits.Attempt}
	a.ctx = c.ctx
	ended := false
	defer func() {
		a.Stop()
		if !ended { // a panic or runtime.Goexit passes through; the observers hear of it
			a.abandoned()
		}
	}()
	if c.observer != nil && c.observer.AttemptStart != nil {
		if ctx := c.observer.AttemptStart(a.ctx, &a.trail); ctx != nil {
			a.ctx = ctx
		}
	}
	var sink llm.Sink
	if c.sink != nil {
		sink = a.accept
	}
	a.Init(a.ctx, a.now, limits, a.streamEnd(), sink != nil)

	resp, err := t.Generator.Generate(&a.Clock, c.req, sink)
	if a.inSink { // the target recovered a panic of the caller's sink, which is nobody's to recover
		panic("fallback: target " + t.Name + " recovered a panic of the sink")
	}
	failure := a.judge(resp, err, limits, left, bound)
	ended = true
	a.finish(resp, failure, limits)
	return resp, failure
}

// streamEnd is when a stream must have ended: at the caller's deadline, which needs no timer of ours, or 10
// minutes after the start of the call.
func (a *attempt) streamEnd() time.Time {
	if !a.call.deadline.IsZero() {
		return time.Time{}
	}
	return a.call.start.Add(streamEnd)
}

// accept is the sink of the attempt: only content passes, and only while no limit has fallen.
func (a *attempt) accept(e llm.Event) error {
	switch {
	case a.sinkErr != nil:
		return a.sinkErr
	case e.Kind == "", e.Kind == llm.EventDone,
		e.Delta == "" && (e.Kind == llm.EventText || e.Kind == llm.EventReasoning || e.Kind == llm.EventToolArguments):
		return nil
	case !a.Enter():
		a.refused = true
		return errRefused
	}
	if !a.content {
		a.content = true
		if o := a.call.observer; o != nil && o.FirstContent != nil {
			o.FirstContent(a.ctx)
		}
	}
	a.inSink = true
	err := a.call.sink(e)
	a.inSink = false
	a.Leave()
	a.sinkErr = err
	return err
}

// judge says how the attempt ended: nil for an answer that can be used. An answer that comes just after a limit
// is an answer, unless the caller has gone.
func (a *attempt) judge(resp *llm.Response, err error, limits llm.Limits, left time.Duration, bound llm.Bound) *llm.Error {
	c := a.call
	fell := a.Stop()
	callerErr := c.ctx.Err()
	a.trail.Took = time.Since(a.now)
	if err == nil && a.refused { // whatever the target says, the caller has not got all of it
		err = errRefused
	}
	if err == nil && !errors.Is(callerErr, context.Canceled) {
		return c.judgeAnswer(resp) // also at the deadline itself: an answer in hand is what the caller waited for
	}
	over := !c.deadline.IsZero() && !a.now.Add(a.trail.Took).Before(c.deadline)
	v := policy.Judge(callerErr, over, fell, err)
	if v.Bound == llm.BoundAttempt && bound == llm.BoundTotal && limits.Attempt >= left && left < c.limits.Attempt {
		v.Bound = llm.BoundTotal // it had all the time that was left, and that was less than an attempt may take
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
			own.Code, own.Message = e.Code, e.Message
		}
	}
	return own
}

// finish writes the attempt into the trail and tells the observers.
func (a *attempt) finish(resp *llm.Response, failure *llm.Error, limits llm.Limits) {
	c := a.call
	a.trail.FirstContent = a.FirstContent()
	if resp != nil {
		a.trail.Usage = resp.Usage
	}
	var err error
	switch {
	case a.sinkErr != nil:
		a.trail.Kind, err = llm.ErrCanceled, a.sinkErr
	case failure != nil:
		a.trail.Kind, a.trail.Bound, a.trail.Status = failure.Kind, failure.Bound, failure.Status
		a.trail.RequestID, a.trail.NotSent = failure.RequestID, failure.NotSent
		a.trail.Limit = fallenLimit(failure.Bound, limits)
		a.trail.Model = cmp.Or(a.trail.Model, failure.Model)
		failure.Target, failure.Model = a.target.Name, a.trail.Model
		failure.Partial = nil
		err = failure
	case resp != nil:
		a.trail.Model = cmp.Or(a.trail.Model, resp.Model)
	}
	c.attempts = append(c.attempts, a.trail)
	if c.observer != nil && c.observer.AttemptEnd != nil {
		c.observer.AttemptEnd(a.ctx, &a.trail, err)
	}
}

// abandoned tells the observers of an attempt that a panic or runtime.Goexit ended.
func (a *attempt) abandoned() {
	a.trail.Kind, a.trail.Took = llm.ErrUnknown, time.Since(a.now)
	if o := a.call.observer; o != nil && o.AttemptEnd != nil {
		o.AttemptEnd(a.ctx, &a.trail, &llm.Error{Kind: llm.ErrUnknown, Code: "panicked", Target: a.target.Name})
	}
}

// fallenLimit is the length of the limit that ended an attempt; of the attempt itself if none of its own did.
func fallenLimit(b llm.Bound, limits llm.Limits) time.Duration {
	switch b {
	case llm.BoundConnect:
		return limits.Connect
	case llm.BoundFirstContent:
		return limits.FirstContent
	case llm.BoundIdle:
		return limits.Idle
	case llm.BoundEnd:
		return streamEnd
	default:
		return limits.Attempt
	}
}

// stopAfter says why no other target may be asked after a failure, "" if one may.
func (a *attempt) stopAfter(k llm.Kind) llm.StopReason {
	switch {
	case k == llm.ErrDeadlineExceeded:
		return llm.StopDeadline
	case a.content:
		return llm.StopContent
	case !policy.Next(k):
		return llm.StopFinal
	default:
		return ""
	}
}
