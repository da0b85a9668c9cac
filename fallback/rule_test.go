package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// The tests of this file are named after the rules of a call, in their order: see docs/design.md.

// TestRule1Total: the default is the limit of an attempt times the number of targets, two at the least and
// three at the most. It ends as a timeout: nobody set a deadline.
func TestRule1Total(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := llmtest.Hang()
		tests := []struct {
			name    string
			targets int
			caller  time.Duration // his deadline; 0: none
			request llm.Limits
			want    outcome
		}{
			{"one target", 1, 0, llm.Limits{}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@30s t0:timeout(total)@29s", took: 60 * s,
			}},
			{"two targets", 2, 0, llm.Limits{}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@30s t1:timeout(attempt)@30s", took: 60 * s,
			}},
			{"three targets", 3, 0, llm.Limits{}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@30s t1:timeout(attempt)@30s t2:timeout(attempt)@30s", took: 90 * s,
			}},
			{"four share the time of three", 4, 0, llm.Limits{}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@22.5s t1:timeout(attempt)@22.5s t2:timeout(attempt)@22.5s t3:timeout(total)@22.5s", took: 90 * s,
			}},
			{"a deadline beyond it does not lengthen it", 2, 600 * s, llm.Limits{}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@30s t1:timeout(attempt)@30s", took: 60 * s,
			}},
			{"a deadline before it shortens it", 2, 50 * s, llm.Limits{}, outcome{
				kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline,
				trail: "t0:timeout(attempt)@25s t1:deadline_exceeded(caller)@25s", took: 50 * s,
			}},
			{"a request's own", 2, 0, llm.Limits{Total: 100 * s}, outcome{
				kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal,
				trail: "t0:timeout(attempt)@30s t1:timeout(attempt)@30s t0:timeout(attempt)@30s t1:timeout(total)@10s", took: 100 * s,
			}},
		}
		for _, tt := range tests {
			var targets []fallback.Target
			for i := range tt.targets {
				targets = append(targets, target(fmt.Sprint("t", i), hang))
			}
			ctx := t.Context()
			if tt.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.caller)
				defer cancel()
			}
			req := triage()
			req.Limits = tt.request
			want(t, tt.name, ask(ctx, planned(t, exact(), targets...), req), tt.want)
		}
		_, err := planned(t, exact(), target("a", hang)).Generate(t.Context(), triage(), nil)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("our own total is told as the end of a context that has none: %v", err)
		}
	})
}

// limits are what the attempts of a trail were allowed, as "10s 20s".
func limits(attempts []llm.Attempt) string {
	words := make([]string, len(attempts))
	for i, a := range attempts {
		words[i] = a.Limit.String()
	}
	return strings.Join(words, " ")
}

// TestRule2AttemptLimit: the plan's limit, the target's, or an equal share of what is left, whichever is least.
func TestRule2AttemptLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := llmtest.Hang()
		bounded := func(name string, attempt time.Duration) fallback.Target {
			one := target(name, hang)
			one.Limits = llm.Limits{Attempt: attempt, Total: s, Tries: 1} // the latter two are ignored
			return one
		}
		tests := []struct {
			name    string
			caller  time.Duration
			request llm.Limits
			targets []fallback.Target
			limits  string
			trail   string // "": not looked at
		}{
			{"the plan's", 0, llm.Limits{}, []fallback.Target{target("a", hang), target("b", llmtest.Text("ok"))}, "30s 30s", "a:timeout(attempt)@30s b:answered@0s"},
			{"a target's own is shorter", 0, llm.Limits{}, []fallback.Target{bounded("a", 5*s), target("b", llmtest.Text("ok"))}, "5s 30s", ""},
			{"a target's own never lengthens", 0, llm.Limits{}, []fallback.Target{bounded("a", 50*s), target("b", llmtest.Text("ok"))}, "30s 30s", ""},
			{"a request's replaces the plan's, longer", 0, llm.Limits{Attempt: 50 * s, Total: 200 * s}, []fallback.Target{target("a", hang), target("b", llmtest.Text("ok"))}, "50s 50s", ""},
			{"a request's replaces the plan's, shorter", 0, llm.Limits{Attempt: 4 * s}, []fallback.Target{target("a", hang), target("b", llmtest.Text("ok"))}, "4s 4s", ""},
			{"an equal share under a deadline, recomputed each time", 30 * s, llm.Limits{}, []fallback.Target{
				target("a", fail(llm.ErrAuth)), target("b", hang), target("c", llmtest.Text("ok")),
			}, "10s 15s 15s", ""},
			{"what one leaves over is the others'", 30 * s, llm.Limits{}, []fallback.Target{
				target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrAuth}).After(4*s)), target("b", hang), target("c", llmtest.Text("ok")),
			}, "10s 13s 13s", ""},
			{"who hung counts no more", 40 * s, llm.Limits{}, []fallback.Target{target("a", hang), target("b", hang), target("c", hang)}, "13.333333333s 13.333333333s 13.333333334s", ""},
			{"who was tried more often does not count", 40 * s, llm.Limits{}, []fallback.Target{
				target("a", fail(llm.ErrUnavailable), llmtest.Text("no")), target("b", hang), target("c", llmtest.Text("ok")),
			}, "13.333333333s 20s 20s", "a:unavailable@0s b:timeout(attempt)@20s c:answered@0s"},
		}
		for _, tt := range tests {
			ctx := t.Context()
			if tt.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.caller)
				defer cancel()
			}
			req := triage()
			req.Limits = tt.request
			resp, err := planned(t, exact(), tt.targets...).Generate(ctx, req, nil)
			attempts := attemptsOf(resp, err)
			if got := limits(attempts); got != tt.limits {
				t.Errorf("%s: limits %s, want %s (%s)", tt.name, got, tt.limits, trail(attempts))
			}
			if got := trail(attempts); tt.trail != "" && got != tt.trail {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.trail)
			}
		}
	})
}

