package config_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// counted is a provider that counts what it opens, closes and is asked for. Its model says how it answers.
type counted struct {
	opened, closed, asked, failures atomic.Int64
}

func (p *counted) factory(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
	var s struct {
		Model string `yaml:"model"`
		Key   string `yaml:"api_key"`
	}
	if err := settings(&s); err != nil {
		return llm.Endpoint{}, err
	}
	p.opened.Add(1)
	step := llmtest.Text("ok").After(50 * time.Millisecond)
	if s.Model == "down" {
		step = llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable})
	}
	fake := llmtest.New(step)
	var closed atomic.Bool
	g := llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if closed.Load() {
			p.failures.Add(1) // asked after its Close
		}
		if s.Model == "down" {
			p.asked.Add(1)
		}
		return fake.Generate(ctx, req, sink)
	})
	return llm.Endpoint{Generator: g, Prompt: true, Close: func() error {
		if closed.Swap(true) {
			p.failures.Add(1)
		}
		p.closed.Add(1)
		return nil
	}}, nil
}

const reloaded = `
plans: {default: {attempt: 10s, max_retries: 0}}
targets:
  - {name: down, provider: fake, model: down}
  - {name: turning, provider: fake, model: up, api_key: "k-%d"}
  - {name: steady, provider: fake, model: up}
`

func TestReloadsUnderLoadLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, callers, reloads = 10_000, 100, 50
		p := &counted{}
		providers := map[string]llm.Factory{"fake": p.factory}
		var current atomic.Pointer[fallback.Chain]
		current.Store(load(t, fmt.Sprintf(reloaded, 0), providers, nil))
		for range 3 {
			_ = call(t.Context(), current.Load(), "") // opens the breaker of down
		}
		opened := current.Load().Status()[0]
		if opened.State != breaker.Open {
			t.Fatalf("the breaker is %v", opened.State)
		}
		var failed, done atomic.Int64
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range calls / callers {
					req := &llm.Request{Messages: []llm.Message{llm.User("Hi")}}
					if _, err := current.Load().Generate(t.Context(), req, nil); err != nil {
						failed.Add(1)
					}
					done.Add(1)
				}
			})
		}
		for i := range reloads {
			time.Sleep(99 * time.Millisecond)
			current.Store(load(t, fmt.Sprintf(reloaded, i+1), providers, current.Load()))
		}
		if before := done.Load(); before < calls*9/10 || before == calls {
			t.Errorf("the reloads ended after %d of %d calls", before, calls)
		}
		wg.Wait()
		if failed.Load() != 0 || done.Load() != calls {
			t.Errorf("%d of %d calls failed", failed.Load(), done.Load())
		}
		if s := current.Load().Status()[0]; s.State != breaker.Open || !s.OpenUntil.Equal(opened.OpenUntil) || p.asked.Load() != 3 {
			t.Errorf("the breaker is %v until %v, asked %d times; want open until %v, asked 3 times", s.State, s.OpenUntil, p.asked.Load(), opened.OpenUntil)
		}
		if err := current.Load().Close(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if p.opened.Load() != p.closed.Load() || p.failures.Load() != 0 {
			t.Errorf("%d opened, %d closed, %d asked or closed after their Close", p.opened.Load(), p.closed.Load(), p.failures.Load())
		}
	})
}

func load(t *testing.T, file string, providers map[string]llm.Factory, prev *fallback.Chain) *fallback.Chain {
	t.Helper()
	c, err := config.Parse([]byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := c.Build(t.Context(), providers, prev)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func TestAFailedBuildLeavesThePreviousChainAsItWas(t *testing.T) {
	t.Parallel()
	p := &counted{}
	providers := map[string]llm.Factory{"fake": p.factory}
	prev := load(t, fmt.Sprintf(reloaded, 0), providers, nil)
	c, err := config.Parse([]byte(fmt.Sprintf(reloaded, 1)+"  - {name: new, provider: fake, modell: up}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var wrong *config.Error
	if _, err := c.Build(t.Context(), providers, prev); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `unknown key "modell"`) {
		t.Errorf("got %v", err)
	}
	if a := call(t.Context(), prev, ""); len(a) == 0 || a[len(a)-1].Kind != "" {
		t.Errorf("the previous chain does not answer: %v", a)
	}
	if err := prev.Close(t.Context()); err != nil || p.opened.Load() != p.closed.Load() || p.failures.Load() != 0 {
		t.Errorf("%v: %d opened, %d closed", err, p.opened.Load(), p.closed.Load())
	}
}

func TestAFingerprintIsOfTheProviderAndItsSettings(t *testing.T) {
	t.Parallel()
	of := func(file string, variables ...string) string {
		c, err := config.Parse([]byte("targets:\n  - "+file), env(variables...))
		if err != nil {
			t.Fatal(err)
		}
		return c.Targets[0].Fingerprint
	}
	same := of(`{name: a, provider: fake, model: m, api_key: "${K}"}`, "K="+canary)
	for _, file := range []string{
		`{api_key: "${K}", model: "m", provider: fake, name: a}`, `{name: b, provider: fake, model: m, api_key: "${K}"}`,
		`{name: a, provider: fake, model: m, api_key: "${K}", weight: 2, pool: p, tags: [x], limits: {attempt: 5s}}`,
	} {
		if of(file, "K="+canary) != same {
			t.Errorf("%s differs", file)
		}
	}
	for _, file := range []string{
		`{name: a, provider: other, model: m, api_key: "${K}"}`, `{name: a, provider: fake, model: n, api_key: "${K}"}`,
		`{name: a, provider: fake, model: m, api_key: "${K}x"}`, `{name: a, provider: fake, model: m, api_key: "${K}", parameters: {x: null}}`,
	} {
		if of(file, "K="+canary) == same {
			t.Errorf("%s is the same", file)
		}
	}
	if of(`{name: a, provider: fake, model: m, api_key: "${K}"}`, "K=rotated") == same {
		t.Error("a rotated key is the same")
	}
	if same == "" || strings.Contains(same, "canary") {
		t.Errorf("fingerprint %q", same)
	}
}

func TestAReloadChangesTheBreakersSettingsAndKeepsTheirState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const file = "breaker: {threshold: %d}\nretry: {max_retries: 0}" + oneTarget
		prev := load(t, fmt.Sprintf(file, 3), unavailable, nil)
		call(t.Context(), prev, "")
		chain := load(t, fmt.Sprintf(file, 2), unavailable, prev)
		if s := chain.Status()[0]; s.Score != 1 {
			t.Errorf("the score is %v, want that of the failure before the reload", s.Score)
		}
		call(t.Context(), chain, "")
		if s := chain.Status()[0]; s.State != breaker.Open {
			t.Errorf("after two failures with a threshold of 2: %v", s.State)
		}
	})
}
