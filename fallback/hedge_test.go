package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// hedged is a plan that asks a second target after five seconds, in every call.
func hedged() policy.Plan {
	plan := exact()
	plan.Hedge = policy.Hedge{After: 5 * s, Share: 1}
	return plan
}

// TestHedge plays whole calls with a second target beside the first.
func TestHedge(t *testing.T) {
	t.Parallel()
	ok, hang, down := llmtest.Text("second"), llmtest.Hang(), fail(llm.ErrUnavailable)
	first := llmtest.Text("first")
	tests := []struct {
		name   string
		a, b   []llmtest.Step
		stream bool
		want   outcome
		scores string // of a and b
	}{
		{"the first answers before its time", steps(first.After(4 * s)), steps(ok), false, outcome{text: "first", trail: "a:answered@4s", took: 4 * s}, "0 0"},
		{"the second answers first", steps(first.After(20 * s)), steps(ok.After(3 * s)), false, outcome{text: "second", trail: "a:canceled@8s b:answered@3s", took: 8 * s}, "0 0"},
		{"the first answers after all", steps(first.After(7 * s)), steps(ok.After(20 * s)), false, outcome{text: "first", trail: "b:canceled@2s a:answered@7s", took: 7 * s}, "0 0"},
		{"the first hangs", steps(hang), steps(ok.After(s)), false, outcome{text: "second", trail: "a:canceled@6s b:answered@1s", took: 6 * s}, "0 0"},
		{"the first fails while the second works", steps(down.After(6 * s)), steps(ok.After(10 * s)), false, outcome{text: "second", trail: "a:unavailable@6s b:answered@10s", took: 15 * s}, "1 0"},
		{"the second fails while the first works", steps(first.After(20 * s)), steps(down.After(s)), false, outcome{text: "first", trail: "b:unavailable@1s a:answered@20s", took: 20 * s}, "0 1"},
		{"both fail, and the call goes on", steps(down.After(6*s), first), steps(down.After(4 * s)), false, outcome{text: "first", trail: "a:unavailable@6s b:unavailable@4s a:answered@0s", took: 9 * s}, "0 1"},
		{"both fail, the second before the first", steps(down.After(9*s), first), steps(down.After(s)), false, outcome{text: "first", trail: "a:unavailable@9s b:unavailable@1s b:unavailable@1s a:answered@0s", took: 10 * s}, "0 1"},
		{"a final failure of the first ends the call", steps(fail(llm.ErrInvalid).After(6 * s)), steps(ok.After(10 * s)), false, outcome{kind: llm.ErrInvalid, stopped: llm.StopFinal, trail: "a:invalid@6s b:canceled@1s", took: 6 * s}, "0 0"},
		{"an answer of the second that cannot be used wins nothing", steps(first.After(20 * s)), steps(llmtest.Respond(&llm.Response{})), false, outcome{text: "first", trail: "b:bad_output@0s a:answered@20s", took: 20 * s}, "0 1"},

		{"a stream: the first brings content before its time", steps(first.After(4 * s).Every(3 * s)), steps(ok), true, outcome{text: "first", trail: "a:answered@4s", took: 4 * s}, "0 0"},
		{"a stream: the second brings content first", steps(first.After(20 * s)), steps(llmtest.Text("one two three").After(3 * s).Every(2 * s)), true, outcome{text: "one two three", trail: "a:canceled@8s b:answered@7s", took: 12 * s}, "0 0"},
		{"a stream: the first brings content after all", steps(llmtest.Text("one two three").After(7 * s).Every(2 * s)), steps(ok.After(20 * s)), true, outcome{text: "one two three", trail: "b:canceled@2s a:answered@11s", took: 11 * s}, "0 0"},
		{"a stream: the first fails while the second works", steps(down.After(6 * s)), steps(ok.After(10 * s)), true, outcome{text: "second", trail: "a:unavailable@6s b:answered@10s", took: 15 * s}, "1 0"},
		{"a stream: the second breaks after content", steps(hang), steps(llmtest.Cut("half an")), true, outcome{text: "half an", kind: llm.ErrInterrupted, stopped: llm.StopContent, trail: "a:canceled@5s b:interrupted@0s", took: 5 * s}, "0 1"},
		{"a stream: the second fails before content", steps(first.After(20 * s)), steps(down.After(s)), true, outcome{text: "first", trail: "b:unavailable@1s a:answered@20s", took: 20 * s}, "0 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := planned(t, hedged(), target("a", tt.a...), target("b", tt.b...))
				call := ask
				if tt.stream {
					call = read
				}
				want(t, "the call", call(t.Context(), c, triage()), tt.want)
				if got := fmt.Sprint(status(t, c, "a").Score, status(t, c, "b").Score); got != tt.scores {
					t.Errorf("scores %s, want %s", got, tt.scores)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
				for _, st := range c.Status() {
					if st.InFlight != 0 {
						t.Errorf("%s has %d attempts in flight", st.Target, st.InFlight)
					}
				}
			})
		})
	}
}

