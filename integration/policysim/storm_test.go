package policysim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const tick = 100 * time.Millisecond

// crowded is a provider that takes nothing until opens, and then so many requests in each tenth of a second.
// The others fail at once with refusal, or, if it is told, with the wait until opens.
type crowded struct {
	perTick int
	opens   time.Duration
	told    bool
	refusal llm.Kind
	start   time.Time

	mu       sync.Mutex
	arrivals map[int]int // by tenth of a second
}

// Generate is one request of a client, which the context names.
func (c *crowded) Generate(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
	ctx.Value(requestKey{}).(*request).tries[0]++
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	c.arrivals[int(now/tick)]++
	switch {
	case now < c.opens && c.told:
		return nil, &llm.Error{Kind: c.refusal, RetryAfter: c.opens - now}
	case now < c.opens, c.arrivals[int(now/tick)] > c.perTick:
		return nil, &llm.Error{Kind: c.refusal}
	default:
		return answer(), nil
	}
}

// storm is what came of one, after the first failures.
type storm struct {
	peak     float64 // requests in the worst tenth of a second
	answered float64 // the share
	calls    float64 // per client
	p50, p99 float64 // seconds, of the answered
}

// client makes one call.
type client func(ctx context.Context, provider *crowded) error

// play lets all clients call at once, or as come says.
func (c *crowded) play(t *testing.T, clients int, come arrival, make func() client) (out storm) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.start, c.arrivals = time.Now(), map[int]int{}
		took, tries := []time.Duration{}, 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for n := range clients {
			call, at, r := make(), come(n), &request{n: n}
			all.Go(func() {
				ctx := context.WithValue(t.Context(), requestKey{}, r)
				if at > 0 && !sleep(ctx, at) {
					return
				}
				err := call(ctx, c)
				mu.Lock()
				defer mu.Unlock()
				tries += r.tries[0]
				if err == nil {
					took = append(took, time.Since(c.start)-at)
				}
			})
		}
		all.Wait()
		out.answered = float64(len(took)) / float64(clients)
		out.calls = float64(tries) / float64(clients)
		p50, p99 := quantiles(took)
		out.p50, out.p99 = p50.Seconds(), p99.Seconds()
		for at, n := range c.arrivals {
			if at >= int(c.opens/tick) {
				out.peak = max(out.peak, float64(n))
			}
		}
	})
	return out
}

// apart are clients of a process each: a chain for every call.
func apart(t *testing.T, plan policy.Plan, tokens int) func() client {
	t.Helper()
	return func() client { return together(t, plan, tokens)() }
}