// TestRule2Minimum: where an equal share would be too short to be of use, fewer targets share.
func TestRule2Minimum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := exact()
		plan.Backoff.Base, plan.Backoff.Max = 15*s, 15*s
		failThenHang := []llmtest.Step{fail(llm.ErrUnavailable), llmtest.Hang()}
		c := planned(t, plan, target("a", failThenHang...), target("b", failThenHang...), target("c", failThenHang...))
		ctx, cancel := context.WithTimeout(t.Context(), 20*s)
		defer cancel()
		resp, err := c.Generate(ctx, triage(), nil)
		attempts := attemptsOf(resp, err)
		if got, want := limits(attempts), "6.666666666s 10s 20s 2.5s 2.5s"; got != want { // of the 5 s that are left
			t.Errorf("limits %s, want %s (%s)", got, want, trail(attempts))
		}
	})
}

// attemptsOf is the trail of a call, however it ended.
func attemptsOf(resp *llm.Response, err error) []llm.Attempt {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Attempts
	}
	return resp.Attempts
}

// TestRule3NothingThatCannotFinishUsefully: a sleep only if it leaves the minimum, and no attempt below it.
func TestRule3NothingThatCannotFinishUsefully(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(llm.ErrUnavailable)
		slow := func(d time.Duration) llmtest.Step { return down.After(d) }
		tests := []struct {
			name          string
			caller, total time.Duration
			execution     bool // the caller's deadline is that of an execution
			backoff       time.Duration
			steps         []llmtest.Step
			want          outcome
		}{
			{"a wait that just fits", 20 * s, 0, false, 18 * s, []llmtest.Step{down, llmtest.Text("ok")}, outcome{text: "ok", trail: "a:unavailable@0s a:answered@0s", took: 18 * s}},
			{"a wait that just does not", 20 * s, 0, false, 18*s + 1, []llmtest.Step{down}, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@0s",
			}},
			{"nor within the total", 0, 20 * s, false, 18*s + 1, []llmtest.Step{down}, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopTotal, trail: "a:unavailable@0s",
			}},
			{"nor within the execution", 20 * s, 0, true, 18*s + 1, []llmtest.Step{down}, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@0s",
			}},
			{"the minimum of a short call is a tenth", 5 * s, 0, false, 4500 * time.Millisecond, []llmtest.Step{down, llmtest.Text("ok")}, outcome{
				text: "ok", trail: "a:unavailable@0s a:answered@0s", took: 4500 * time.Millisecond,
			}},
			{"and no less", 5 * s, 0, false, 4501 * time.Millisecond, []llmtest.Step{down}, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@0s",
			}},
			{"the minimum of a short total, too", 0, 5 * s, false, 4500 * time.Millisecond, []llmtest.Step{down, llmtest.Text("ok")}, outcome{
				text: "ok", trail: "a:unavailable@0s a:answered@0s", took: 4500 * time.Millisecond,
			}},
			{"no attempt below the minimum", 20 * s, 0, false, s, []llmtest.Step{slow(19 * s)}, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@19s", took: 19 * s,
			}},
		}
		for _, tt := range tests {
			plan := exact()
			plan.Backoff.Base, plan.Backoff.Max = tt.backoff, tt.backoff
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			switch {
			case tt.execution:
				ctx, cancel = deadline.With(ctx, tt.caller, nil)
			case tt.caller > 0:
				ctx, cancel = context.WithTimeout(ctx, tt.caller)
			}
			req := triage()
			req.Limits.Total = tt.total
			want(t, tt.name, ask(ctx, planned(t, plan, target("a", tt.steps...)), req), tt.want)
			cancel()
		}
	})
}