func steps(s ...llmtest.Step) []llmtest.Step { return s }

// TestHedgeOnTheCallersGoroutine: whoever wins, events never leave it.
func TestHedgeOnTheCallersGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Text("one two three")))
		mine, events, returned := goroutine(), 0, false
		resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error {
			events++
			if got := goroutine(); got != mine || returned {
				t.Errorf("an event on %s, the call is on %s; after its return: %v", got, mine, returned)
			}
			return nil
		})
		returned = true
		if err != nil || resp.Target != "b" || events != 3 {
			t.Errorf("%+v, %v, %d events", resp, err, events)
		}
	})
}

// TestHedgeIdleStandsStillInTheSink: for the second, too.
func TestHedgeIdleStandsStillInTheSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := hedged()
		plan.Limits.Idle = 4 * s
		c := planned(t, plan, target("a", llmtest.Hang()), target("b", llmtest.Text("one two").Every(3*s)))
		resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error { time.Sleep(20 * s); return nil })
		if err != nil || resp.Text() != "one two" {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// TestHedgeAsksOnlyWhomItMay: another target, not tried, ready, in good health, with time and tokens left.
func TestHedgeAsksOnlyWhomItMay(t *testing.T) {
	t.Parallel()
	slow := llmtest.Text("slow").After(25 * s)
	tests := []struct {
		name  string
		plan  func(*policy.Plan)
		req   func(*llm.Request)
		chain func(t *testing.T, set *breaker.Set, o *fallback.Options) []fallback.Target
		want  string
	}{
		{"as it is", nil, nil, nil, "a:canceled@5s b:answered@0s"},
		{"at most once", func(p *policy.Plan) { p.AtMostOnce = true }, nil, nil, "a:answered@25s"},
		{"never", func(p *policy.Plan) { p.Hedge.After = -1 }, nil, nil, "a:answered@25s"},
		{"after the attempt's own limit", func(p *policy.Plan) { p.Hedge.After = 30 * s }, nil, nil, "a:answered@25s"},
		{"no tries left", nil, func(r *llm.Request) { r.Limits.Tries = 1 }, nil, "a:answered@25s"},
		{"two tries", nil, func(r *llm.Request) { r.Limits.Tries = 2 }, nil, "a:canceled@5s b:answered@0s"},
		{"nobody else", nil, func(r *llm.Request) { r.Route.Only = []string{"a"} }, nil, "a:answered@25s"},
		{"its breaker is open", nil, nil, func(t *testing.T, set *breaker.Set, _ *fallback.Options) []fallback.Target {
			t.Helper()
			trip(t, set, "b")
			return []fallback.Target{target("a", slow), target("b", llmtest.Text("no")), target("c", llmtest.Text("c"))}
		}, "a:canceled@5s c:answered@0s"},
		{"its breaker is half open", nil, nil, func(t *testing.T, set *breaker.Set, _ *fallback.Options) []fallback.Target {
			t.Helper()
			trip(t, set, "b")
			time.Sleep(331 * s)
			return []fallback.Target{target("a", slow), target("b", llmtest.Text("no"))}
		}, "a:answered@25s"},
		{"no tokens", nil, nil, func(_ *testing.T, _ *breaker.Set, o *fallback.Options) []fallback.Target {
			o.RetryTokens = 9
			return []fallback.Target{target("a", slow), target("b", llmtest.Text("no"))}
		}, "a:answered@25s"},
		{"it was tried", nil, nil, func(*testing.T, *breaker.Set, *fallback.Options) []fallback.Target {
			return []fallback.Target{target("b", fail(llm.ErrUnavailable)), target("a", slow)}
		}, "b:unavailable@0s a:answered@25s"},
		{"a later attempt is hedged, too", nil, nil, func(*testing.T, *breaker.Set, *fallback.Options) []fallback.Target {
			return []fallback.Target{target("b", fail(llm.ErrAuth)), target("a", slow), target("c", llmtest.Text("c"))}
		}, "b:auth@0s a:canceled@5s c:answered@0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan := hedged()
				if tt.plan != nil {
					tt.plan(&plan)
				}
				set := breaker.NewSet(nil)
				o := &fallback.Options{Breakers: set, Plans: policy.Plans{Default: plan}}
				targets := []fallback.Target{target("a", slow), target("b", llmtest.Text("ok"))}
				if tt.chain != nil {
					targets = tt.chain(t, set, o)
				}
				req := triage()
				if tt.req != nil {
					tt.req(req)
				}
				if got := ask(t.Context(), opened(t, o, targets...), req); got.trail != tt.want {
					t.Errorf("%v, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestHedgeShare: one in twenty by default, counted by operation.
func TestHedgeShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for share, most := range map[float64]int{0: 6, 0.25: 26, 1: 100} {
			plan := hedged()
			plan.Hedge.Share = share
			second := target("b", llmtest.Text("ok"))
			c := opened(t, &fallback.Options{RetryTokens: -1, Plans: policy.Plans{Default: plan}}, target("a", llmtest.Text("slow").After(20*s)), second)
			for range 100 {
				if o := ask(t.Context(), c, triage()); o.kind != "" {
					t.Fatal(o)
				}
			}
			if got := asked(second); got != most {
				t.Errorf("a share of %v: %d of 100 calls hedged, want %d (one is there to begin with)", share, got, most)
			}
		}
		rare := hedged()
		rare.Hedge.Share = 0.0005
		seldom := target("b", llmtest.Text("ok"))
		often := opened(t, &fallback.Options{Plans: policy.Plans{Default: rare}}, target("a", llmtest.Text("slow").After(20*s)), seldom)
		for range 4100 {
			ask(t.Context(), often, triage())
		}
		if got := asked(seldom); got != 3 {
			t.Errorf("a share of %v: %d of 4100 calls hedged, want 3 (one is there to begin with)", rare.Hedge.Share, got)
		}
		plan := hedged()
		plan.Hedge.Share = 0.05
		second := target("b", llmtest.Text("ok"))
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: plan, Operations: map[llm.Operation]policy.Plan{"x": {}}}}, target("a", llmtest.Text("slow").After(20*s)), second)
		for range 3 {
			for _, op := range []llm.Operation{llm.Triage, "x"} {
				req := triage()
				req.Operation = op
				ask(t.Context(), c, req)
			}
		}
		if got := asked(second); got != 2 {
			t.Errorf("%d hedges over two operations, want one each", got)
		}
	})
}

