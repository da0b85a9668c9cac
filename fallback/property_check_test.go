package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const (
	slack     = 5 * ms // what a call may be late by
	latestEnd = 10 * time.Minute
)

// simRules is what a call was allowed, worked out anew from the scenario.
type simRules struct {
	plan     policy.Plan
	limits   llm.Limits // with all defaults
	total    time.Duration
	deadline time.Time // zero: none
	minimum  time.Duration
	listed   []string // the plan's or the route's
	fit      []string // of these, those that can carry the request
	targets  map[string]*simTarget
	tries    int // of one target
	calm     bool
}

func (w *simWorld) rules(c *simCall) *simRules {
	v := w.versionAt(c.start)
	plan, _ := v.plans.For(c.Operation)
	r := &simRules{plan: plan, limits: policy.Override(plan.Limits, c.Limits), targets: map[string]*simTarget{}, tries: 1 + plan.Retries()}
	for i := range v.targets {
		r.targets[v.targets[i].Name] = &v.targets[i]
		r.listed = append(r.listed, v.targets[i].Name)
	}
	if only := c.Route.Only; len(only) > 0 {
		r.listed = only
	} else if len(plan.Targets) > 0 {
		r.listed = plan.Targets
	}
	for _, name := range r.listed {
		if t := r.targets[name]; t != nil && c.fits(t) {
			r.fit = append(r.fit, name)
		}
	}
	if r.limits.Idle == 0 {
		r.limits.Idle = min(r.limits.Attempt, 30*s)
	}
	r.total = r.limits.Total
	if r.total == 0 {
		r.total = r.limits.Attempt * time.Duration(min(max(len(r.fit), 2), 3))
	}
	budget := r.total
	if d, ok := c.ctx.Deadline(); ok {
		r.deadline = d
		budget = min(budget, d.Sub(c.start))
	}
	r.minimum = min(2*s, budget/10)
	return r
}

func (w *simWorld) versionAt(t time.Time) *simVersion {
	at := &w.versions[0]
	for i := range w.versions {
		if !w.versions[i].from.After(t) {
			at = &w.versions[i]
		}
	}
	return at
}

// fits reports whether the target can carry the request.
func (c *simCall) fits(t *simTarget) bool {
	lacks := func(what string) bool { return slices.Contains(t.Can.Lacks, what) }
	switch {
	case slices.ContainsFunc(c.Route.Tags, func(tag string) bool { return !slices.Contains(t.Tags, tag) }),
		t.Can.MaxOutput > 0 && c.MaxTokens > t.Can.MaxOutput,
		t.Can.ContextWindow == 100 && c.Long,
		lacks("stream") && c.Streamed, lacks("seed") && c.Seed, lacks("json_schema") && c.Output:
		return false
	}
	return true
}

// left is the time to the nearest end of the call.
func (r *simRules) left(c *simCall, at time.Time) time.Duration {
	left := c.start.Add(r.total).Sub(at)
	if !r.deadline.IsZero() {
		left = min(left, r.deadline.Sub(at))
	}
	return left
}

// trail is what the call says it did, false if a panic has taken it away.
func (c *simCall) trail() (attempts []llm.Attempt, skipped []llm.Skip, ok bool) {
	if e, is := errors.AsType[*llm.Error](c.err); is && len(e.Attempts)+len(e.Skipped) > 0 {
		return e.Attempts, e.Skipped, true
	}
	if c.resp != nil {
		return c.resp.Attempts, c.resp.Skipped, true
	}
	return nil, nil, c.panicked == nil
}

// check looks at everything once the world has come to rest.
func (w *simWorld) check() {
	quiet := w.quiet()
	for _, c := range w.calls {
		r := w.rules(c)
		r.calm = quiet
		c.checkTime(r)
		c.checkTries(r)
		c.checkSink()
		c.checkEnd()
		if attempts, skipped, ok := c.trail(); ok {
			c.checkTrail(r, attempts)
			c.checkSkipped(r, attempts, skipped)
			c.checkOrder(r, attempts)
			c.checkHedge(r, attempts)
			c.checkShares(r, attempts)
		}
		c.checkHooks()
	}
	w.checkCooling()
	w.checkTargets()
}