// TestRule4ExecutionDeadline: below the floor of the execution nothing is started.
func TestRule4ExecutionDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 100*s, nil) // the floor is 5 s
		defer cancel()
		one := target("a", llmtest.Text("ok").Times(2), fail(llm.ErrUnavailable).After(s), llmtest.Text("never"))
		c := planned(t, exact(), one)
		time.Sleep(95 * s)
		want(t, "at the floor", ask(ctx, c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		time.Sleep(time.Nanosecond)
		sent := asked(one)
		_, err := c.Generate(ctx, triage(), nil)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != llm.ErrDeadlineExceeded || e.Code != "EXECUTION_DEADLINE_EXCEEDED" || e.Bound != llm.BoundExecution ||
			e.Stopped != llm.StopDeadline || !e.NotSent || len(e.Attempts) != 0 || e.Operation != llm.Triage {
			t.Errorf("below the floor: %+v", e)
		}
		if x, ok := errors.AsType[*deadline.ExceededError](err); !ok || x.Total != 100*s || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the execution's own error is out of reach: %v", err)
		}
		if asked(one) != sent {
			t.Error("a request was sent")
		}
		if _, err := c.Generate(ctx, &llm.Request{Route: llm.Route{Only: []string{"nobody"}}}, nil); llm.KindOf(err) != llm.ErrDeadlineExceeded {
			t.Errorf("what is wrong with the request matters no more: %v", err)
		}
	})
}

// TestRule4TheLoopStops: an execution that falls below its floor while a call runs lets it try no more.
func TestRule4TheLoopStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, nil) // the floor is 5 s
		defer cancel()
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable).After(6*s)), target("b", llmtest.Text("never")))
		time.Sleep(54 * s)
		req := triage()
		req.Route.Only = []string{"a"}
		want(t, "stopped", ask(ctx, c, req), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, trail: "a:deadline_exceeded(execution)@6s", took: 6 * s,
		})
	})
}

// TestRule4AFailureIsToldAndNotTheFloor: what went wrong is worth more than that there was no time to go on.
func TestRule4AFailureIsToldAndNotTheFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, nil)
		defer cancel()
		next := target("b", llmtest.Text("never"))
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable).After(2*s)), next)
		time.Sleep(54 * s)
		want(t, "stopped", ask(ctx, c, triage()), outcome{
			kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@2s", skipped: "b:no_time", took: 2 * s,
		})
		if asked(next) != 0 {
			t.Error("a request was sent below the floor")
		}
	})
}

// TestRule4TheCallersDeadlineIsHisOwn: within an execution a caller may have a deadline that ends sooner.
func TestRule4TheCallersDeadlineIsHisOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", llmtest.Hang()))
		execution, end := deadline.With(t.Context(), 20*s, nil)
		defer end()
		caller, cancel := context.WithTimeout(execution, 7*s)
		defer cancel()
		want(t, "the caller's", ask(caller, c, triage()), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline, trail: "a:deadline_exceeded(caller)@7s", took: 7 * s,
		})
		want(t, "the execution's", ask(execution, c, triage()), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, trail: "a:deadline_exceeded(execution)@13s", took: 13 * s,
		})
		another, endOther := deadline.With(t.Context(), 20*s, nil)
		defer endOther()
		gone, leave := context.WithCancel(another)
		leave()
		want(t, "a caller who has gone", ask(gone, c, triage()), outcome{kind: llm.ErrCanceled, stopped: llm.StopFinal})
	})
}

// TestRule5BackOff: the waits of one target, and whom they do not bind.
func TestRule5BackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(llm.ErrUnavailable)
		tests := []struct {
			name  string
			plan  func(*policy.Plan)
			steps []llmtest.Step
			waits string
		}{
			{"twice as long each time", nil, []llmtest.Step{down.Times(3), llmtest.Text("ok")}, "0s 1s 2s 4s"},
			{"three retries by default", nil, []llmtest.Step{down}, "0s 1s 2s 4s"},
			{"as many retries as the plan says", func(p *policy.Plan) { p.MaxRetries = 5 }, []llmtest.Step{down}, "0s 1s 2s 4s 8s 10s"},
			{"none", func(p *policy.Plan) { p.MaxRetries = policy.NoRetries }, []llmtest.Step{down}, "0s"},
			{"a base and a longest of its own", func(p *policy.Plan) { p.Backoff.Base, p.Backoff.Max = 3*s, 5*s }, []llmtest.Step{down}, "0s 3s 5s 5s"},
			{"the time of the attempts is not part of them", nil, []llmtest.Step{down.After(7 * s).Times(2), llmtest.Text("ok")}, "0s 1s 2s"},
			{"not again, says the server", nil, []llmtest.Step{llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, NoRetry: true})}, "0s"},
		}
		for _, tt := range tests {
			plan := exact()
			if tt.plan != nil {
				tt.plan(&plan)
			}
			resp, err := planned(t, plan, target("a", tt.steps...)).Generate(t.Context(), triage(), nil)
			if got := waits(attemptsOf(resp, err)); got != tt.waits {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.waits)
			}
		}
	})
}