// TestHedgeShareIsNotSpentInVain: a hedge that could not be started costs none of its share.
func TestHedgeShareIsNotSpentInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := hedged()
		plan.Hedge.Share = 0.01
		set := breaker.NewSet(nil)
		c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: plan}}, target("a", llmtest.Text("slow").After(20*s)), target("b", llmtest.Text("ok")))
		time.AfterFunc(2*s, func() { trip(t, set, "b") }) // in good health when the call begins
		want(t, "refused", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
		if got := status(t, c, "b").Tokens; got != 100 {
			t.Errorf("a hedge that was refused has cost %d tokens", 100-got)
		}
		set.Forget("b")
		want(t, "the next call", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:canceled@5s b:answered@0s", took: 5 * s})
	})
}

// TestHedgeShareIsNotSpentWithoutTokens: nor does one for which the second target has no tokens.
func TestHedgeShareIsNotSpentWithoutTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := hedged()
		plan.Hedge.Share = 0.01
		c := opened(t, &fallback.Options{RetryTokens: 10, Plans: policy.Plans{Default: plan}},
			target("a", llmtest.Text("slow").After(20*s)), target("b", fail(llm.ErrUnavailable).Times(2), llmtest.Text("ok")))
		only := triage()
		only.Route.Only = []string{"b"}
		ask(t.Context(), c, only) // its retry fails, and its bucket is empty
		want(t, "without tokens", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
		for range 10 {
			ask(t.Context(), c, only)
		}
		want(t, "with tokens", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:canceled@5s b:answered@0s", took: 5 * s})
	})
}

