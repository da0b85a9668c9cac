package fallback_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// score settles failures of that weight on a breaker.
func score(t *testing.T, set *breaker.Set, name string, weights ...float64) {
	t.Helper()
	for _, w := range weights {
		permit, err := set.Allow(name)
		if err != nil {
			t.Fatal(err)
		}
		permit.Settle(breaker.Outcome{Weight: w})
	}
}

// TestLastResort: one call without a permit when every target is refused.
func TestLastResort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ok, down := llmtest.Text("ok"), fail(llm.ErrUnavailable)
		tests := []struct {
			name  string
			steps [3]llmtest.Step // of a, b and c
			set   func(*breaker.Set)
			plan  func(*policy.Plan)
			want  outcome
		}{
			{"the lowest score is asked", [3]llmtest.Step{ok, ok, ok}, func(set *breaker.Set) {
				score(t, set, "a", 1, 1, 1)
				score(t, set, "b", 0.5, 0.5, 1, 0.5, 0.5)
				score(t, set, "c", 0.5, 0.9, 0.9, 0.9)
			}, nil, outcome{text: "ok", trail: "a:answered@0s"}},
			{"of another order", [3]llmtest.Step{ok, ok, ok}, func(set *breaker.Set) {
				score(t, set, "a", 0.9, 0.9, 0.9, 0.9)
				score(t, set, "b", 1, 1, 1)
				score(t, set, "c", 0.7, 0.7, 0.7, 0.7, 0.7)
			}, nil, outcome{text: "ok", trail: "b:answered@0s", skipped: "a:open"}},
			{"one only", [3]llmtest.Step{down, ok, ok}, func(set *breaker.Set) {
				for _, name := range []string{"a", "b", "c"} {
					trip(t, set, name)
				}
			}, nil, outcome{kind: llm.ErrUnavailable, stopped: llm.StopTargets, trail: "a:unavailable@0s", skipped: "b:open c:open"}},
			{"not while another is usable", [3]llmtest.Step{ok, ok, ok}, func(set *breaker.Set) {
				trip(t, set, "a")
				trip(t, set, "b")
			}, nil, outcome{text: "ok", trail: "c:answered@0s", skipped: "a:open b:open"}},
			{"not while another can be waited for", [3]llmtest.Step{ok, ok, down}, func(set *breaker.Set) {
				trip(t, set, "a")
				trip(t, set, "b")
			}, nil, outcome{text: "ok", trail: "c:unavailable@0s c:unavailable@0s c:unavailable@0s c:unavailable@0s a:answered@0s", skipped: "a:open b:open", took: 7 * s}},
			{"not if the plan says no", [3]llmtest.Step{ok, ok, ok}, func(set *breaker.Set) {
				for _, name := range []string{"a", "b", "c"} {
					trip(t, set, name)
				}
			}, func(p *policy.Plan) { p.NoLastResort = true }, outcome{kind: llm.ErrCircuitOpen, stopped: llm.StopTargets, skipped: "a:open b:open c:open"}},
			{"after a failure that ends the other", [3]llmtest.Step{fail(llm.ErrAuth), ok, ok}, func(set *breaker.Set) {
				trip(t, set, "b")
				trip(t, set, "c")
			}, nil, outcome{text: "ok", trail: "a:auth@0s b:answered@0s"}},
		}
		for _, tt := range tests {
			set := breaker.NewSet(nil)
			tt.set(set)
			plan := exact()
			if tt.plan != nil {
				tt.plan(&plan)
			}
			c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: plan}},
				target("a", tt.steps[0]), target("b", tt.steps[1]), target("c", tt.steps[2]))
			want(t, tt.name, ask(t.Context(), c, triage()), tt.want)
		}
	})
}

// TestLastResortIsNotForWhoWasTried: a target that this call has opened itself is no last resort.
func TestLastResortIsNotForWhoWasTried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		score(t, set, "a", 1, 1)
		score(t, set, "b", 1, 1)
		c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: exact()}}, target("a", fail(llm.ErrUnavailable)), target("b", fail(llm.ErrUnavailable)))
		want(t, "both open in this call", ask(t.Context(), c, triage()), outcome{
			kind: llm.ErrUnavailable, stopped: llm.StopTargets, trail: "a:unavailable@0s b:unavailable@0s",
		})
	})
}

// TestLastResortWhileAProbeIsOut: half open with its one probe out is refused, too, and may be asked.
func TestLastResortWhileAProbeIsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		time.Sleep(331 * s)
		trip(t, set, "b")
		probe, err := set.Allow("a")
		if err != nil {
			t.Fatal(err)
		}
		c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: exact()}}, target("a", llmtest.Text("ok")), target("b", llmtest.Text("b")))
		want(t, "probing", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		if st := set.Status("a"); st.State != breaker.HalfOpen {
			t.Errorf("it has settled another's probe: %s", st.State)
		}
		probe.Settle(breaker.Outcome{})
	})
}