// quiet reports whether no target was ever left alone or refused, so that what a call does can be foretold.
func (w *simWorld) quiet() bool {
	if len(w.changes) > 0 || w.sc.RetryTokens >= 0 || len(w.flips) > 1 {
		return false
	}
	for _, c := range w.calls {
		attempts, skipped, ok := c.trail()
		if !ok || slices.ContainsFunc(skipped, func(s llm.Skip) bool { return s.Why == llm.SkipCooling || s.Why == llm.SkipOpen }) {
			return false
		}
		for i := range attempts {
			switch attempts[i].Kind {
			case llm.ErrAuth, llm.ErrNotFound, llm.ErrQuotaExceeded, llm.ErrContextTooLong:
				return false
			default:
			}
		}
		for _, try := range c.tries {
			if try.fault.RetryAfter > 0 {
				return false
			}
		}
	}
	return true
}

// checkTime: a call ends on time, and nothing is begun when it is over.
func (c *simCall) checkTime(r *simRules) {
	if !r.deadline.IsZero() && c.end.After(maxTime(r.deadline, c.start).Add(c.sinkTime+slack)) {
		c.problem("it ends %v after its deadline", c.end.Sub(r.deadline))
	}
	if late := c.end.Sub(c.start) - c.sinkTime - c.Cancel; c.Cancel > 0 && late > slack {
		c.problem("it ends %v after its caller has canceled", late)
	}
	switch {
	case len(c.seen) == 0:
		if late := c.end.Sub(c.start.Add(r.total)); late > slack {
			c.problem("it ends %v after its total of %v", late, r.total)
		}
	default:
		if late := c.sinkFrom.Sub(c.start.Add(r.total)); late > slack {
			c.problem("its first content comes %v after its total of %v", late, r.total)
		}
		if late := c.end.Sub(c.sinkLast) - c.idle(r); late > slack {
			c.problem("it ends %v after its idle limit of %v", late, c.idle(r))
		}
		if took := c.end.Sub(c.start) - c.sinkTime; r.deadline.IsZero() && took > latestEnd+slack {
			c.problem("a stream of %v", took)
		}
	}
	if idle := c.idle(r); c.pause > idle {
		c.problem("an event reaches the caller after a pause of %v, idle is %v", c.pause, idle)
	}
	for _, try := range c.tries {
		if try.prompt && try.end.After(c.end.Add(slack)) {
			c.problem("%s goes on for %v after the call has returned", try.target, try.end.Sub(c.end))
		}
		if try.over { // a target that is given a context that is over sends nothing
			continue
		}
		if try.late {
			c.problem("%s is asked after the call has returned", try.target)
		}
		if !r.deadline.IsZero() && !try.start.Before(r.deadline) {
			c.problem("%s is asked %v after the deadline", try.target, try.start.Sub(r.deadline))
		}
		if !try.start.Before(c.start.Add(r.total)) {
			c.problem("%s is asked after the total", try.target)
		}
		if last := c.lastCall(); !last.IsZero() && try.start.After(last) {
			c.problem("%s is asked %v after the last call of the execution", try.target, try.start.Sub(last))
		}
	}
}