// TestRule5Jitter: by default ±25 %, drawn anew each time.
func TestRule5Jitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 50 {
			resp, err := chain(t, target("a", fail(llm.ErrUnavailable), llmtest.Text("ok"))).Generate(t.Context(), triage(), nil)
			if err != nil {
				t.Fatal(err)
			}
			wait := resp.Attempts[1].Wait
			if wait < 750*time.Millisecond || wait > 1250*time.Millisecond {
				t.Errorf("waited %v", wait)
			}
			seen[wait] = true
		}
		if len(seen) < 25 {
			t.Errorf("fifty draws gave %d waits", len(seen))
		}
	})
}

// TestRule5ServerWait: what the server asks for is a floor, and binds the one target that asks.
func TestRule5ServerWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func(wait time.Duration) llmtest.Step {
			return llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503, RetryAfter: wait})
		}
		for range 20 {
			resp, err := planned(t, exact(), target("a", busy(12*s), llmtest.Text("ok"))).Generate(t.Context(), triage(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if wait := resp.Attempts[1].Wait; wait < 12*s || wait > 18*s {
				t.Errorf("12s asked for, %v waited", wait)
			}
		}
		want(t, "the next target is asked at once",
			ask(t.Context(), planned(t, exact(), target("a", busy(12*s)), target("b", llmtest.Text("ok"))), triage()),
			outcome{text: "ok", trail: "a:unavailable@0s b:answered@0s"})

		req := triage()
		req.Limits.Total = 600 * s
		c := planned(t, exact(), target("a", busy(61*s)), target("b", fail(llm.ErrUnavailable), llmtest.Text("ok")))
		want(t, "over a minute it is left alone, and the call goes on", ask(t.Context(), c, req),
			outcome{text: "ok", trail: "a:unavailable@0s b:unavailable@0s b:answered@0s", took: s})
		if st := status(t, c, "a"); st.Cooled != llm.ErrUnavailable || time.Until(st.CooledUntil) != 60*s {
			t.Errorf("left alone until %v for %q", time.Until(st.CooledUntil), st.Cooled)
		}
		want(t, "by other calls, too", ask(t.Context(), c, req), outcome{text: "ok", trail: "b:answered@0s", skipped: "a:cooling"})

		ctx, cancel := context.WithTimeout(t.Context(), 20*s)
		defer cancel()
		c = planned(t, exact(), target("a", busy(30*s)))
		_, err := c.Generate(ctx, triage(), nil)
		e, _ := errors.AsType[*llm.Error](err)
		if e == nil || e.Kind != llm.ErrUnavailable || e.RetryAfter != 30*s || len(e.Attempts) != 1 {
			t.Errorf("a wait over what is left is not waited: %+v", err)
		}
		if st := status(t, c, "a"); time.Until(st.CooledUntil) != 30*s {
			t.Errorf("left alone for %v", time.Until(st.CooledUntil))
		}
	})
}

// TestRule6ReserveIsUsedOnlyWhenNoOtherIsUsable: who hung or throttled is asked again only then.
func TestRule6ReserveIsUsedOnlyWhenNoOtherIsUsable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down, hang, limited := fail(llm.ErrUnavailable), llmtest.Hang(), fail(llm.ErrRateLimited)
		req := func() *llm.Request {
			r := triage()
			r.Limits.Total = 300 * s
			return r
		}
		tests := []struct {
			name    string
			targets []fallback.Target
			want    outcome
		}{
			{"one that hung waits for all tries of the other", []fallback.Target{target("a", hang, llmtest.Text("late")), target("b", down.Times(3), llmtest.Text("ok"))}, outcome{
				text: "ok", trail: "a:timeout(attempt)@30s b:unavailable@0s b:unavailable@0s b:unavailable@0s b:answered@0s", took: 37 * s,
			}},
			{"one that throttled, too", []fallback.Target{target("a", limited, llmtest.Text("late")), target("b", down.Times(3), llmtest.Text("ok"))}, outcome{
				text: "ok", trail: "a:rate_limited@0s b:unavailable@0s b:unavailable@0s b:unavailable@0s b:answered@0s", took: 7 * s,
			}},
			{"it is used once the other is dead", []fallback.Target{target("a", hang, llmtest.Text("ok")), target("b", fail(llm.ErrAuth))}, outcome{
				text: "ok", trail: "a:timeout(attempt)@30s b:auth@0s a:answered@0s", took: 31 * s,
			}},
			{"or has spent its tries", []fallback.Target{target("a", hang, llmtest.Text("ok")), target("b", down)}, outcome{
				text: "ok", trail: "a:timeout(attempt)@30s b:unavailable@0s b:unavailable@0s b:unavailable@0s b:unavailable@0s a:answered@0s", took: 37 * s,
			}},
			{"with one target it is plain retry", []fallback.Target{target("a", hang, limited, llmtest.Text("ok"))}, outcome{
				text: "ok", trail: "a:timeout(attempt)@30s a:rate_limited@0s a:answered@0s", took: 33 * s,
			}},
			{"of two in reserve the ready one", []fallback.Target{target("a", limited, llmtest.Text("ok")), target("b", hang)}, outcome{
				text: "ok", trail: "a:rate_limited@0s b:timeout(attempt)@30s a:answered@0s", took: 30 * s,
			}},
		}
		for _, tt := range tests {
			want(t, tt.name, ask(t.Context(), planned(t, exact(), tt.targets...), req()), tt.want)
		}
	})
}

