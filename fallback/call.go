package fallback

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// streamEnd bounds a stream as a whole when nobody set a deadline: a provider that drips for ever would
// otherwise be waited for for ever.
const streamEnd = 10 * time.Minute

// call is one call over the targets of its plan, from its start to its answer or error.
type call struct {
	chain    *Chain
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	req      *llm.Request
	sink     llm.Sink
	observer *llm.Observer

	start    time.Time
	deadline time.Time // the caller's; zero: none
	limits   llm.Limits
	total    time.Duration
	minimum  time.Duration // the shortest attempt worth starting
	order    []int         // targets to ask, in order

	attempts []llm.Attempt
	skipped  []llm.Skip
	warnings []llm.Warning
	failure  *llm.Error    // what the call ends with if nothing else comes; observers have it, so it is not changed
	partial  *llm.Response // what the sink accepted of the failed attempt
	tooSmall int           // the largest window that was too small, in tokens; 0: none that is known
	retry    time.Time     // the earliest useful retry; zero: unknown
}

// prepare works out the plan of the call: limits and targets.
func (c *call) prepare() error {
	plan, known := c.chain.plans.For(c.req.Operation)
	if !known {
		c.warnings = append(c.warnings, llm.Warning{
			Code: "unknown_operation", Field: "operation",
			Message: "no plan has this name; the default plan was used",
		})
	}
	if err := c.choose(plan); err != nil {
		return c.describe(err)
	}
	c.limits = policy.Override(plan.Limits, c.req.Limits)
	if c.limits.Idle == 0 {
		c.limits.Idle = policy.DefaultIdle(c.limits.Attempt)
	}
	plan.Limits = c.limits
	c.total = plan.Total(len(c.order))
	budget := c.total
	if d, ok := c.ctx.Deadline(); ok {
		c.deadline = d
		budget = min(budget, d.Sub(c.start))
	}
	c.minimum = policy.Minimum(budget)
	c.attempts = make([]llm.Attempt, 0, len(c.order))
	return nil
}

// choose fills order: the request's route or the plan's list, without those that cannot carry the request,
// the preferred one first.
func (c *call) choose(plan policy.Plan) error {
	if err := c.route(plan.Targets); err != nil {
		return err
	}
	c.order = slices.DeleteFunc(c.order, func(i int) bool {
		t := &c.chain.targets[i]
		for _, tag := range c.req.Route.Tags {
			if !slices.Contains(t.Tags, tag) {
				c.skipped = append(c.skipped, llm.Skip{Target: t.Name, Why: llm.SkipRoute})
				return true
			}
		}
		return false
	})
	if len(c.order) == 0 {
		return llm.Unsupported("route.tags", "no target of the plan has all of them", "correct route.tags or the targets' tags")
	}
	var what string
	c.order = slices.DeleteFunc(c.order, func(i int) bool {
		t := &c.chain.targets[i]
		lacks := lacking(&t.Can, c.req, c.sink != nil)
		if lacks != "" {
			what = lacks
			c.skipped = append(c.skipped, llm.Skip{Target: t.Name, Why: llm.SkipUnsupported})
		}
		return lacks != ""
	})
	if len(c.order) == 0 {
		return llm.Unsupported(what, "no target of the plan can carry it", "route to one that can, or leave it out")
	}
	return c.prefer()
}

func (c *call) route(planned []string) error {
	names, path := c.req.Route.Only, "route.only"
	if len(names) == 0 {
		names, path = planned, "plan.targets"
	}
	if len(names) == 0 {
		c.order = make([]int, len(c.chain.targets))
		for i := range c.order {
			c.order[i] = i
		}
		return nil
	}
	c.order = make([]int, 0, len(names))
	for i, name := range names {
		at := c.chain.index(name)
		switch {
		case at < 0:
			return unknownTarget(fmt.Sprintf("%s[%d]", path, i), name, c.chain.names())
		case slices.Contains(c.order, at):
			return llm.Invalid(fmt.Sprintf("%s[%d]", path, i), "names a target twice", "name each target once")
		}
		c.order = append(c.order, at)
	}
	return nil
}

// prefer moves the preferred target to the front: the named one, else who wrote the last assistant message.
func (c *call) prefer() error {
	at := -1
	if name := c.req.Route.Prefer; name != "" {
		if at = c.chain.index(name); at < 0 {
			return unknownTarget("route.prefer", name, c.chain.names())
		}
	} else if len(c.req.Route.Only) == 0 {
		at = c.lastAuthor()
	}
	if i := slices.Index(c.order, at); i > 0 {
		copy(c.order[1:i+1], c.order[:i])
		c.order[0] = at
	}
	return nil
}

func (c *call) lastAuthor() int {
	for i := len(c.req.Messages) - 1; i >= 0; i-- {
		m := &c.req.Messages[i]
		if m.Role != llm.RoleAssistant || m.From == (llm.ModelRef{}) {
			continue
		}
		return slices.IndexFunc(c.order, func(at int) bool { return c.chain.targets[at].Model == m.From })
	}
	return -1
}

func (c *Chain) index(name string) int {
	return slices.IndexFunc(c.targets, func(t Target) bool { return t.Name == name })
}