// together are clients of one process: one chain for all.
func together(t *testing.T, plan policy.Plan, tokens int) func() client {
	t.Helper()
	plan.Limits.Attempt = 1000 * s
	c, err := fallback.New([]fallback.Target{{Name: "a", Generator: crowd{}, Prompt: true}}, &fallback.Options{
		Plans: policy.Plans{Default: plan}, RetryTokens: tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	call := calls(c)
	return func() client {
		return func(ctx context.Context, to *crowded) error {
			return call(context.WithValue(ctx, crowdKey{}, to))
		}
	}
}

// crowd passes a call on to the provider that its context names.
type crowd struct{}

type crowdKey struct{}

func (crowd) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	return ctx.Value(crowdKey{}).(*crowded).Generate(ctx, req, sink)
}

// plain retries by itself, to check the model by figures of the notes for rules that are not ours.
func plain(retryAfter func(d time.Duration) time.Duration) func() client {
	return func() client {
		return func(ctx context.Context, to *crowded) error {
			for try := 1; ; try++ {
				_, err := to.Generate(ctx, nil, nil)
				if err == nil {
					return nil
				}
				wait := policy.Backoff{}.Delay(try, 0, 0, nil)
				if e, _ := errors.AsType[*llm.Error](err); e.RetryAfter > 0 {
					try-- // it is not the client's own wait
					wait = retryAfter(e.RetryAfter)
				}
				if !sleep(ctx, wait) {
					return ctx.Err()
				}
			}
		}
	}
}

// over is the mean of several storms.
func over(seeds int, one func() storm) (m storm) {
	for range seeds {
		o, n := one(), float64(seeds)
		m.peak += o.peak / n
		m.answered += o.answered / n
		m.calls += o.calls / n
		m.p50 += o.p50 / n
		m.p99 += o.p99 / n
	}
	return m
}

// stormLine has the figures of the notes for one jitter: 1,000 clients at 100 requests a second: the peak,
// calls per client, p50, p99, answered % of 4 attempts and of 6; and 20 clients at 10 a second: peak, answered
// %, p50.
type stormLine struct {
	name   string
	jitter policy.Jitter
	large  [6]float64
	small  [3]float64
}

func retries(n int, j policy.Jitter) policy.Plan {
	return policy.Plan{MaxRetries: n, Backoff: policy.Backoff{Jitter: j}}
}

// TestStorm is the storm of the notes: clients that failed at the same instant, each in a process of its own.
func TestStorm(t *testing.T) {
	t.Parallel()
	lines := []stormLine{
		{"none", policy.JitterNone, [6]float64{1000, 51.5, 485, 975, 3.0, 5.0}, [3]float64{20, 15, 0}},
		{"±25 % (default)", policy.JitterProportional, [6]float64{217, 4.35, 12.8, 27.2, 48.1, 100}, [3]float64{6.6, 96.3, 3.1}},
		{"full", policy.JitterFull, [6]float64{194, 4.31, 5.1, 14.0, 58.6, 98.9}, [3]float64{5.2, 96.5, 1.4}},
		{"decorrelated", policy.JitterDecorrelated, [6]float64{70, 3.16, 6.0, 17.3, 95.5, 99.97}, [3]float64{3.2, 100, 2.7}},
	}
	large := table{{"1,000 clients, 100 rps", "notes: peak / calls / p50 s / p99 s", "here", "notes: answered of 4 tries / of 6", "here"}}
	small := table{{
		"20 clients, 10 rps, 4 tries", "notes: peak / answered / p50 s", "here, a process each",
		"one process, 429: answered", "one process, 503: answered",
	}}
	for _, l := range lines {
		seeds := sized(15, 10) // enough for each mean to lie five of its deviations within its bound
		if l.jitter == policy.JitterNone {
			seeds = 1 // no chance in it
		}
		play := func(clients, perTick, seeds int, refusal llm.Kind, mk func() func() client) storm {
			return over(seeds, func() storm {
				return (&crowded{perTick: perTick, opens: tick, refusal: refusal}).play(t, clients, atOnce, mk())
			})
		}
		own := func(n, tokens int) func() func() client {
			return func() func() client { return apart(t, retries(n, l.jitter), tokens) }
		}
		shared := func() func() client { return together(t, retries(3, l.jitter), 0) }
		clients, perTick := sized(1000, 200), sized(10, 2)
		whole := play(clients, perTick, seeds, llm.ErrUnavailable, own(1000, -1))
		four := play(clients, perTick, seeds, llm.ErrUnavailable, own(3, 0))
		six := play(clients, perTick, seeds, llm.ErrUnavailable, own(5, 0))
		few := play(20, 1, sized(400, 20), llm.ErrUnavailable, own(3, 0))
		throttled := play(20, 1, sized(100, 20), llm.ErrRateLimited, shared)
		failing := play(20, 1, sized(100, 20), llm.ErrUnavailable, shared)
		got := [6]float64{whole.peak * float64(sized(1, 5)), whole.calls, whole.p50, whole.p99, 100 * four.answered, 100 * six.answered}
		large.add(
			l.name, fmt.Sprintf("%g / %g / %g / %g", l.large[0], l.large[1], l.large[2], l.large[3]),
			fmt.Sprintf("%.0f / %.2f / %.1f / %.1f", got[0], got[1], got[2], got[3]),
			fmt.Sprintf("%g %% / %g %%", l.large[4], l.large[5]), fmt.Sprintf("%.1f %% / %.1f %%", got[4], got[5]),
		)
		small.add(
			l.name, fmt.Sprintf("%g / %g %% / %g", l.small[0], l.small[1], l.small[2]),
			fmt.Sprintf("%.1f / %.1f %% / %.1f", few.peak, 100*few.answered, few.p50),
			fmt.Sprintf("%.1f %%", 100*throttled.answered), fmt.Sprintf("%.1f %%", 100*failing.answered),
		)
		checkStorm(t, l, got, few)
	}
	large.print(t, "A storm: all fail at t = 0; back-off 1 s, ×2, at most 10 s")
	small.print(t, "The fan-out of one agent")
}

// checkStorm allows a tenth and 3 points. The small form, with a fifth of clients and server, is looser.
func checkStorm(t *testing.T, l stormLine, got [6]float64, few storm) {
	t.Helper()
	slack := 1.1
	if !full {
		slack = 1.6
	}
	for i, what := range []string{"peak", "calls", "p50", "p99"} {
		if got[i] > l.large[i]*slack {
			t.Errorf("%s: %s %.2f, the notes %g", l.name, what, got[i], l.large[i])
		}
	}
	for i, what := range []string{"4 tries", "6 tries"} {
		if got[4+i] < l.large[4+i]-float64(sized(3, 15)) {
			t.Errorf("%s: %.1f %% answered of %s, the notes %g", l.name, got[4+i], what, l.large[4+i])
		}
	}
	if few.peak > l.small[0]*slack || 100*few.answered < l.small[1]-float64(sized(3, 15)) {
		t.Errorf("%s: fan-out %.1f / %.1f, the notes %v", l.name, few.peak, 100*few.answered, l.small)
	}
}

// TestStormRetryAfter tells 1,000 clients to wait 5 s. The model is checked by the notes' rules; ours lies
// between two of them.
func TestStormRetryAfter(t *testing.T) {
	t.Parallel()
	stretched := func(by float64) func() func() client {
		return func() func() client {
			return plain(func(d time.Duration) time.Duration { return time.Duration(float64(d) * (1 + by*rand.Float64())) })
		}
	}
	own := func() func() client { return apart(t, retries(1000, ""), -1) }
	shared := func() func() client { return together(t, retries(1000, ""), -1) }
	over5s := func(n int) time.Duration { return time.Duration(n) * 5 * s / time.Duration(sized(1000, 200)) }
	tb := table{{"5 s of Retry-After told to 1,000 clients", "notes: peak / p50 s / p99 s", "here"}}
	for _, r := range []struct {
		name  string
		notes string
		most  float64 // the peak may be
		make  func() func() client
		come  arrival
	}{
		{"exact", "1000 / 17.5 / 32.2", 1000, stretched(0), atOnce},
		{"× (1 + U(0, 0.25))", "137 / 11.6 / 22.9", 160, stretched(0.25), atOnce},
		{"× (1 + U(0, 1))", "56 / 10.0 / 19.9", 70, stretched(1), atOnce},
		{"ours, each in a process: × (1 + U(0, 0.5))", "", 137, own, atOnce},
		{"ours, all in one process", "", 137, shared, atOnce},
		{"ours, one process, calls begin over 5 s", "", 250, shared, over5s},
	} {
		got := over(sized(5, 4), func() storm {
			return (&crowded{perTick: sized(10, 2), opens: 5 * s, told: true, refusal: llm.ErrRateLimited}).
				play(t, sized(1000, 200), r.come, r.make())
		})
		got.peak *= float64(sized(1, 5))
		if !full {
			r.most *= 1.6
		}
		tb.add(r.name, r.notes, fmt.Sprintf("%.0f / %.1f / %.1f", got.peak, got.p50, got.p99))
		if got.peak > r.most || got.answered < 1 {
			t.Errorf("%s: %.0f requests in a tenth of a second, at most %.0f; %.1f %% answered", r.name, got.peak, r.most, 100*got.answered)
		}
	}
	tb.print(t, "The same wait told to all, 100 rps from then on")
}