// TestRule7RetryTokens: a retry on the same target costs tokens, a hand-over none.
func TestRule7RetryTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down, limited := fail(llm.ErrUnavailable), fail(llm.ErrRateLimited)
		tests := []struct {
			name   string
			size   int
			steps  []llmtest.Step
			next   bool // there is another target
			tokens int  // of a, at the end
			want   outcome
		}{
			{"the bucket pays for two retries", 20, []llmtest.Step{down}, false, 0, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopRetryTokens, trail: "a:unavailable@0s a:unavailable@0s a:unavailable@0s", skipped: "a:no_tokens", took: 3 * s,
			}},
			{"after throttling for twice as many", 15, []llmtest.Step{limited}, false, 0, outcome{
				kind: llm.ErrRateLimited, stopped: llm.StopTries, trail: "a:rate_limited@0s a:rate_limited@0s a:rate_limited@0s a:rate_limited@0s", took: 7 * s,
			}},
			{"a retry that succeeds has cost nothing", 20, []llmtest.Step{down, llmtest.Text("ok")}, false, 20, outcome{
				text: "ok", trail: "a:unavailable@0s a:answered@0s", took: s,
			}},
			{"one that failed before it has", 25, []llmtest.Step{down, down, llmtest.Text("ok")}, false, 15, outcome{
				text: "ok", trail: "a:unavailable@0s a:unavailable@0s a:answered@0s", took: 3 * s,
			}},
			{"a hand-over costs nothing", 5, []llmtest.Step{down}, true, 5, outcome{
				text: "ok", trail: "a:unavailable@0s b:answered@0s",
			}},
			{"no limit", -1, []llmtest.Step{down.Times(3), llmtest.Text("ok")}, false, -1, outcome{
				text: "ok", trail: "a:unavailable@0s a:unavailable@0s a:unavailable@0s a:answered@0s", took: 7 * s,
			}},
			{"no tokens, no retry", 9, []llmtest.Step{down}, false, 9, outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopRetryTokens, trail: "a:unavailable@0s", skipped: "a:no_tokens",
			}},
		}
		for _, tt := range tests {
			targets := []fallback.Target{target("a", tt.steps...)}
			if tt.next {
				targets = append(targets, target("b", llmtest.Text("ok")))
			}
			c := opened(t, &fallback.Options{RetryTokens: tt.size, Plans: policy.Plans{Default: exact()}}, targets...)
			want(t, tt.name, ask(t.Context(), c, triage()), tt.want)
			if got := status(t, c, "a").Tokens; got != tt.tokens {
				t.Errorf("%s: %d tokens left, want %d", tt.name, got, tt.tokens)
			}
		}
	})
}

// TestRule7TokensComeBack: each first try that succeeds puts one back, and what was taken for a retry that
// never came goes back whole.
func TestRule7TokensComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(llm.ErrUnavailable)
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, RetryTokens: 50}, target("a", down.Times(2), llmtest.Text("ok")))
		for _, tokens := range []int{40, 41, 42} { // the second failure's 10 are spent
			if _, err := c.Generate(t.Context(), triage(), nil); err != nil {
				t.Fatal(err)
			}
			if got := status(t, c, "a").Tokens; got != tokens {
				t.Errorf("%d tokens, want %d", got, tokens)
			}
		}
		c = opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, RetryTokens: 50}, target("a", down))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, func() {
			if got := status(t, c, "a").Tokens; got != 40 {
				t.Errorf("while it waits for its retry it has %d tokens, want 40", got)
			}
			cancel()
		})
		if o := ask(ctx, c, triage()); o.kind != llm.ErrCanceled || o.took != 500*time.Millisecond {
			t.Errorf("%v", o)
		}
		if got := status(t, c, "a").Tokens; got != 50 {
			t.Errorf("a retry that never came keeps %d tokens", 50-got)
		}
	})
}