func (c *Chain) names() []string {
	names := make([]string, len(c.targets))
	for i := range c.targets {
		names[i] = c.targets[i].Name
	}
	return names
}

// run asks one target after the other. It is the one loop of the package.
func (c *call) run() (*llm.Response, error) {
	now := c.start
	for turn, at := range c.order {
		left, bound := c.left(now)
		if stop := c.stopBefore(turn, left, bound); stop != "" {
			return c.fail(stop, c.order[turn:])
		}
		t := &c.chain.targets[at]
		if w := t.Can.ContextWindow; w > 0 && w <= c.tooSmall {
			c.skipped = append(c.skipped, llm.Skip{Target: t.Name, Why: llm.SkipUnsupported})
			continue
		}
		limit := policy.Share(left, c.limits.Attempt, c.minimum, len(c.order)-turn)
		a := attempt{call: c, target: t, now: now}
		resp, err := a.run(limit, left, bound)
		switch {
		case a.sinkErr != nil:
			if resp == nil { // it says at least who was asked
				resp = &llm.Response{}
			}
			return c.answer(resp, t), a.sinkErr
		case err == nil:
			return c.answer(resp, t), nil
		}
		c.failed(err)
		if stop := a.stopAfter(err.Kind); stop != "" {
			c.partial = resp
			return c.fail(stop, nil)
		}
		if err.Kind == llm.ErrContextTooLong { // only a larger window can help
			c.tooSmall = max(c.tooSmall, t.Can.ContextWindow)
		}
		now = time.Now()
	}
	return c.fail(llm.StopTargets, nil)
}

// left is the time to the nearest end of the call, and whose end that is.
func (c *call) left(now time.Time) (time.Duration, llm.Bound) {
	left, bound := c.total-now.Sub(c.start), llm.BoundTotal
	if !c.deadline.IsZero() {
		if d := c.deadline.Sub(now); d <= left {
			left, bound = d, llm.BoundCaller
		}
	}
	return left, bound
}

// stopBefore says why the turn-th attempt must not be started, "" if it may.
func (c *call) stopBefore(turn int, left time.Duration, bound llm.Bound) llm.StopReason {
	switch {
	case c.ctx.Err() != nil:
		c.failure = c.callerError()
		if c.failure.Kind == llm.ErrCanceled {
			return llm.StopFinal
		}
		return llm.StopDeadline
	case turn == 0 && left > 0, left >= c.minimum && left > 0:
		if c.limits.Tries > 0 && turn >= c.limits.Tries {
			return llm.StopTries
		}
		return ""
	case c.failure == nil: // a deadline that has passed, but whose timer has not fired yet
		c.failure = &llm.Error{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller, NotSent: true}
		return llm.StopDeadline
	case bound == llm.BoundCaller:
		return llm.StopDeadline
	default:
		return llm.StopTotal
	}
}

func (c *call) callerError() *llm.Error {
	v := policy.Judge(c.ctx.Err(), false, "", nil)
	return &llm.Error{Kind: v.Kind, Bound: v.Bound, NotSent: true, Err: context.Cause(c.ctx)}
}

// failed takes a failure into account: the last one is reported, but a target that can never work does not
// hide another's passing fault.
func (c *call) failed(err *llm.Error) {
	if err.RetryAfter > 0 {
		if at := time.Now().Add(err.RetryAfter); c.retry.IsZero() || at.Before(c.retry) {
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

// fail ends the call with its failure and the whole trail. untried are targets whose turn never came.
func (c *call) fail(stop llm.StopReason, untried []int) (*llm.Response, error) {
	e := *c.failure
	e.Stopped, e.RetryAfter, e.Partial = stop, 0, c.partial
	if !c.retry.IsZero() {
		e.RetryAfter = max(time.Until(c.retry), 0)
	}
	if stop == llm.StopDeadline || stop == llm.StopTotal {
		for _, at := range untried {
			c.skipped = append(c.skipped, llm.Skip{Target: c.chain.targets[at].Name, Why: llm.SkipNoTime})
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

// answer adds what the call knows to an answer.
func (c *call) answer(resp *llm.Response, t *Target) *llm.Response {
	resp.Target = t.Name
	if t.Model != (llm.ModelRef{}) { // the name under which this chain finds the author of a message again
		resp.Model, resp.Message.From = t.Model, t.Model
	}
	resp.Attempts, resp.Skipped = c.attempts, c.skipped
	resp.Warnings = append(resp.Warnings, c.warnings...)
	return resp
}

// judgeAnswer says what is wrong with an answer, nil if it can be used.
func (c *call) judgeAnswer(resp *llm.Response) *llm.Error {
	switch {
	case resp == nil:
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "no_response"}
	case len(resp.Message.Parts) == 0 && resp.Finish != llm.FinishLength:
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"}
	case c.req.Output != nil && len(resp.Message.ToolCalls()) == 0 && !json.Valid([]byte(resp.Text())):
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "output_is_no_json"}
	case c.req.Accept != nil:
		if err := c.req.Accept(resp); err != nil {
			return &llm.Error{Kind: llm.ErrBadOutput, Code: "not_accepted", Err: err}
		}
	}
	return nil
}
