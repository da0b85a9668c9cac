package fallback_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

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