// TestRule7InAnOutageRetriesEnd: the bucket is shared by all calls, so they end by themselves.
func TestRule7InAnOutageRetriesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := target("a", fail(llm.ErrUnavailable))
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, Breakers: breaker.NewSet(&breaker.Options{Threshold: 1000})}, one)
		for range 100 {
			ask(t.Context(), c, triage())
		}
		if got := asked(one); got != 110 { // a hundred first tries, and what a hundred tokens pay for
			t.Errorf("%d requests in a hundred calls, want 110", got)
		}
	})
}

// TestRule8LastResort: see resort_test.go for the rest.
func TestRule8LastResort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		trip(t, set, "b")
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, Breakers: set}, target("a", llmtest.Text("ok")), target("b", llmtest.Text("b")))
		want(t, "all open", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		if st := set.Status("a"); st.State != breaker.Open {
			t.Errorf("a call without a permit has moved the breaker to %s", st.State)
		}
		one := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, Breakers: set}, target("a", llmtest.Text("ok")))
		want(t, "a plan with one target has none", ask(t.Context(), one, triage()), outcome{kind: llm.ErrCircuitOpen, stopped: llm.StopTargets, skipped: "a:open"})
	})
}

// TestRule9OneCallIsOneWitness: its retries are neutral, so a poison request opens nothing.
func TestRule9OneCallIsOneWitness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable)), target("b", fail(llm.ErrUnavailable)), target("c", fail(llm.ErrUnavailable)))
		for call := 1; call <= 3; call++ {
			o := ask(t.Context(), c, triage())
			if o.kind != llm.ErrUnavailable || call < 3 && strings.Count(o.trail, "unavailable") != 12 {
				t.Errorf("call %d: %v", call, o)
			}
			for _, st := range c.Status() {
				state := breaker.Closed
				if call == 3 {
					state = breaker.Open
				}
				if st.Score != float64(call) || st.State != state {
					t.Errorf("after %d poisoned calls %s has a score of %v and is %s", call, st.Target, st.Score, st.State)
				}
			}
		}
	})
}

// TestRule9ASuccessIsHeard: a call that failed and then succeeded on the same target leaves it in good health.
func TestRule9ASuccessIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable).Times(3), llmtest.Text("ok")))
		want(t, "the fourth try", ask(t.Context(), c, triage()), outcome{
			text: "ok", trail: "a:unavailable@0s a:unavailable@0s a:unavailable@0s a:answered@0s", took: 7 * s,
		})
		if st := status(t, c, "a"); st.Score != 0 || st.State != breaker.Closed {
			t.Errorf("score %v, %s", st.Score, st.State)
		}
	})
}

// TestRule10Emergency: no retries and no hedges, while fallback stays.
func TestRule10Emergency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(llm.ErrUnavailable)
		plan := exact()
		plan.Hedge = policy.Hedge{After: s, Share: 1}
		second := target("b", llmtest.Text("ok").After(5*s))
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: plan}, Emergency: true}, target("a", down), second)
		want(t, "fallback stays", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:unavailable@0s b:answered@5s", took: 5 * s})
		only := triage()
		only.Route.Only = []string{"a"}
		want(t, "no retries", ask(t.Context(), c, only), outcome{kind: llm.ErrUnavailable, stopped: llm.StopEmergency, trail: "a:unavailable@0s"})
		c = opened(t, &fallback.Options{Plans: policy.Plans{Default: plan}, Emergency: true}, target("a", llmtest.Text("slow").After(20*s)), target("b", llmtest.Text("fast")))
		want(t, "no hedges", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
		c.SetEmergency(false)
		want(t, "until it is over", ask(t.Context(), c, triage()), outcome{text: "fast", trail: "a:canceled@1s b:answered@0s", took: s})
		c.SetEmergency(true)
		want(t, "and again", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
	})
}

