package config_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
	"github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	"github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// connections counts the open ones of a server.
type connections struct {
	open, made atomic.Int64
	closed     chan struct{} // has an element after a close
}

func (c *connections) serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.open.Add(1)
			c.made.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
			select {
			case c.closed <- struct{}{}:
			default:
			}
		case http.StateActive, http.StateIdle:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func TestReloadsLeaveNoConnectionBehind(t *testing.T) {
	noVariables(t)
	c := connections{closed: make(chan struct{}, 1)}
	file := fmt.Sprintf(`
plans: {default: {max_retries: 0, attempt: 30s}}
targets:
  - {name: azure, pool: all, provider: azure, endpoint: %q, deployment: d, api_key: "key-%%d"}
  - {name: bedrock, pool: all, provider: bedrock, endpoint: %q, region: r, model: "amazon.nova-lite-v1:0", bearer_token: "token-%%[1]d"}
  - {name: vertex, pool: all, provider: vertex, endpoint: %q, project: p, model: gemini-2.5-flash, api_key: steady}
`, c.serve(t, azure.New(nil).Handler()), c.serve(t, bedrock.New(nil).Handler()), c.serve(t, vertex.New(nil).Handler()))
	build := func(n int, prev *fallback.Chain) *fallback.Chain {
		parsed, err := config.Parse(fmt.Appendf(nil, file, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := parsed.Build(t.Context(), providers(), prev)
		if err != nil {
			t.Fatal(err)
		}
		return chain
	}
	var current atomic.Pointer[fallback.Chain]
	current.Store(build(0, nil))
	const callers, calls, reloads = 8, 50, 20
	var wg sync.WaitGroup
	var failed atomic.Int64
	done := make(chan struct{}, callers*calls)
	for range callers {
		wg.Go(func() {
			for range calls {
				if _, err := current.Load().Generate(t.Context(), hello(), nil); err != nil {
					failed.Add(1)
				}
				done <- struct{}{}
			}
		})
	}
	for i := range reloads {
		for range callers * calls / (reloads + 1) {
			<-done
		}
		current.Store(build(i+1, current.Load()))
	}
	wg.Wait()
	if err := current.Load().Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if failed.Load() != 0 {
		t.Errorf("%d calls failed", failed.Load())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	for c.open.Load() != 0 && ctx.Err() == nil { // the server hears of a close when it reads
		select {
		case <-c.closed:
		case <-ctx.Done():
		}
	}
	if c.open.Load() != 0 || c.made.Load() < reloads {
		t.Errorf("%d connections are open of %d", c.open.Load(), c.made.Load())
	}
}
