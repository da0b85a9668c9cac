package fallback_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		slow := target("a", llmtest.Text("ok").After(10*s))
		fake := slow.Generator
		slow.Generator = llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			defer func() {
				if n := closed.Load(); n != 0 {
					t.Error("the target was closed under a running call")
				}
			}()
			return fake.Generate(ctx, req, sink)
		})
		slow.Close = func() error { closed.Add(1); return nil }
		c := chain(t, slow)
		answered := make(chan error, 1)
		go func() {
			_, err := c.Generate(context.Background(), triage(), nil)
			answered <- err
		}()
		synctest.Wait()
		if err := errors.Join(c.Close(t.Context()), c.Close(t.Context())); err != nil || closed.Load() != 1 {
			t.Errorf("%v, closed %d times", err, closed.Load())
		}
		if err := <-answered; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if _, err := c.Generate(t.Context(), triage(), nil); llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

func TestCloseDoesNotWaitBeyondItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := chain(t, target("a", llmtest.Hang()))
		call, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = c.Generate(call, triage(), nil) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), 10*s)
		defer stop()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		cancel()
		<-done
	})
}