// TestRule11PerTargetSettings: what a target cannot carry it is not sent, and that weighs nothing.
func TestRule11PerTargetSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small := target("small", llmtest.Text("no"))
		small.Can = llm.Capabilities{ContextWindow: 100, MaxOutput: 50}
		tests := []struct {
			name  string
			first fallback.Target
			req   func(*llm.Request)
			want  outcome
		}{
			{"too long for its window", small, func(r *llm.Request) { r.System = strings.Repeat("word ", 1000) }, outcome{text: "ok", trail: "b:answered@0s", skipped: "small:unsupported"}},
			{"more output than it has", small, func(r *llm.Request) { r.MaxTokens = 51 }, outcome{text: "ok", trail: "b:answered@0s", skipped: "small:unsupported"}},
			{"as much as it has", small, func(r *llm.Request) { r.MaxTokens = 50 }, outcome{text: "no", trail: "small:answered@0s"}},
			{"a guess refuses nothing that might fit", small, func(r *llm.Request) { r.System = strings.Repeat("word ", 150) }, outcome{text: "no", trail: "small:answered@0s"}},
			{"the target itself says so", target("a", fail(llm.ErrUnsupported)), func(*llm.Request) {}, outcome{text: "ok", trail: "a:unsupported@0s b:answered@0s"}},
		}
		for _, tt := range tests {
			req := triage()
			tt.req(req)
			c := planned(t, exact(), tt.first, target("b", llmtest.Text("ok")))
			want(t, tt.name, ask(t.Context(), c, req), tt.want)
			if st := status(t, c, tt.first.Name); st.Score != 0 || !st.CooledUntil.IsZero() {
				t.Errorf("%s: score %v, left alone until %v", tt.name, st.Score, st.CooledUntil)
			}
		}
	})
}

// TestRule12FinalKind: the last attempt's, but what can never work does not hide what may work later.
func TestRule12FinalKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tests := []struct {
			first, last, want llm.Kind
		}{
			{llm.ErrUnavailable, llm.ErrRateLimited, llm.ErrRateLimited},
			{llm.ErrRateLimited, llm.ErrUnavailable, llm.ErrUnavailable},
			{llm.ErrUnavailable, llm.ErrAuth, llm.ErrUnavailable},
			{llm.ErrTimeout, llm.ErrNotFound, llm.ErrTimeout},
			{llm.ErrRateLimited, llm.ErrUnsupported, llm.ErrRateLimited},
			{llm.ErrConnection, llm.ErrCircuitOpen, llm.ErrConnection}, // of a chain within
			{llm.ErrBadOutput, llm.ErrAuth, llm.ErrBadOutput},
			{llm.ErrInterrupted, llm.ErrAuth, llm.ErrInterrupted},
			{llm.ErrAuth, llm.ErrUnavailable, llm.ErrUnavailable},
			{llm.ErrAuth, llm.ErrNotFound, llm.ErrNotFound},
			{llm.ErrUnknown, llm.ErrAuth, llm.ErrAuth},
			{llm.ErrUnavailable, llm.ErrInvalid, llm.ErrInvalid},
			{llm.ErrUnavailable, llm.ErrContentFiltered, llm.ErrContentFiltered},
			{llm.ErrUnavailable, llm.ErrQuotaExceeded, llm.ErrQuotaExceeded},
			{llm.ErrUnavailable, llm.ErrContextTooLong, llm.ErrContextTooLong},
			{llm.ErrUnavailable, llm.ErrUnknown, llm.ErrUnknown},
		}
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		for _, tt := range tests {
			o := ask(t.Context(), planned(t, plan, target("a", fail(tt.first)), target("b", fail(tt.last))), triage())
			if o.kind != tt.want {
				t.Errorf("%s, then %s: %v, want %s", tt.first, tt.last, o, tt.want)
			}
		}
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable)))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel) // in the wait for the retry
		want(t, "the caller leaves", ask(ctx, c, triage()), outcome{kind: llm.ErrCanceled, stopped: llm.StopFinal, trail: "a:unavailable@0s", took: 500 * time.Millisecond})
	})
}

// TestRule13ForeignGenerators: code that nobody has tested is left behind at its limit.
func TestRule13ForeignGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			time.Sleep(300 * s)
			if sink != nil {
				return nil, sink(llm.Event{Kind: llm.EventText, Delta: "late"})
			}
			return nil, errors.New("late")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 40*s)
		defer cancel()
		c := planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf}, target("b", llmtest.Hang()))
		want(t, "unary", ask(ctx, c, triage()), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline,
			trail: "deaf:timeout(attempt)@20s b:deadline_exceeded(caller)@20s", took: 40 * s,
		})
		c = planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf}, target("b", llmtest.Text("ok")))
		want(t, "streamed", read(t.Context(), c, triage()), outcome{text: "ok", trail: "deaf:timeout(attempt)@30s b:answered@0s", took: 30 * s})
		c = planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf, Prompt: true}, target("b", llmtest.Text("ok")))
		want(t, "one that lies about being prompt holds the call", ask(t.Context(), c, triage()), outcome{
			kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal, trail: "deaf:timeout(attempt)@5m0s", skipped: "b:no_time", took: 300 * s,
		})
		time.Sleep(300 * s) // until those who were left behind have ended
	})
}

