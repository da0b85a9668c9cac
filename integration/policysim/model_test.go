package policysim

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const s = time.Second

// full runs every cell at the size of docs/policy-figures.md; without it the same tests are small and quick.
var full = os.Getenv("PUNCTUAL_SIM") == "full"

// sized is large in the full form and small in the other.
func sized(large, small int) int {
	if full {
		return large
	}
	return small
}

// never is a threshold that no score reaches: a chain without a breaker.
const never = math.MaxInt32

// faults are those of one provider. The zero faults answer every call.
type faults struct {
	hang  float64 // the share of calls that no answer comes to
	stall float64 // the share that stops in the middle of the answer
	fail  float64 // the share that fails with a 503, after 0.5 s
	slow  float64 // how much longer its answers take; 0 is 1
	limit float64 // requests a second, the others get a 429 after 0.2 s; 0: no limit
}

// usual is a healthy provider. The notes do not say what they took for one; these shares give the calls per
// request that they measured.
var usual = faults{hang: 0.005, fail: 0.025}

// sigma is the spread of the lognormal time of an answer.
const sigma = 0.6

// request is what one request of a run knows of itself. It travels in the context.
type request struct {
	n     int
	tries [3]int
}

type requestKey struct{}

// provider is a model of one.
type provider struct {
	faults
	index  int
	seed   uint64
	median time.Duration
	calls  atomic.Int64

	mu     sync.Mutex // guards what follows, the bucket of limit
	tokens float64
	filled time.Time
}

// draws makes the same random numbers for the same try of the same request, whatever else happens: rows of a
// table differ by their rules and not by their luck.
func draws(seed uint64, at ...int) *rand.Rand {
	for _, n := range at {
		seed += uint64(n)*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
		seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		seed = (seed ^ seed>>27) * 0x94d049bb133111eb
		seed ^= seed >> 31
	}
	return rand.New(rand.NewPCG(seed, ^seed))
}

func lognormal(r *rand.Rand, median time.Duration) time.Duration {
	return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
}

// Generate is one call. A stream brings its first content after 0.3 to 1.5 s and 8 % of its whole time, and
// something every 2 s from then on.
func (p *provider) Generate(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
	p.calls.Add(1)
	asked := time.Now()
	r := ctx.Value(requestKey{}).(*request)
	draw := draws(p.seed, r.n, p.index, r.tries[p.index])
	r.tries[p.index]++
	fate, total, first, wait := draw.Float64(), lognormal(draw, p.median), draw.Float64(), draw.Float64()
	if p.slow > 0 {
		total = time.Duration(float64(total) * p.slow)
	}
	switch {
	case !p.admits():
		return p.fails(ctx, 200*time.Millisecond, &llm.Error{
			Kind: llm.ErrRateLimited, Status: 429, RetryAfter: s + time.Duration(wait*float64(19*s)),
		})
	case fate < p.hang:
		return p.fails(ctx, math.MaxInt64, nil)
	case fate < p.hang+p.fail:
		return p.fails(ctx, s/2, &llm.Error{Kind: llm.ErrUnavailable, Status: 503})
	case sink == nil:
		if fate < p.hang+p.fail+p.stall {
			return p.fails(ctx, math.MaxInt64, nil)
		}
		return p.answers(ctx, total)
	}
	begins := min(3*s/10+time.Duration(first*float64(12*s/10))+total*8/100, total)
	ends := total
	if fate < p.hang+p.fail+p.stall {
		ends = begins + (total-begins)/2
	}
	for at := begins; ; at = min(at+2*s, ends) {
		if !sleep(ctx, time.Until(asked.Add(at))) {
			return nil, context.Cause(ctx)
		}
		if err := sink(llm.Event{Kind: llm.EventText, Delta: "word "}); err != nil {
			return nil, err
		}
		if at == ends {
			break
		}
	}
	if ends < total {
		return p.fails(ctx, math.MaxInt64, nil)
	}
	return answer(), nil
}

func (p *provider) fails(ctx context.Context, after time.Duration, err *llm.Error) (*llm.Response, error) {
	if !sleep(ctx, after) {
		return nil, context.Cause(ctx)
	}
	return nil, err
}

func (p *provider) answers(ctx context.Context, after time.Duration) (*llm.Response, error) {
	if !sleep(ctx, after) {
		return nil, context.Cause(ctx)
	}
	return answer(), nil
}

func answer() *llm.Response {
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "ok"}}}}
}

// admits asks the bucket of limit, which holds one second's worth.
func (p *provider) admits() bool {
	if p.limit == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tokens = min(p.tokens+now.Sub(p.filled).Seconds()*p.limit, max(p.limit, 1))
	p.filled = now
	if p.tokens < 1 {
		return false
	}
	p.tokens--
	return true
}

