package fallback_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestObserver(t *testing.T) {
	t.Parallel()
	var log []string
	observer := &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			log = append(log, "start "+a.Target)
			return context.WithValue(ctx, ctxKey{}, a.Target)
		},
		FirstContent: func(ctx context.Context) { log = append(log, fmt.Sprint("first ", ctx.Value(ctxKey{}))) },
		AttemptEnd: func(ctx context.Context, a *llm.Attempt, err error) {
			log = append(log, fmt.Sprintf("end %v %s %v", ctx.Value(ctxKey{}), string(a.Kind), llm.KindOf(err)))
		},
	}
	c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("o k")))
	ctx := llm.WithObserver(t.Context(), observer)
	if _, err := llm.NewClient(c, nil).Stream(ctx, triage()).Response(); err != nil {
		t.Fatal(err)
	}
	want := "start a|end a unavailable unavailable|start b|first b|end b  "
	if got := strings.Join(log, "|"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

type ctxKey struct{}

// TestObserversHearTheEndOfEveryAttempt: a panic and runtime.Goexit end one, too.
func TestObserversHearTheEndOfEveryAttempt(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		for _, prompt := range []bool{true, false} {
			var started, ended atomic.Int32
			ctx := llm.WithObserver(t.Context(), &llm.Observer{
				AttemptStart: func(ctx context.Context, _ *llm.Attempt) context.Context { started.Add(1); return ctx },
				AttemptEnd:   func(context.Context, *llm.Attempt, error) { ended.Add(1) },
			})
			one := target("a", llmtest.Text("one two"))
			one.Prompt = prompt
			c := chain(t, one)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_, _ = c.Generate(ctx, triage(), func(llm.Event) error { leave(); return nil })
			}()
			<-done
			if started.Load() != 1 || ended.Load() != 1 {
				t.Errorf("%s, prompt %t: %d started, %d ended", name, prompt, started.Load(), ended.Load())
			}
		}
	}
}

// TestAnErrorIsNotChangedAfterAnObserverHasIt: he may log it on a goroutine of his own.
func TestAnErrorIsNotChangedAfterAnObserverHasIt(t *testing.T) {
	t.Parallel()
	logged := make(chan string, 8)
	ctx := llm.WithObserver(t.Context(), &llm.Observer{
		AttemptEnd: func(_ context.Context, _ *llm.Attempt, err error) {
			go func() { logged <- fmt.Sprintf("%+v", err) }()
		},
	})
	c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Cut("half a")))
	_, err := llm.NewClient(c, nil).Stream(ctx, triage()).Response()
	if llm.KindOf(err) != llm.ErrInterrupted {
		t.Error(err)
	}
	<-logged
	<-logged
}

// TestAPanicOfTheCallersOwnCode reaches him, says nothing of the target, and leaves nothing behind.
func TestAPanicOfTheCallersOwnCode(t *testing.T) {
	t.Parallel()
	mine := func() { panic("mine") }
	ownCode := map[string]struct {
		observer llm.Observer
		accept   func(*llm.Response) error
	}{
		"AttemptStart": {observer: llm.Observer{AttemptStart: func(context.Context, *llm.Attempt) context.Context { mine(); return nil }}},
		"FirstContent": {observer: llm.Observer{FirstContent: func(context.Context) { mine() }}},
		"AttemptEnd":   {observer: llm.Observer{AttemptEnd: func(context.Context, *llm.Attempt, error) { mine() }}},
		"Accept":       {accept: func(*llm.Response) error { mine(); return nil }},
		"AttemptStart of a second": {observer: llm.Observer{AttemptStart: func(_ context.Context, a *llm.Attempt) context.Context {
			if a.Target == "b" {
				mine()
			}
			return nil
		}}},
		"AttemptEnd of a second that is dropped": {observer: llm.Observer{AttemptEnd: func(_ context.Context, a *llm.Attempt, _ error) {
			if a.Target == "b" {
				mine()
			}
		}}},
	}
	late, hang := llmtest.Text("late").After(8*s), llmtest.Hang()
	for name, own := range ownCode {
		for how, first := range map[string]llmtest.Step{"the first answers": llmtest.Text("first"), "late": late, "never": hang} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream %v", name, how, stream), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c := planned(t, hedged(), target("a", first), target("b", llmtest.Text("second").After(6*s)))
						req := triage()
						req.Accept = own.accept
						var sink llm.Sink
						if stream {
							sink = func(llm.Event) error { return nil }
						}
						func() {
							defer func() {
								if p := recover(); p != nil && p != "mine" {
									t.Errorf("recovered %v", p)
								}
							}()
							_, _ = c.Generate(llm.WithObserver(t.Context(), &own.observer), req, sink)
						}()
						if err := c.Close(t.Context()); err != nil {
							t.Error(err)
						}
						for _, st := range c.Status() {
							if st.InFlight != 0 || st.Score >= 1 || st.Tokens < 90 {
								t.Errorf("%+v", st)
							}
						}
					})
				})
			}
		}
	}
}