// TestLastResortThatAnswersClosesItsBreaker, as a probe that answers does; one that fails changes nothing.
func TestLastResortThatAnswersClosesItsBreaker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		steps  []llmtest.Step // of a
		stream bool
		state  breaker.State
		score  float64
	}{
		{"an answer", []llmtest.Step{llmtest.Text("ok")}, false, breaker.Closed, 0},
		{"a streamed answer", []llmtest.Step{llmtest.Text("ok")}, true, breaker.Closed, 0},
		{"words that show it alive", []llmtest.Step{fail(llm.ErrInvalid), llmtest.Text("ok")}, false, breaker.Closed, 0},
		{"a failure", []llmtest.Step{fail(llm.ErrUnavailable), llmtest.Text("ok")}, false, breaker.Open, 3},
		{"a failure of the wire", []llmtest.Step{fail(llm.ErrConnection), llmtest.Text("ok")}, false, breaker.Open, 3},
		{"a hang", []llmtest.Step{llmtest.Hang(), llmtest.Text("ok")}, false, breaker.Open, 3},
		{"a throttled one", []llmtest.Step{fail(llm.ErrRateLimited), llmtest.Text("ok")}, false, breaker.Open, 3},
		{"half an answer", []llmtest.Step{llmtest.Cut("ok"), llmtest.Text("ok")}, true, breaker.Open, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told []breaker.State
				set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
					if c.Name == "a" {
						told = append(told, c.To)
					}
				}})
				score(t, set, "b", 0.9, 0.9, 0.9, 0.9)
				trip(t, set, "a")
				time.Sleep(s)
				c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: exact()}},
					target("a", tt.steps...), target("b", llmtest.Text("b")))
				way := ask
				if tt.stream {
					way = read
				}
				way(t.Context(), c, triage())
				if st := status(t, c, "a"); st.State != tt.state || st.Score != tt.score || st.OpenUntil.IsZero() != (tt.state == breaker.Closed) {
					t.Errorf("%+v, want %s with a score of %g", st, tt.state, tt.score)
				}
				if n := len(told); (n == 3) != (tt.state == breaker.Closed) {
					t.Errorf("told %v", told)
				}
				if tt.state == breaker.Closed {
					want(t, "the next call", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
				}
				if st := set.Status("b"); st.State != breaker.Open {
					t.Errorf("the breaker of b is %s", st.State)
				}
			})
		})
	}
}

// TestLastResortPaysWithTokens: so that in an outage such calls end by themselves.
func TestLastResortPaysWithTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		score(t, set, "a", 1, 1, 1)
		score(t, set, "b", 0.9, 0.9, 0.9, 0.9)
		a, b := target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("ok"))
		c := opened(t, &fallback.Options{Breakers: set, RetryTokens: 25, Plans: policy.Plans{Default: exact()}}, a, b)
		for range 2 {
			want(t, "with tokens", ask(t.Context(), c, triage()), outcome{
				kind: llm.ErrUnavailable, stopped: llm.StopTargets, trail: "a:unavailable@0s", skipped: "b:open",
			})
		}
		want(t, "the next one has some", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "b:answered@0s", skipped: "a:open"})
		if got := status(t, c, "a").Tokens; got != 5 {
			t.Errorf("%d tokens left, want 5", got)
		}
		if got := status(t, c, "b").Tokens; got != 25 {
			t.Errorf("a last resort that succeeds has cost %d tokens", 25-got)
		}
	})
}

// TestLastResortWithoutTokens: then the call is refused.
func TestLastResortWithoutTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		trip(t, set, "b")
		c := opened(t, &fallback.Options{Breakers: set, RetryTokens: 9, Plans: policy.Plans{Default: exact()}}, target("a", llmtest.Text("a")), target("b", llmtest.Text("b")))
		_, err := c.Generate(t.Context(), triage(), nil)
		e, _ := errors.AsType[*llm.Error](err)
		if e == nil || e.Kind != llm.ErrCircuitOpen || !e.NotSent || e.Stopped != llm.StopTargets {
			t.Fatalf("%+v", err)
		}
		until := min(time.Until(set.Status("a").Until), time.Until(set.Status("b").Until))
		if e.RetryAfter != until {
			t.Errorf("retry after %v, want %v, when the first one opens", e.RetryAfter, until)
		}
	})
}