// sleep reports whether d went by before ctx ended; the context wins a draw.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// scenario is one line of a table.
type scenario struct {
	name     string
	deadline time.Duration // the caller's
	attempt  time.Duration // the operation's limit
	median   time.Duration
	targets  [3]faults
}

func (sc *scenario) providers(seed uint64) []*provider {
	all := make([]*provider, len(sc.targets))
	for i, f := range sc.targets {
		all[i] = &provider{faults: f, index: i, seed: seed, median: sc.median, filled: time.Now(), tokens: max(f.limit, 1)}
	}
	return all
}

// rules answer one request, or say why not.
type rules func(ctx context.Context) error

// maker makes the rules of a run inside its bubble.
type maker = func(*testing.T, []*provider) rules

// ours makes the rules of the real thing, a chain of three targets over the providers.
func (sc *scenario) ours(breakers breaker.Options, plan policy.Plan) maker {
	return func(t *testing.T, providers []*provider) rules {
		t.Helper()
		targets := make([]fallback.Target, len(providers))
		for i, p := range providers {
			targets[i] = fallback.Target{
				Name: name(i), Generator: p, Prompt: true, Can: llm.Capabilities{Streams: true},
			}
		}
		plan.Limits.Attempt = sc.attempt
		c, err := fallback.New(targets, &fallback.Options{
			Plans:    policy.Plans{Default: plan},
			Breakers: breaker.NewSet(&breakers),
		})
		if err != nil {
			t.Fatal(err)
		}
		return calls(c)
	}
}

func name(i int) string { return string(rune('a' + i)) }

// calls are unary calls of a chain.
func calls(c *fallback.Chain) rules {
	req := &llm.Request{Messages: []llm.Message{llm.User("?")}}
	return func(ctx context.Context) error {
		_, err := c.Generate(ctx, req, nil)
		return err
	}
}

// result is what a run came to, or the mean of several.
type result struct {
	requests int
	answered float64          // the share
	late     int              // requests that returned after their deadline
	p50, p99 time.Duration    // of all requests, the failed ones too
	answers  [2]time.Duration // the same of those that were answered
	calls    float64          // per request
}

func quantiles(took []time.Duration) (p50, p99 time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

func mean(all []result) (m result) {
	n := float64(len(all))
	for _, r := range all {
		m.requests += r.requests
		m.late += r.late
		m.answered += r.answered / n
		m.calls += r.calls / n
		m.p50 += time.Duration(float64(r.p50) / n)
		m.p99 += time.Duration(float64(r.p99) / n)
	}
	return m
}

// noise is how far a share of so many requests may lie below another by chance: three standard deviations of
// the difference, taken where four requests fail if fewer do, and 0.1 points.
func noise(share float64, requests int) float64 {
	share = min(share, 1-4/float64(requests))
	return 3*math.Sqrt(2*share*(1-share)/float64(requests)) + 0.001
}

// arrival is when each request of a run comes.
type arrival func(n int) time.Duration

// atOnce is all together.
func atOnce(int) time.Duration { return 0 }

// poisson draws arrivals of so many a second.
func poisson(seed uint64, rate float64) arrival {
	draw, at := draws(seed, 7), time.Duration(0)
	return func(int) time.Duration {
		at += time.Duration(draw.ExpFloat64() / rate * float64(s))
		return at
	}
}

// play runs n requests of a scenario by the rules that with makes, in a bubble of virtual time.
func (sc *scenario) play(t *testing.T, seed uint64, n int, come arrival, with maker) (res result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		providers := sc.providers(seed)
		call := with(t, providers)
		took, answered := make([]time.Duration, n), make([]bool, n)
		start := time.Now()
		var all sync.WaitGroup
		for i := range n {
			sleep(t.Context(), time.Until(start.Add(come(i))))
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), requestKey{}, &request{n: i}), sc.deadline)
				defer cancel()
				begun := time.Now()
				answered[i] = call(ctx) == nil
				took[i] = time.Since(begun)
			})
		}
		all.Wait()
		res = result{requests: n}
		for i := range n {
			if answered[i] {
				res.answered += 1 / float64(n)
			}
			if took[i] > sc.deadline {
				res.late++
			}
		}
		for _, p := range providers {
			res.calls += float64(p.calls.Load()) / float64(n)
		}
		var good []time.Duration
		for i, ok := range answered {
			if ok {
				good = append(good, took[i])
			}
		}
		res.p50, res.p99 = quantiles(took)
		res.answers[0], res.answers[1] = quantiles(good)
	})
	return res
}