// lastCall is the moment after which the execution of the call allows no further one, zero if it has none.
func (c *simCall) lastCall() time.Time {
	if c.Execution == 0 {
		return time.Time{}
	}
	begun := c.start.Add(-c.Used)
	end := begun.Add(c.Execution)
	if d, ok := c.ctx.Deadline(); ok && c.Used == 0 { // the execution began inside of it
		end = d
	}
	return end.Add(-min(5*s, end.Sub(begun)/10))
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// idle is the limit of the target that wrote what the sink saw.
func (c *simCall) idle(r *simRules) time.Duration {
	idle := r.limits.Idle
	if try := c.author(); try != nil {
		if l := r.targets[try.target].Limits.Idle; l > 0 {
			idle = min(idle, l)
		}
	}
	return idle
}

// author is the one try whose script begins with what the sink saw.
func (c *simCall) author() *simTry {
	for _, try := range c.tries {
		if n := len(c.seen); n > 0 && n <= len(try.script) && slices.Equal(c.seen, try.script[:n]) {
			return try
		}
	}
	return nil
}

// checkTries: no more is tried than allowed.
func (c *simCall) checkTries(r *simRules) {
	sent, resorts, of := 0, 0, map[string]int{}
	for _, try := range c.tries {
		of[try.target]++
		if of[try.target] > r.tries {
			c.problem("%s is asked %d times of %d", try.target, of[try.target], r.tries)
		}
		if c.world.emergency(c.start, c.end) && of[try.target] > 1 {
			c.problem("%s is asked again in emergency mode", try.target)
		}
		if !try.fault.NotSent && !try.over {
			sent++
		}
		if try.refused && !c.world.changedAt(try.target, try.start) {
			resorts++
			if r.plan.NoLastResort || len(r.fit) < 2 || try.n > 0 || resorts > 1 {
				c.problem("%s is asked though its breaker is open", try.target)
			}
		}
		if !slices.Contains(r.fit, try.target) {
			c.problem("%s is asked and cannot carry the request", try.target)
		}
	}
	if n := r.limits.Tries; n > 0 && len(c.tries) > n {
		c.problem("%d tries of %d", len(c.tries), n)
	}
	if r.plan.AtMostOnce && sent > 1 {
		c.problem("sent %d times, at most once was asked for", sent)
	}
}

// emergency reports whether emergency mode was on all the time.
func (w *simWorld) emergency(from, to time.Time) bool {
	on := false
	for _, f := range w.flips {
		switch {
		case !f.from.After(from):
			on = f.on
		case !f.from.After(to) && !f.on:
			return false
		}
	}
	return on
}

// checkSink: what the caller saw is the beginning of one answer, and after it nobody else is asked.
func (c *simCall) checkSink() {
	for _, e := range c.seen {
		if e.Kind == llm.EventDone || e.Kind == "" || e.Kind != llm.EventToolCall && e.Delta == "" {
			c.problem("the sink got %+v", e)
		}
	}
	if len(c.seen) == 0 {
		return
	}
	if !c.Streamed {
		c.problem("events of a call without a sink")
	}
	author := c.author()
	if author == nil {
		c.problem("the sink saw what nobody wrote: %v", texts(c.seen))
		return
	}
	for _, try := range c.tries {
		if try.start.After(c.sinkFrom) && !try.over {
			c.problem("%s is asked after content of %s has reached the caller", try.target, author.target)
		}
	}
	if c.err == nil && c.panicked == nil && len(c.seen) != len(author.script) {
		c.problem("success after %d of %d events", len(c.seen), len(author.script))
	}
}

func texts(events []llm.Event) (all []string) {
	for _, e := range events {
		all = append(all, string(e.Kind)+":"+e.Delta)
	}
	return all
}

// checkEnd: the answer can be used, or the error says what is true.
func (c *simCall) checkEnd() {
	if c.panicked != nil {
		c.checkPanic()
		return
	}
	if c.err == nil {
		c.checkAnswer()
		return
	}
	if c.sinkErr != nil && c.Via == "chain" {
		if c.err != c.sinkErr { //nolint:errorlint // the very same error is promised
			c.problem("the sink's error comes back as %v", c.err)
		}
		c.checkPartial(c.resp)
		return
	}
	e, ok := c.err.(*llm.Error) //nolint:errorlint // nothing may be around it
	if !ok || e == nil {
		c.problem("the error is %#v", c.err)
		return
	}
	c.checkError(e)
}

func (c *simCall) checkPanic() {
	p, _ := errors.AsType[*simPanic](asError(c.panicked))
	switch {
	case p == nil:
		c.problem("it panics with %v", c.panicked)
	case p.what == "the sink" && (c.Panics == 0 || len(c.seen) != c.Panics):
		c.problem("a panic of the sink after %d events", len(c.seen))
	}
}

func asError(p any) error {
	if err, ok := p.(error); ok {
		return err
	}
	return fmt.Errorf("%v", p)
}

func (c *simCall) checkAnswer() {
	r := c.resp
	switch {
	case r == nil:
		c.problem("no answer and no error")
		return
	case len(r.Message.Parts) == 0 && r.Finish != llm.FinishLength:
		c.problem("an answer without a part")
	case c.Output && !validJSON(r):
		c.problem("%q is no JSON", r.Text())
	case c.Accept && accept(r) != nil:
		c.problem("%q was not to be accepted", r.Text())
	case c.sinkErr != nil:
		c.problem("success though the sink has failed")
	case errors.Is(c.ctx.Err(), context.Canceled) && c.Cancel > 0 && c.end.Sub(c.start) > c.Cancel+c.sinkTime:
		c.problem("success for a caller who has gone")
	}
	answered := 0
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Kind == "" {
			answered++
			if try := c.tryOf(a); a.Target != r.Target || try == nil {
				c.problem("%s answered, and the trail says %s", r.Target, a.Target)
			} else if !reflect.DeepEqual(r.Message.Parts, (&simRun{try: try}).answer().Message.Parts) {
				c.problem("the answer %q is not what %s wrote", r.Text(), r.Target)
			}
		}
	}
	if answered != 1 || r.Attempts[len(r.Attempts)-1].Kind != "" {
		c.problem("%d attempts answered, or not the last", answered)
	}
}

