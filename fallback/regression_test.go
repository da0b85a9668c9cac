package fallback_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// What TestProperties has found, each as a call of its own.

// hedgedChain is a chain that asks b beside a after a second.
func hedgedChain(t *testing.T, a, b fallback.Target, more ...fallback.Target) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(append([]fallback.Target{a, b}, more...), &fallback.Options{
		Plans: policy.Plans{Default: policy.Plan{Hedge: policy.Hedge{After: s, Share: 1}, MaxRetries: policy.NoRetries}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func prompt(name string, g llm.GeneratorFunc) fallback.Target {
	return fallback.Target{Name: name, Generator: g, Prompt: true}
}

// An *llm.Error is a net.Error whatever its Kind, which is no reason to take it for one of the network.
func TestUnknownStaysUnknown(t *testing.T) {
	t.Parallel()
	_, err := chain(t, target("a", fail(llm.ErrUnknown))).Generate(t.Context(), triage(), nil)
	if llm.KindOf(err) != llm.ErrUnknown {
		t.Errorf("got %v", err)
	}
}

// A target that returns without an answer because its time is up has not given a bad one.
func TestNothingAfterALimitIsATimeout(t *testing.T) {
	t.Parallel()
	leaves := func(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
		<-ctx.Done()
		return nil, nil
	}
	for deadline, want := range map[time.Duration]llm.Kind{0: llm.ErrTimeout, 3 * s: llm.ErrDeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, deadline)
				defer cancel()
			}
			if _, err := chain(t, prompt("a", leaves)).Generate(ctx, triage(), nil); llm.KindOf(err) != want {
				t.Errorf("deadline %v: %v", deadline, err)
			}
		})
	}
}

// A target must not be closed under a call that began two chains ago.
func TestCloseWaitsForCallsOnEarlierChains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		a := target("a", llmtest.Text("ok").After(20*s))
		a.Fingerprint, a.Close = "1", func() error { closed.Store(true); return nil }
		first, err := fallback.New([]fallback.Target{a}, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := first.Generate(t.Context(), triage(), nil); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(s)
		second, err := fallback.New([]fallback.Target{a}, &fallback.Options{Prev: first})
		if err != nil {
			t.Fatal(err)
		}
		a.Fingerprint = "2"
		if _, err := fallback.New([]fallback.Target{a}, &fallback.Options{Prev: second}); err != nil {
			t.Fatal(err)
		}
		if closed.Load() {
			t.Error("closed while the first chain uses it")
		}
		time.Sleep(20 * s)
		synctest.Wait()
		if !closed.Load() {
			t.Error("never closed")
		}
	})
}

// The trail ends with the attempt that answered, though a hedge has lost against it afterwards.
func TestTheAnswerIsLastInTheTrail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := hedgedChain(t, target("a", llmtest.Text("ok").After(2*s)), target("b", llmtest.Hang()))
		resp, err := c.Generate(t.Context(), triage(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := trail(resp.Attempts); got != "b:canceled@1s a:answered@2s" {
			t.Errorf("got %s", got)
		}
	})
}

// The second target's time is its own, not that until somebody looked.
func TestTheTrailHasTheTimeOfTheSecondTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := hedgedChain(t, target("a", llmtest.Hang()), target("b", llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}).After(s)))
		_, err := c.Generate(t.Context(), triage(), nil)
		e, _ := errors.AsType[*llm.Error](err)
		if got := trail(e.Attempts); got != "a:timeout(attempt)@30s b:unavailable@1s" {
			t.Errorf("got %s", got)
		}
	})
}

// A target that asked for a rest since the first was asked is no hedge.
func TestNoHedgeWithATargetThatCools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := target("a", llmtest.Text("ok").After(5*s))
		c := hedgedChain(t, slow, target("b", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 30 * s})))
		time.AfterFunc(s/2, func() {
			req := triage()
			req.Route.Only = []string{"b"}
			_, _ = c.Generate(t.Context(), req, nil)
		})
		resp, err := c.Generate(t.Context(), triage(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := trail(resp.Attempts); got != "a:answered@5s" {
			t.Errorf("got %s", got)
		}
	})
}

// A hedge that runs is not passed over, though its window is as small as the one that was too small.
func TestAHedgeThatRunsIsNotPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small := func(name string, step llmtest.Step) fallback.Target {
			a := target(name, step)
			a.Can.ContextWindow = 1000
			return a
		}
		c := hedgedChain(t, small("a", llmtest.Fail(&llm.Error{Kind: llm.ErrContextTooLong}).After(2*s)),
			small("b", llmtest.Text("ok").After(5*s)))
		resp, err := c.Generate(t.Context(), triage(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := skips(resp.Skipped); got != "" {
			t.Errorf("skipped %s, trail %s", got, trail(resp.Attempts))
		}
	})
}

