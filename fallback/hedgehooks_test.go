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

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestHedgeHooks: of all hooks only AttemptStart of the second target runs elsewhere than on the caller's
// goroutine, and beside the first attempt.
func TestHedgeHooks(t *testing.T) {
	t.Parallel()
	ok := llmtest.Text("one two").Every(s)
	for name, steps := range map[string][2]llmtest.Step{
		"the first wins":  {ok.After(8 * s), llmtest.Hang()},
		"the second wins": {llmtest.Hang(), ok.After(s)},
		"the first fails": {fail(llm.ErrUnavailable).After(6 * s), ok.After(3 * s)},
		"both fail":       {fail(llm.ErrInvalid).After(9 * s), fail(llm.ErrUnavailable).After(s)},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var elsewhere []string
			caller := goroutine()
			heard := func(hook string) {
				if goroutine() != caller {
					mu.Lock()
					defer mu.Unlock()
					elsewhere = append(elsewhere, hook)
				}
			}
			ctx := llm.WithObserver(t.Context(), &llm.Observer{
				CallStart:    func(ctx context.Context, _ *llm.Request) context.Context { heard("call start"); return ctx },
				AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context { heard("start " + a.Target); return ctx },
				FirstContent: func(context.Context) { heard("first content") },
				AttemptEnd:   func(_ context.Context, a *llm.Attempt, _ error) { heard("end " + a.Target) },
				CallEnd:      func(context.Context, *llm.Response, error) { heard("call end") },
			})
			c := planned(t, hedged(), target("a", steps[0]), target("b", steps[1]))
			for _, way := range []func(context.Context, llm.Generator, *llm.Request) outcome{ask, read} {
				elsewhere = nil
				way(ctx, c, triage())
				if got := strings.Join(elsewhere, ", "); got != "start b" {
					t.Errorf("%s: on other goroutines: %s", name, got)
				}
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHedgePanicOfTheLoser goes nowhere, since the call has its answer, but it is seen.
func TestHedgePanicOfTheLoser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { panic("theirs") })
		for _, prompt := range []bool{true, false} {
			var ended error
			ctx := llm.WithObserver(t.Context(), &llm.Observer{AttemptEnd: func(_ context.Context, a *llm.Attempt, err error) {
				if a.Target == "b" {
					ended = err
				}
			}})
			c := planned(t, hedged(), target("a", llmtest.Text("first").After(8*s)), fallback.Target{Name: "b", Generator: bad, Prompt: prompt})
			want(t, "the call", ask(ctx, c, triage()), outcome{text: "first", trail: "b:unknown@0s a:answered@8s", took: 8 * s})
			if e, ok := errors.AsType[*llm.Error](ended); !ok || e.Code != "panicked" || !strings.Contains(e.Error(), "panicked") {
				t.Errorf("observers heard %v", ended)
			}
			if st := status(t, c, "b"); st.Score != 1 || st.LastFailure != llm.ErrUnknown || st.InFlight != 0 {
				t.Errorf("%+v", st)
			}
		}
	})
}

// TestHedgePanics: a panic of the second target goes to the caller, on his goroutine.
func TestHedgePanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { panic("theirs") })
		for name, first := range map[string]llmtest.Step{"hangs": llmtest.Hang(), "fails": fail(llm.ErrUnavailable).After(6 * s)} {
			for _, prompt := range []bool{true, false} {
				c := planned(t, hedged(), target("a", first), fallback.Target{Name: "b", Generator: bad, Prompt: prompt})
				got := func() (p any) {
					defer func() { p = recover() }()
					_, _ = c.Generate(t.Context(), triage(), nil)
					return nil
				}()
				if !strings.Contains(fmt.Sprint(got), "theirs") {
					t.Errorf("the first %s, prompt %v: recovered %v", name, prompt, got)
				}
				if st := status(t, c, "b"); st.Score != 1 || st.InFlight != 0 {
					t.Errorf("the first %s, prompt %v: score %v, %d in flight", name, prompt, st.Score, st.InFlight)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestHedgeSinkPanics: a panic of the caller's sink while he pumps the second one's events is his own, and
// leaves nothing behind.
func TestHedgeSinkPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, leave := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
			c := planned(t, hedged(), target("a", llmtest.Hang()), target("b", llmtest.Text("one two three")))
			var ended atomic.Int32
			ctx := llm.WithObserver(t.Context(), &llm.Observer{AttemptEnd: func(context.Context, *llm.Attempt, error) { ended.Add(1) }})
			done := make(chan any, 1)
			go func() {
				defer func() { done <- recover() }()
				n := 0
				_, _ = c.Generate(ctx, triage(), func(llm.Event) error {
					if n++; n == 2 {
						leave()
					}
					return nil
				})
			}()
			if p := <-done; name == "panic" && p != "mine" {
				t.Errorf("recovered %v", p)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for _, st := range c.Status() {
				if st.Score != 0 || st.InFlight != 0 {
					t.Errorf("%s: %s has a score of %v and %d in flight", name, st.Target, st.Score, st.InFlight)
				}
			}
			if ended.Load() != 2 {
				t.Errorf("%s: observers heard the end of %d attempts, want 2", name, ended.Load())
			}
		}
	})
}

// TestHedgePanicOfTheFirst lets the second go.
func TestHedgePanicOfTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			time.Sleep(8 * s)
			panic("theirs")
		})
		var kinds []llm.Kind
		ctx := llm.WithObserver(t.Context(), &llm.Observer{AttemptEnd: func(_ context.Context, a *llm.Attempt, _ error) { kinds = append(kinds, a.Kind) }})
		c := planned(t, hedged(), named("a", bad), target("b", llmtest.Hang()))
		func() {
			defer func() {
				if p := recover(); p != "theirs" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = c.Generate(ctx, triage(), nil)
		}()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(kinds); got != "[canceled unknown]" {
			t.Errorf("observers heard of %s", got)
		}
		if a, b := status(t, c, "a"), status(t, c, "b"); a.Score != 1 || b.Score != 0 || a.InFlight+b.InFlight != 0 {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}