func validJSON(r *llm.Response) bool {
	return len(r.Message.ToolCalls()) > 0 || len(r.Text()) > 1 && r.Text()[len(r.Text())-1] == '"'
}

// tryOf is the try that an attempt of the trail tells of, nil if there was none.
func (c *simCall) tryOf(a *llm.Attempt) *simTry {
	for _, try := range c.tries {
		if try.target == a.Target && try.start.Equal(a.Start) {
			return try
		}
	}
	return nil
}

func (c *simCall) checkError(e *llm.Error) {
	canceled := errors.Is(c.ctx.Err(), context.Canceled) && c.end.Sub(c.start) >= c.Cancel && c.Cancel > 0
	d, ok := c.ctx.Deadline()
	over := ok && !c.end.Before(d)
	switch e.Kind {
	case "":
		c.problem("an error without a Kind")
	case llm.ErrCanceled:
		if !canceled && c.sinkErr == nil {
			c.problem("canceled, and nobody did: %+v", e)
		}
	case llm.ErrDeadlineExceeded:
		if !over && e.Code != "EXECUTION_DEADLINE_EXCEEDED" {
			c.problem("deadline exceeded, and it was not: %+v", e)
		}
	default:
		if c.sinkErr != nil {
			c.problem("%s though the sink has failed", e.Kind)
		}
		if canceled && c.end.Sub(c.start)-c.sinkTime > c.Cancel {
			c.problem("%s though the caller had canceled", e.Kind)
		}
		if ok && c.end.After(d.Add(c.sinkTime)) {
			c.problem("%s though the deadline had passed", e.Kind)
		}
	}
	if errors.Is(e, context.Canceled) != (e.Kind == llm.ErrCanceled) || errors.Is(e, context.DeadlineExceeded) != (e.Kind == llm.ErrDeadlineExceeded) {
		c.problem("errors.Is does not know %s", e.Kind)
	}
	if e.Operation != c.Operation {
		c.problem("operation %q", e.Operation)
	}
	early := len(e.Attempts) == 0 && (e.Kind == llm.ErrInvalid || e.Kind == llm.ErrUnsupported)
	if e.Stopped == "" && !early && c.sinkErr == nil {
		c.problem("it does not say why it stopped: %+v", e)
	}
	if e.Stopped == llm.StopContent && len(c.seen) == 0 {
		c.problem("stopped for content that never came")
	}
	if gone := e.Kind == llm.ErrCanceled || e.Kind == llm.ErrDeadlineExceeded; len(c.seen) > 0 && !gone && e.Stopped != llm.StopContent {
		c.problem("stopped for %s after content", e.Stopped)
	}
	for i := range e.Attempts {
		if e.Attempts[i].Kind == "" {
			c.problem("an error, and %s answered", e.Attempts[i].Target)
		}
		if e.NotSent && !e.Attempts[i].NotSent {
			c.problem("it says that nothing was sent, and %s was asked", e.Attempts[i].Target)
		}
	}
	if c.Streamed {
		c.checkPartial(e.Partial)
	} else if e.Partial != nil && e.Kind != llm.ErrContentFiltered {
		c.problem("a partial answer without a sink: %+v", e.Partial)
	}
	if c.resp != nil && c.Via == "client" {
		c.problem("an answer beside an error")
	}
}