// TestHedgeSinkError: it comes back as it was, and the target is alive.
func TestHedgeSinkError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("mine")
		c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Text("one two three")))
		n := 0
		resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error {
			if n++; n == 3 {
				return mine
			}
			return nil
		})
		if err != mine || resp.Text() != "one two " || resp.Target != "b" || trail(resp.Attempts) != "a:canceled@5s b:canceled@0s" { //nolint:errorlint // the very same error is promised
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// TestHedgeLosersCost: what a loser has reported is counted.
func TestHedgeLosersCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
			<-ctx.Done()
			return &llm.Response{Usage: llm.Usage{Input: 100, Output: 7, Reported: true}}, context.Cause(ctx)
		})
		c := planned(t, hedged(), named("a", slow), target("b", llmtest.Text("ok")))
		resp, err := c.Generate(t.Context(), triage(), nil)
		if err != nil || resp.TotalUsage().Input != 105 || resp.TotalUsage().Output != 10 {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// TestHedgeEndsWithTheCall: both end with the caller's deadline, and neither is asked again.
func TestHedgeEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*s)
		defer cancel()
		c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Hang()))
		want(t, "both hang", ask(ctx, c, triage()), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline,
			trail: "a:timeout(attempt)@10s b:deadline_exceeded(caller)@15s", took: 20 * s,
		})
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(7*s, leave)
		want(t, "the caller leaves", ask(gone, c, triage()), outcome{
			kind: llm.ErrCanceled, stopped: llm.StopFinal, trail: "a:canceled@7s b:canceled@2s", took: 7 * s,
		})
	})
}

// TestCloseWhileAHedgeRuns: Close waits for the call, and for the loser that the call has left behind.
func TestCloseWhileAHedgeRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		slow := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
			<-ctx.Done()
			time.Sleep(90 * time.Millisecond) // it is prompt, but not that prompt
			if closed.Load() != 0 {
				t.Error("closed under a loser")
			}
			return nil, context.Cause(ctx)
		})
		loser := named("b", slow)
		loser.Close = func() error { closed.Add(1); return nil }
		c := planned(t, hedged(), target("a", llmtest.Text("ok").After(10*s)), loser)
		var call sync.WaitGroup
		call.Go(func() {
			want(t, "the call", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "b:canceled@5s a:answered@10s", took: 10 * s})
		})
		time.Sleep(7 * s) // both run
		synctest.Wait()
		start := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(start) != 3*s+90*time.Millisecond || closed.Load() != 1 {
			t.Errorf("%v after %v, %d closed", err, time.Since(start), closed.Load())
		}
		call.Wait()
	})
}

// TestHedgeObserver: observers hear of both, and of the first content once, from whoever won.
func TestHedgeObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		tell := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf(format, args...))
		}
		ctx := llm.WithObserver(t.Context(), &llm.Observer{
			AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
				tell("start %s", a.Target)
				return context.WithValue(ctx, ctxKey{}, a.Target)
			},
			FirstContent: func(ctx context.Context) { tell("first %v", ctx.Value(ctxKey{})) },
			AttemptEnd: func(ctx context.Context, a *llm.Attempt, err error) {
				tell("end %v %s %v", ctx.Value(ctxKey{}), string(a.Kind), llm.KindOf(err))
			},
		})
		c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Text("one two")))
		want(t, "the call", read(ctx, c, triage()), outcome{text: "one two", trail: "a:canceled@5s b:answered@0s", took: 5 * s})
		if got, want := strings.Join(log, "|"), "start a|start b|end a canceled canceled|first b|end b  "; got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	})
}

// TestHedgeOutlivesAFirstThatIsLate: content that comes when the first one's limit has fallen is not content. It
// neither drops the second, nor has one that failed asked again.
func TestHedgeOutlivesAFirstThatIsLate(t *testing.T) {
	t.Parallel()
	late := named("a", llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		time.Sleep(31 * s)
		return nil, sink(llm.Event{Kind: llm.EventText, Delta: "late"})
	}))
	tests := []struct {
		name   string
		second llmtest.Step
		want   outcome
	}{
		{"the second works", llmtest.Text("ok").After(27 * s), outcome{text: "ok", trail: "a:timeout(attempt)@31s b:answered@27s", took: 32 * s}},
		{"the second has failed", fail(llm.ErrUnavailable).After(s), outcome{kind: llm.ErrUnavailable, stopped: llm.StopTries, trail: "a:timeout(attempt)@31s b:unavailable@1s", took: 31 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan := hedged()
				plan.MaxRetries = policy.NoRetries
				want(t, "the call", read(t.Context(), planned(t, plan, late, target("b", tt.second)), triage()), tt.want)
			})
		})
	}
}

// TestHedgeWhoseSecondDoesNotListen: a target that goes on after it was told to stop is heard no more.
func TestHedgeWhoseSecondDoesNotListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 3)
		stubborn := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			for _, e := range []llm.Event{{Kind: llm.EventText}, {Kind: llm.EventText, Delta: "two"}, {Kind: llm.EventText, Delta: "three"}} {
				time.Sleep(4 * s)
				told <- sink(e)
			}
			return nil, errors.New("at last")
		})
		c := planned(t, hedged(), target("a", llmtest.Text("first").After(12*s)), named("b", stubborn))
		want(t, "the call", read(t.Context(), c, triage()), outcome{text: "first", trail: "b:canceled@7s a:answered@12s", took: 12 * s})
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for i, fails := range []bool{false, true, true} { // without content there is nothing to refuse
			if err := <-told; (err != nil) != fails {
				t.Errorf("event %d: %v", i, err)
			}
		}
	})
}