// TestRule14Accept: answers are judged inside the loop, where something can still be done about them.
func TestRule14Accept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		length := &llm.Response{Finish: llm.FinishLength}
		call := llmtest.Calls(llm.ToolCall{Name: "weather"})
		yes := func(r *llm.Request) {
			r.Accept = func(resp *llm.Response) error {
				if resp.Text() != "yes" {
					return errors.New("not yes")
				}
				return nil
			}
		}
		object := func(r *llm.Request) { r.Output = &llm.Schema{} }
		tests := []struct {
			name  string
			steps []llmtest.Step // of a
			req   func(*llm.Request)
			want  outcome
		}{
			{"not accepted, and the next is", []llmtest.Step{llmtest.Text("no")}, yes, outcome{text: "yes", trail: "a:bad_output@0s b:answered@0s"}},
			{"no JSON", []llmtest.Step{llmtest.Text("{")}, object, outcome{kind: llm.ErrBadOutput, stopped: llm.StopTargets, trail: "a:bad_output@0s b:bad_output@0s a:bad_output@0s b:bad_output@0s", took: s}},
			{"JSON", []llmtest.Step{llmtest.Text("[1]")}, object, outcome{text: "[1]", trail: "a:answered@0s"}},
			{"a tool call is no output", []llmtest.Step{call}, object, outcome{trail: "a:answered@0s"}},
			{"empty", []llmtest.Step{llmtest.Respond(&llm.Response{})}, func(*llm.Request) {}, outcome{text: "yes", trail: "a:bad_output@0s b:answered@0s"}},
			{"empty for want of length", []llmtest.Step{llmtest.Respond(length)}, func(*llm.Request) {}, outcome{trail: "a:answered@0s"}},
		}
		for _, tt := range tests {
			req := triage()
			tt.req(req)
			want(t, tt.name, ask(t.Context(), planned(t, exact(), target("a", tt.steps...), target("b", llmtest.Text("yes"))), req), tt.want)
		}
		req := triage()
		yes(req)
		c := planned(t, exact(), target("a", llmtest.Text("no"), llmtest.Text("yes")))
		want(t, "asked once more", ask(t.Context(), c, req), outcome{text: "yes", trail: "a:bad_output@0s a:answered@0s", took: s})
		mine := errors.New("not mine")
		req.Accept = func(*llm.Response) error { return mine }
		_, err := c.Generate(t.Context(), req, nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != "not_accepted" || !errors.Is(err, mine) {
			t.Errorf("why it was not accepted is not told: %v", err)
		}
	})
}

// TestRule15Order: see route_test.go for the rest.
func TestRule15Order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		by := func(author string) func(*llm.Request) {
			return func(r *llm.Request) {
				r.Messages = append(r.Messages, llm.Message{
					Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "yes"}}, From: llm.ModelRef{Provider: "fake", Model: "model-" + author},
				}, llm.User("why?"))
			}
		}
		down := fail(llm.ErrUnavailable)
		tests := []struct {
			name string
			plan []string
			req  func(*llm.Request)
			want string // the order in which targets are asked
		}{
			{"the chain's", nil, func(*llm.Request) {}, "a b c"},
			{"the plan's", []string{"c", "a"}, func(*llm.Request) {}, "c a"},
			{"Route.Only, in its own order", []string{"c", "a"}, func(r *llm.Request) { r.Route.Only = []string{"b", "a"} }, "b a"},
			{"Route.Prefer", nil, func(r *llm.Request) { r.Route.Prefer = "b" }, "b a c"},
			{"Route.Prefer within Route.Only", nil, func(r *llm.Request) { r.Route.Only, r.Route.Prefer = []string{"a", "b"}, "b" }, "b a"},
			{"Route.Prefer outside of it", nil, func(r *llm.Request) { r.Route.Only, r.Route.Prefer = []string{"a", "b"}, "c" }, "a b"},
			{"who wrote the last message", nil, by("c"), "c a b"},
			{"unless somebody is preferred", nil, func(r *llm.Request) { by("c")(r); r.Route.Prefer = "b" }, "b a c"},
			{"nor in Route.Only", nil, func(r *llm.Request) { by("c")(r); r.Route.Only = []string{"a", "c"} }, "a c"},
			{"the last of those who wrote", nil, func(r *llm.Request) { by("b")(r); by("c")(r) }, "c a b"},
			{"a stranger wrote the last one", nil, func(r *llm.Request) { by("c")(r); by("stranger")(r) }, "a b c"},
			{"nobody says who wrote the last one", nil, func(r *llm.Request) {
				by("c")(r)
				r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "so"}}}, llm.User("why?"))
			}, "c a b"},
		}
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		for _, tt := range tests {
			plan.Targets = tt.plan
			req := triage()
			tt.req(req)
			_, err := planned(t, plan, target("a", down), target("b", down), target("c", down)).Generate(t.Context(), req, nil)
			var order []string
			for _, a := range attemptsOf(nil, err) {
				order = append(order, a.Target)
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
}
