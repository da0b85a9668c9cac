package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// TestStatus tells how each target is doing, in the chain's order.
func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		fresh := target("fresh")
		c := opened(t, &fallback.Options{Breakers: set, RetryTokens: 50, Plans: policy.Plans{Default: exact()}},
			target("opens", fail(llm.ErrUnavailable).After(s)), target("limited", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 40 * s})),
			target("works", llmtest.Text("ok").After(10*s)), fresh)
		for _, st := range c.Status() {
			want := fallback.Status{Target: st.Target, Model: llm.ModelRef{Provider: "fake", Model: "model-" + st.Target}, State: breaker.Closed, Tokens: 50}
			if st != want {
				t.Errorf("at first:\n got %+v\nwant %+v", st, want)
			}
		}
		done := make(chan outcome)
		go func() { done <- ask(t.Context(), c, triage()) }()
		time.Sleep(5 * s)
		failed := time.Now().Add(-4 * s)
		all := c.Status()
		for i, name := range []string{"opens", "limited", "works", "fresh"} {
			want := fallback.Status{Target: name, Model: llm.ModelRef{Provider: "fake", Model: "model-" + name}, State: breaker.Closed, Tokens: 50}
			switch name {
			case "opens":
				want.Score, want.LastFailure, want.LastAt = 1, llm.ErrUnavailable, failed
			case "limited":
				want.Cooled, want.CooledUntil, want.LastFailure, want.LastAt = llm.ErrRateLimited, failed.Add(40*s), llm.ErrRateLimited, failed
			case "works":
				want.InFlight = 1
			}
			if all[i] != want {
				t.Errorf("under way:\n got %+v\nwant %+v", all[i], want)
			}
		}
		<-done
		trip(t, set, "fresh")
		if st := status(t, c, "fresh"); st.State != breaker.Open || !st.OpenUntil.Equal(set.Status("fresh").Until) {
			t.Errorf("open: %+v", st)
		}
		if st := status(t, c, "works"); st.InFlight != 0 || st.LastFailure != "" {
			t.Errorf("after the call: %+v", st)
		}
	})
}

// TestTrail: what each attempt of a trail tells, and what a failed one has cost.
func TestTrail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used := llm.Usage{Input: 40, Output: 2, Reported: true}
		costly := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			time.Sleep(2 * s)
			return &llm.Response{Usage: used}, &llm.Error{Kind: llm.ErrUnavailable, Status: 503, RequestID: "r-1", NotSent: false}
		})
		start := time.Now()
		unsent := fail(llm.ErrConnection)
		unsent.Phase = llmtest.PhaseConnect
		c := planned(t, exact(), named("costly", costly), target("unsent", unsent), target("ok", llmtest.Text("one two").After(3*s)))
		resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		want := []llm.Attempt{
			{Target: "costly", Start: start, Limit: 30 * s, Took: 2 * s, Kind: llm.ErrUnavailable, Status: 503, RequestID: "r-1", Usage: used},
			{Target: "unsent", Model: llm.ModelRef{Provider: "fake", Model: "model-unsent"}, Start: start.Add(2 * s), Limit: 30 * s, Kind: llm.ErrConnection, NotSent: true},
			{Target: "ok", Model: llm.ModelRef{Provider: "fake", Model: "model-ok"}, Start: start.Add(2 * s), Limit: 30 * s, Took: 3 * s, FirstContent: 3 * s, Usage: resp.Usage},
		}
		for i, a := range resp.Attempts {
			if a != want[i] {
				t.Errorf("attempt %d:\n got %+v\nwant %+v", i, a, want[i])
			}
		}
		if total := resp.TotalUsage(); total.Input != 45 || total.Output != 5 {
			t.Errorf("the whole call has cost %+v", total)
		}
	})
}

// TestUsageOfFailedAttempts: what failed may have been billed, and an error tells it, too.
func TestUsageOfFailedAttempts(t *testing.T) {
	t.Parallel()
	costly := func(input int64, kind llm.Kind) fallback.Target {
		return named(fmt.Sprint("t", input), llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			return &llm.Response{Usage: llm.Usage{Input: input, Reported: true}}, &llm.Error{Kind: kind}
		}))
	}
	plan := exact()
	plan.MaxRetries = policy.NoRetries
	c := planned(t, plan, costly(10, llm.ErrUnavailable), costly(200, llm.ErrContentFiltered))
	_, err := c.Generate(t.Context(), triage(), nil)
	attempts := attemptsOf(nil, err)
	if len(attempts) != 2 || attempts[0].Usage.Input != 10 || attempts[1].Usage.Input != 200 {
		t.Errorf("%+v", attempts)
	}
}

// TestNotSent: only a call of which nothing at all was sent says so.
func TestNotSent(t *testing.T) {
	t.Parallel()
	plan := exact()
	plan.MaxRetries = policy.NoRetries
	unsent := fail(llm.ErrConnection)
	unsent.Phase = llmtest.PhaseConnect
	sent := fail(llm.ErrUnavailable)
	for _, tt := range []struct {
		first, last llmtest.Step
		want        bool
	}{{unsent, unsent, true}, {unsent, sent, false}, {sent, unsent, false}} {
		_, err := planned(t, plan, target("a", tt.first), target("b", tt.last)).Generate(t.Context(), triage(), nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.NotSent != tt.want {
			t.Errorf("%+v", err)
		}
	}
}