// TestACoolingTargetIsWaitedFor: it asked for a rest, so it is no last resort; it is waited for if that fits.
func TestACoolingTargetIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := func(d time.Duration) llmtest.Step {
			return llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: d})
		}
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		cooled := func(a, b time.Duration) *fallback.Chain {
			c := planned(t, plan, target("a", limited(a), llmtest.Text("a")), target("b", limited(b), llmtest.Text("b")))
			ask(t.Context(), c, triage())
			return c
		}
		first := ask(t.Context(), cooled(20*s, 12*s), triage())
		if first.took < 12*s || first.took > 18*s { // no two calls leave a cool-down at the same instant
			t.Errorf("the one that ends first: after %v, want 12 s to 18 s", first.took)
		}
		first.took = 12 * s
		want(t, "the one that ends first", first, outcome{text: "b", trail: "b:answered@0s", skipped: "a:cooling", took: 12 * s})
		ctx, cancel := context.WithTimeout(t.Context(), 20*s)
		defer cancel()
		want(t, "if it leaves the minimum", ask(ctx, cooled(18*s, 19*s), triage()), outcome{text: "a", trail: "a:answered@0s", took: 18 * s})
		ctx, cancel = context.WithTimeout(t.Context(), 20*s)
		defer cancel()
		want(t, "and not otherwise", ask(ctx, cooled(18*s+1, 19*s), triage()), outcome{kind: llm.ErrRateLimited, stopped: llm.StopTargets, skipped: "a:cooling b:cooling"})
		req := triage()
		req.Limits.Total = 600 * s
		want(t, "nor over a minute", ask(t.Context(), cooled(61*s, 70*s), req), outcome{kind: llm.ErrRateLimited, stopped: llm.StopTargets, skipped: "a:cooling b:cooling"})
	})
}

// TestTheEarliestOfAllIsWaitedFor: the back-off of one target does not hide that another's rest ends sooner.
func TestTheEarliestOfAllIsWaitedFor(t *testing.T) {
	t.Parallel()
	cool := func(t *testing.T, c *fallback.Chain, name string) { // by a call of somebody else
		t.Helper()
		req := triage()
		req.Route.Only = []string{name}
		req.Limits.Tries = 1
		ask(t.Context(), c, req)
	}
	rests := func(d time.Duration) llmtest.Step {
		return llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: d})
	}
	later := func(k llm.Kind, d time.Duration) llmtest.Step {
		return llmtest.Fail(&llm.Error{Kind: k, RetryAfter: d})
	}
	tests := []struct {
		name    string
		a       []llmtest.Step
		b       []llmtest.Step // the first one cools it
		want    string
		atLeast time.Duration
		atMost  time.Duration
	}{
		{
			"the rest ends first",
			[]llmtest.Step{later(llm.ErrUnavailable, 20*s), llmtest.Text("a")},
			[]llmtest.Step{rests(2 * s), llmtest.Text("b")},
			"a:unavailable@0s b:answered@0s", 2 * s, 3 * s,
		},
		{
			"the back-off ends first",
			[]llmtest.Step{later(llm.ErrUnavailable, 2*s), llmtest.Text("a")},
			[]llmtest.Step{rests(20 * s), llmtest.Text("b")},
			"a:unavailable@0s a:answered@0s", 2 * s, 3 * s,
		},
		{
			"the rest ends before a reserve is ready",
			[]llmtest.Step{fail(llm.ErrTimeout), fail(llm.ErrTimeout), fail(llm.ErrTimeout), llmtest.Text("a")},
			[]llmtest.Step{rests(2500 * time.Millisecond), llmtest.Text("b")},
			"a:timeout@0s a:timeout@0s b:answered@0s", 2500 * time.Millisecond, 3500 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := planned(t, exact(), target("a", tt.a...), target("b", tt.b...))
				cool(t, c, "b")
				got := ask(t.Context(), c, triage())
				if got.trail != tt.want || got.took < tt.atLeast || got.took > tt.atMost {
					t.Errorf("%v\nwant %s within %v to %v", got, tt.want, tt.atLeast, tt.atMost)
				}
			})
		})
	}
}

// TestASpreadWaitHoldsUpNobody: calls do not come back at the same instant when a rest ends, but when another target is
// ready meanwhile they go on.
func TestASpreadWaitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			down := fail(llm.ErrUnavailable)
			c := planned(t, exact(), target("a", down, down, llmtest.Text("a")), // ready after 1 s, and after 3 s
				target("b", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 29 * s / 10}), llmtest.Text("b")))
			req := triage()
			req.Route.Only, req.Limits.Tries = []string{"b"}, 1
			ask(t.Context(), c, req)
			got := ask(t.Context(), c, triage())
			if got.took < 29*s/10 || got.took > 3*s || got.text != "b" {
				t.Fatalf("%v, want b within 2.9 s to 3 s", got)
			}
		}
	})
}
