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