// A reader who leaves a retry has been answered: the retry has helped, and its tokens come back.
func TestTokensComeBackWhenTheReaderLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := chain(t, target("a", fail(llm.ErrUnavailable), llmtest.Text("one two")))
		_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { return errors.New("enough") })
		if got := c.Status()[0].Tokens; got != 100 {
			t.Errorf("%d tokens", got)
		}
	})
}

// A second target whose limit fell has no content to win with, and must not stop the first.
func TestASecondAfterItsLimitDoesNotStopTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := prompt("b", func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			<-ctx.Done()
			return nil, sink(llm.Event{Kind: llm.EventText, Delta: "late"})
		})
		late.Limits.FirstContent = s
		c := hedgedChain(t, target("a", llmtest.Text("ok").After(5*s)), late)
		text := ""
		resp, err := c.Generate(t.Context(), triage(), func(e llm.Event) error { text += e.Delta; return nil })
		if err != nil || text != "ok" {
			t.Fatalf("%q, %v", text, err)
		}
		if got := trail(resp.Attempts); got != "b:timeout(first_content)@1s a:answered@5s" {
			t.Errorf("got %s", got)
		}
	})
}

// Calls that wait for the end of a cool-down which another call has met come back spread over half as long
// again, and those with little time left still in time.
func TestCallsDoNotLeaveACoolDownTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := chain(t, target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 10 * s}), llmtest.Text("ok")))
		_, _ = c.Generate(t.Context(), &llm.Request{Messages: triage().Messages, Limits: llm.Limits{Tries: 1}}, nil)
		waits := make([]time.Duration, 200)
		var calls sync.WaitGroup
		for i := range waits {
			calls.Go(func() {
				ctx := t.Context()
				if i%2 == 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, 13*s)
					defer cancel()
				}
				resp, err := c.Generate(ctx, triage(), nil)
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				waits[i] = resp.Attempts[0].Wait
			})
		}
		calls.Wait()
		for i, wait := range waits {
			latest := 15 * s
			if i%2 == 0 { // the minimum is a tenth of 13 s
				latest = 13*s - 13*s/10
			}
			if wait < 10*s || wait > latest {
				t.Errorf("call %d waited %v, want 10 s to %v", i, wait, latest)
			}
		}
		slices.Sort(waits)
		if together := len(waits) - len(slices.Compact(waits)); together > 2 {
			t.Errorf("%d of %d calls came back at the same instant as another", together, len(waits))
		}
	})
}

// Below the floor of an execution nothing is begun, a hedge neither.
func TestNoHedgeBelowTheFloorOfAnExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 30*s, nil)
		defer cancel()
		time.Sleep(26500 * time.Millisecond) // 500 ms before the floor
		resp, err := hedgedChain(t, target("a", llmtest.Text("ok").After(1500*time.Millisecond)), target("b")).Generate(ctx, triage(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := trail(resp.Attempts); got != "a:answered@1.5s" {
			t.Errorf("got %s", got)
		}
	})
}

// A first target whose limit fell does not let the second go with content that is too late.
func TestAFirstAfterItsLimitDoesNotDropTheSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := prompt("a", func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			<-ctx.Done()
			return nil, sink(llm.Event{Kind: llm.EventText, Delta: "late"})
		})
		late.Limits.FirstContent = 2 * s
		text := ""
		c := hedgedChain(t, late, target("b", llmtest.Text("ok").After(5*s)))
		resp, err := c.Generate(t.Context(), triage(), func(e llm.Event) error { text += e.Delta; return nil })
		if err != nil || text != "ok" {
			t.Fatalf("%q, %v", text, err)
		}
		if got := trail(resp.Attempts); got != "a:timeout(first_content)@2s b:answered@5s" {
			t.Errorf("got %s", got)
		}
	})
}

// A second target that failed before the caller's deadline was not ended by it.
func TestASecondThatFailedEarlierIsToldAsThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*s)
		defer cancel()
		stalls := target("a", llmtest.Hang(llmtest.PhaseStream).After(2*s))
		stalls.Can.Streams = true // watched, it may go on until the deadline
		req := triage()
		req.Limits.Idle = 20 * s
		_, err := hedgedChain(t, stalls, target("b", fail(llm.ErrUnavailable))).Generate(ctx, req, nil)
		e, _ := errors.AsType[*llm.Error](err)
		if got := trail(e.Attempts); got != "a:deadline_exceeded(caller)@10s b:unavailable@0s" {
			t.Errorf("got %s", got)
		}
	})
}