// checkPartial: what stands beside an error is what the sink took.
func (c *simCall) checkPartial(got *llm.Response) {
	var a llm.Accumulator
	for _, e := range c.accepted {
		a.Add(e)
	}
	var want, have llm.Parts
	if p := a.Partial(); p != nil {
		want = p.Message.Parts
	}
	if got != nil {
		have = got.Message.Parts
	}
	if author := c.author(); author != nil && (author.fault.Stubborn || author.nothing) {
		return // it lies about what the sink took, and nobody else counts
	}
	if len(want)+len(have) > 0 && !reflect.DeepEqual(want, have) {
		c.problem("the partial answer is %v, the sink took %v", have, want)
	}
}

// checkHooks: observers hear of every attempt, and of its end.
func (c *simCall) checkHooks() {
	if c.Unwatched {
		return
	}
	if len(c.hooks) != len(c.ended) {
		c.problem("observers heard %d attempts begin and %d end", len(c.hooks), len(c.ended))
	}
	if attempts, _, ok := c.trail(); ok && len(attempts) != len(c.ended) {
		c.problem("observers heard of %d attempts, the trail has %d", len(c.ended), len(attempts))
	}
	for _, h := range c.hooks {
		if n := slices.IndexFunc(c.ended, func(a llm.Attempt) bool { return a.Target == h.target && a.Start.Equal(h.start) }); n < 0 {
			c.problem("observers did not hear %s end", h.target)
		}
	}
}

// checkCooling: who asked for a rest has it, and all who share its quota.
func (w *simWorld) checkCooling() {
	for _, c := range w.calls {
		r := w.rules(c)
		attempts, _, _ := c.trail()
		for i := range attempts {
			a := &attempts[i]
			e := c.tryOf(a).said(a)
			if e == nil || r.overlaps(attempts, i) { // of a second target it is heard when the first is done
				continue
			}
			var rest time.Duration
			group := true
			switch a.Kind {
			case llm.ErrRateLimited:
				rest = e.RetryAfter
			case llm.ErrQuotaExceeded:
				rest = max(10*time.Minute, e.RetryAfter)
			case llm.ErrAuth, llm.ErrNotFound:
				rest, group = time.Minute, false
			default:
			}
			if rest > 0 {
				w.checkRest(a, rest, group)
			}
		}
	}
}

