package fallback_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// TestWhatAFailureCoolsDoesNotDependOnTheCall: whatever is left to the call that hears of it, other calls profit.
func TestWhatAFailureCoolsDoesNotDependOnTheCall(t *testing.T) {
	t.Parallel()
	failures := []struct {
		name  string
		err   llm.Error
		rest  time.Duration
		group bool // who shares its quota rests, too
	}{
		{"throttled", llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 30 * s}, 30 * s, true},
		{"throttled for long", llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 300 * s}, 300 * s, true},
		{"quota", llm.Error{Kind: llm.ErrQuotaExceeded}, 600 * s, true},
		{"auth", llm.Error{Kind: llm.ErrAuth}, 60 * s, false},
		{"not found", llm.Error{Kind: llm.ErrNotFound}, 60 * s, false},
		{"unavailable for long", llm.Error{Kind: llm.ErrUnavailable, RetryAfter: 90 * s}, 90 * s, false},
		{"its own timeout, for long", llm.Error{Kind: llm.ErrTimeout, RetryAfter: 90 * s}, 90 * s, false},
		{"interrupted for long", llm.Error{Kind: llm.ErrInterrupted, RetryAfter: 90 * s}, 90 * s, false},
	}
	calls := []struct {
		name   string
		plan   policy.Plan
		before []llmtest.Step // what the target says first
		edit   func(*llm.Request)
		o      fallback.Options
		stream bool
		phase  llmtest.Phase // at which it fails
	}{
		{name: "the first try of many"},
		{name: "after content", stream: true, phase: llmtest.PhaseStream},
		{name: "without retries", plan: policy.Plan{MaxRetries: policy.NoRetries}},
		{name: "the last try", plan: policy.Plan{MaxRetries: 1}, before: []llmtest.Step{fail(llm.ErrUnavailable)}},
		{name: "the last try of the call", edit: func(r *llm.Request) { r.Limits.Tries = 1 }},
		{name: "in emergency mode", o: fallback.Options{Emergency: true}},
		{name: "at most once", plan: policy.Plan{AtMostOnce: true}},
		{name: "without tokens", before: []llmtest.Step{fail(llm.ErrUnavailable)}, o: fallback.Options{RetryTokens: 10}},
		{name: "streamed", stream: true},
		{name: "with a total that is nearly over", edit: func(r *llm.Request) { r.Limits.Total = s }},
	}
	for _, f := range failures {
		for _, tt := range calls {
			t.Run(f.name+", "+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fails := llmtest.Fail(&f.err)
					fails.Phase = tt.phase
					a := target("a", append(slices.Clone(tt.before), fails, llmtest.Text("a"))...)
					b := target("b", llmtest.Text("b"))
					a.QuotaGroup, b.QuotaGroup = "shared", "shared"
					o := tt.o
					o.Plans.Default = tt.plan
					o.Plans.Default.Backoff.Jitter = policy.JitterNone
					c := opened(t, &o, a, b)
					req := triage()
					req.Route.Only = []string{"a"} // nobody else is there to go on to
					if tt.edit != nil {
						tt.edit(req)
					}
					way := ask
					if tt.stream {
						way = read
					}
					got := way(t.Context(), c, req)
					if n := asked(a); n > len(tt.before)+1 {
						if f.rest > 60*s { // the end of a shorter rest is waited for
							t.Errorf("asked %d times: %v", n, got)
						}
						return
					}
					for name, rests := range map[string]bool{"a": true, "b": f.group} {
						st := status(t, c, name)
						if rest := time.Until(st.CooledUntil); rests && (st.Cooled != f.err.Kind || rest > f.rest || rest < f.rest-got.took) {
							t.Errorf("%s rests %v for %q, want %v", name, rest, st.Cooled, f.rest)
						} else if !rests && st.Cooled != "" {
							t.Errorf("%s rests for %q", name, st.Cooled)
						}
					}
				})
			})
		}
	}
}

// TestATotalThatPassesInASleep is a Timeout, and not the caller's or the execution's deadline, which are kept apart.
func TestATotalThatPassesInASleep(t *testing.T) {
	t.Parallel()
	const short = 5 // ns: a budget without a minimum, so that a sleep may take all of it
	tests := []struct {
		name  string
		total time.Duration
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		want  outcome
	}{
		{"the total", short, context.WithCancel, outcome{kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal}},
		{"the caller's deadline", s, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, short)
		}, outcome{kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline}},
		{"both at once", short, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, short)
		}, outcome{kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline}},
		{"a later deadline", short, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*short)
		}, outcome{kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal}},
		{"the caller leaves", s, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(short-1, cancel)
			return ctx, cancel
		}, outcome{kind: llm.ErrCanceled, stopped: llm.StopFinal}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan := exact()
				plan.MaxRetries = policy.NoRetries
				c := planned(t, plan, target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: s}), llmtest.Hang()))
				ask(t.Context(), c, triage())
				time.Sleep(s - short) // the rest ends when the call has to
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				req := triage()
				req.Limits.Total = tt.total
				got := ask(ctx, c, req)
				got.skipped, got.took = "", 0
				want(t, tt.name, got, tt.want)
			})
		})
	}
}
