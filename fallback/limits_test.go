package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

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