func (w *simWorld) checkRest(a *llm.Attempt, rest time.Duration, group bool) {
	from := a.Start.Add(a.Took)
	for _, v := range w.versions {
		if v.dropped { // one that begins anew has not heard of it
			return
		}
	}
	quota := w.target(a.Target).QuotaGroup
	for _, c := range w.calls {
		for _, try := range c.tries {
			shares := try.target == a.Target || group && quota != "" && w.target(try.target).QuotaGroup == quota
			if shares && try.start.After(from) && try.start.Before(from.Add(rest)) {
				c.problem("%s is asked %v after %s of %s asked for %v", try.target, try.start.Sub(from), a.Kind, a.Target, rest)
			}
		}
	}
}

func (w *simWorld) target(name string) *simTarget { return &w.sc.Targets[name[0]-'a'] }

// checkTargets: whatever was taken was given back.
func (w *simWorld) checkTargets() {
	for _, v := range w.versions {
		for _, st := range v.chain.Status() {
			if st.InFlight != 0 {
				w.problem("%s has %d attempts in flight", st.Target, st.InFlight)
			}
		}
	}
	w.checkTokens()
	last := w.now()
	for _, st := range last.chain.Status() {
		witnesses := 0
		for _, c := range w.calls {
			if slices.ContainsFunc(c.tries, func(t *simTry) bool { return t.target == st.Target }) {
				witnesses++
			}
		}
		if st.Score > float64(witnesses) {
			w.problem("the breaker of %s has a score of %v by %d calls", st.Target, st.Score, witnesses)
		}
	}
	for i := range last.targets {
		name := last.targets[i].Name
		if wait := w.breakers.Wait(name); wait > 0 {
			virtual(wait)
		}
		permit, err := w.breakers.Allow(name)
		if err != nil {
			w.problem("the breaker of %s is stuck: %v", name, err)
		}
		permit.Settle(breaker.Outcome{Weight: policy.Neutral})
	}
	if err := last.chain.Close(context.Background()); err != nil {
		w.problem("closing: %v", err)
	}
	for _, key := range w.made {
		if w.shut[key] != 1 {
			w.problem("%s was closed %d times", key, w.shut[key])
		}
	}
	if _, err := last.chain.Generate(context.Background(), &llm.Request{}, nil); llm.KindOf(err) != llm.ErrInvalid {
		w.problem("a closed chain says %v", err)
	}
}

// checkTokens: the buckets hold what they should.
func (w *simWorld) checkTokens() {
	size := w.sc.RetryTokens
	spent, exact := w.spent()
	for _, st := range w.now().chain.Status() {
		switch {
		case size < 0:
			if st.Tokens != -1 {
				w.problem("%d tokens without a limit", st.Tokens)
			}
			continue
		case size == 0:
			size = 100
		}
		if st.Tokens < 0 || st.Tokens > size {
			w.problem("%s has %d tokens of %d", st.Target, st.Tokens, size)
		}
		if least := size - spent[st.Target]; exact && st.Tokens < least {
			w.problem("%s has %d tokens, %d at the least", st.Target, st.Tokens, least)
		}
	}
}

// spent is what the failed retries of each target have cost. It is exact when no breaker did anything, so that
// there was no last resort, and no trail is lost.
func (w *simWorld) spent() (spent map[string]int, exact bool) {
	spent = map[string]int{}
	exact = len(w.changes) == 0
	for _, c := range w.calls {
		r := w.rules(c)
		attempts, _, ok := c.trail()
		exact = exact && ok
		last := map[string]llm.Kind{}
		for i := range attempts {
			a := &attempts[i]
			before, again := last[a.Target]
			last[a.Target] = a.Kind
			switch {
			case a.Kind == "" || a.Kind == llm.ErrCanceled && (c.sinkErr != nil || c.Cancel == 0): // it answered, or it lost
			case r.overlaps(attempts, i):
				spent[a.Target] += policy.ResortCost
			case again && before == llm.ErrRateLimited:
				spent[a.Target] += 5
			case again:
				spent[a.Target] += 10
			}
		}
	}
	return spent, exact
}
