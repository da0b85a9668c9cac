package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// TestSkipped: each of the reasons for which a target is passed over, and for how long.
func TestSkipped(t *testing.T) {
	t.Parallel()
	ok := llmtest.Text("ok")
	tests := []struct {
		why    llm.SkipReason
		target func(fallback.Target) fallback.Target // a
		first  llmtest.Step
		req    func(*llm.Request)
		opened bool // a's breaker
		tokens int
		calls  int // before the one that is looked at
		skip   llm.Skip
	}{
		{why: llm.SkipOpen, first: ok, opened: true},
		{why: llm.SkipCooling, first: llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 20 * s}), calls: 1, skip: llm.Skip{For: 20 * s}},
		{why: llm.SkipUnsupported, first: ok, target: func(t fallback.Target) fallback.Target { return lacking(t, "seed") }, req: func(r *llm.Request) { r.Seed = new(int64(1)) }},
		{why: llm.SkipRoute, first: ok, req: func(r *llm.Request) { r.Route.Tags = []string{"eu"} }},
		{why: llm.SkipNoTokens, first: fail(llm.ErrUnavailable), tokens: 5, req: func(r *llm.Request) { r.Route.Only = []string{"a"} }},
	}
	for _, tt := range tests {
		t.Run(string(tt.why), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(nil)
				if tt.opened {
					trip(t, set, "a")
					tt.skip.For = set.Wait("a")
				}
				a := target("a", tt.first)
				if tt.target != nil {
					a = tt.target(a)
				}
				c := opened(t, &fallback.Options{Breakers: set, RetryTokens: tt.tokens, Plans: policy.Plans{Default: exact()}}, a, tagged(target("b", ok), "eu"))
				req := triage()
				if tt.req != nil {
					tt.req(req)
				}
				for range tt.calls {
					ask(t.Context(), c, req)
				}
				resp, err := c.Generate(t.Context(), req, nil)
				skipped := skippedOf(resp, err)
				tt.skip.Target, tt.skip.Why = "a", tt.why
				if len(skipped) != 1 || skipped[0] != tt.skip {
					t.Errorf("%+v, want %+v", skipped, tt.skip)
				}
			})
		})
	}
	t.Run(string(llm.SkipNoTime), func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*s)
			defer cancel()
			deaf := target("a")
			deaf.Generator = llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
				time.Sleep(19 * s) // beyond its limit
				return nil, &llm.Error{Kind: llm.ErrUnavailable}
			})
			want(t, "no time for the second", ask(ctx, planned(t, exact(), deaf, target("b", ok)), triage()), outcome{
				kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopDeadline, trail: "a:timeout(attempt)@19s", skipped: "b:no_time", took: 19 * s,
			})
		})
	})
}

func skippedOf(resp *llm.Response, err error) []llm.Skip {
	if resp != nil {
		return resp.Skipped
	}
	e, _ := err.(*llm.Error) //nolint:errorlint // a chain returns nothing else
	return e.Skipped
}