// TestHedgeLeavesTimeForTheThird: a second target that hangs takes no more than its share, as a first one does.
func TestHedgeLeavesTimeForTheThird(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, llm.Generator, *llm.Request) outcome{"unary": ask, "stream": read} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Hang()), target("c", llmtest.Text("third")))
				ctx, cancel := context.WithTimeout(t.Context(), 30*s)
				defer cancel()
				want(t, "the call", call(ctx, c, triage()), outcome{
					text: "third", trail: "a:timeout(attempt)@10s b:timeout(attempt)@12.5s c:answered@0s", took: 17500 * time.Millisecond,
				})
			})
		})
	}
}

// TestNothingHoldsAHedgedCall: once it is over nothing holds its request, whoever has won and whatever limits it had.
// In real time, since a bubble keeps what its timers held.
func TestNothingHoldsAHedgedCall(t *testing.T) {
	t.Parallel()
	late, at, hang := llmtest.Text("late").After(10*time.Millisecond), llmtest.Text("at once"), llmtest.Hang()
	for name, steps := range map[string][2]llmtest.Step{"the second wins": {hang, at}, "the first wins": {late, hang}, "it is over before": {at, at}} {
		for _, connect := range []time.Duration{0, 10 * s} {
			plan := hedged()
			plan.Hedge.After, plan.Limits.Connect = time.Millisecond, connect
			c := planned(t, plan, forgetful("a", steps[0]), forgetful("b", steps[1]))
			var refs []weak.Pointer[llm.Request]
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				req := triage()
				refs = append(refs, weak.Make(req))
				ask(ctx, c, req)
				cancel()
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			runtime.GC()
			held := 0
			for _, ref := range refs {
				if ref.Value() != nil {
					held++
				}
			}
			if held > len(refs)/2 { // a stack may still hold the last
				t.Errorf("%s, connect %v: %d of %d requests are still there", name, connect, held, len(refs))
			}
		}
	}
}

// forgetful is a target that plays the step and keeps no request.
func forgetful(name string, step llmtest.Step) fallback.Target {
	return named(name, llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		return llmtest.New(step).Generate(ctx, req, sink)
	}))
}

// TestASecondCoolsFromWhenItFailed: its wait does not begin anew when the first one has ended, too.
func TestASecondCoolsFromWhenItFailed(t *testing.T) {
	t.Parallel()
	for _, kind := range []llm.Kind{llm.ErrRateLimited, llm.ErrUnavailable} {
		for wait, until := range map[time.Duration]time.Duration{10 * s: 0, 600 * s: 606 * s} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := target("b", llmtest.Fail(&llm.Error{Kind: kind, RetryAfter: wait}).After(s), llmtest.Text("ok"))
				c := planned(t, hedged(), target("a", llmtest.Hang(), llmtest.Hang()), b)
				o := ask(t.Context(), c, triage())
				if answered := o.text == "ok"; answered != (wait == 10*s) {
					t.Errorf("%s, a wait of %v: %v", string(kind), wait, o)
				}
				if got := status(t, c, "b").CooledUntil; until > 0 && got.Sub(start) != until || until == 0 && !got.IsZero() {
					t.Errorf("%s, a wait of %v: left alone until %v, want %v", string(kind), wait, got.Sub(start), until)
				}
			})
		}
	}
}

// TestAHedgeIsNoProbe: a breaker that opened after the hedge was armed, and waits for a probe by now, gets none from it.
func TestAHedgeIsNoProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
			if c.To == breaker.HalfOpen {
				t.Error("the breaker was probed")
			}
		}})
		plan := hedged()
		plan.Hedge.After = 8 * s
		second := target("b", llmtest.Text("second"))
		c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: plan}}, target("a", llmtest.Text("first").After(20*s)), second)
		time.AfterFunc(s, func() {
			for range 3 {
				if p, err := set.Allow("b"); err == nil {
					p.Settle(breaker.Outcome{Weight: 1, Wire: true}) // open for 5 s
				}
			}
		})
		want(t, "the call", ask(t.Context(), c, triage()), outcome{text: "first", trail: "a:answered@20s", took: 20 * s})
		if asked(second) != 0 || status(t, c, "b").Tokens != 100 {
			t.Errorf("%+v", status(t, c, "b"))
		}
	})
}
