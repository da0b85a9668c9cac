package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// The tests of this file play traffic in virtual time, up to an hour of it: what opens a breaker, what must
// not, and how it closes again.

// provider is a generator that behaves by chance, the same in each run.
type provider struct {
	mu     sync.Mutex
	chance *rand.Rand
	hang   float64 // share of calls that hang
	fail   float64 // share of calls that fail with a 503
	median time.Duration
	calls  atomic.Int64
}

func newProvider(seed uint64, hang, fail float64) *provider {
	return &provider{chance: rand.New(rand.NewPCG(seed, 0)), hang: hang, fail: fail, median: 6 * s}
}

func (p *provider) draw() (u, spread float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chance.Float64(), math.Exp(0.4 * p.chance.NormFloat64())
}

func (p *provider) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	p.calls.Add(1)
	u, spread := p.draw()
	step := llmtest.Text("ok").After(time.Duration(float64(p.median) * spread))
	switch {
	case u < p.hang:
		step = llmtest.Hang()
	case u < p.hang+p.fail:
		step = llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503}).After(200 * time.Millisecond)
	}
	return llmtest.New(step).Unrecorded().Generate(ctx, req, sink)
}

// openings counts how often each breaker of a set opens.
type openings struct {
	mu    sync.Mutex
	count map[string]int
	first time.Time
}

func (o *openings) set() *breaker.Set {
	o.count = map[string]int{}
	return breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if c.To != breaker.Open {
			return
		}
		if o.first.IsZero() {
			o.first = c.At
		}
		o.count[c.Name]++
	}})
}

func (o *openings) of(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count[name]
}

// traffic starts a call every interval, n times, and waits for all of them.
func traffic(n int, interval time.Duration, call func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
		time.Sleep(interval)
	}
	calls.Wait()
}

func named(name string, g llm.Generator) fallback.Target {
	return fallback.Target{Name: name, Generator: g, Prompt: true}
}

// TestTimeoutsOfAMinuteOpen: the longest calls are heard, though each lasts half of the breaker's memory.
func TestTimeoutsOfAMinuteOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o openings
		hanging := &provider{chance: rand.New(rand.NewPCG(1, 1)), hang: 1}
		c := opened(t, &fallback.Options{Breakers: o.set()}, named("a", hanging), target("b", llmtest.Text("ok")))
		start := time.Now()
		const minute = 60*s + s/2 // not at the same instant as another call's start
		traffic(120, s, func(int) { _, _ = c.Generate(t.Context(), within(minute), nil) })
		if o.of("a") != 1 || o.first.Sub(start) != 5*s+minute { // the sixth timeout
			t.Errorf("opened %d times, first after %v, want once after %v", o.of("a"), o.first.Sub(start), 5*s+minute)
		}
		if n := hanging.calls.Load(); n != 65 && n != 66 { // one begins at the very instant
			t.Errorf("%d calls reached it, want the 65 or 66 of before it opened", n)
		}
	})
}

// TestNineteenOfTwentyHangsOpen: a rare answer between the timeouts keeps nothing closed.
func TestNineteenOfTwentyHangsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o openings
		c := opened(t, &fallback.Options{Breakers: o.set()}, named("a", newProvider(2, 0.95, 0)), target("b", llmtest.Text("ok")))
		start := time.Now()
		failed := 0
		traffic(600, 500*time.Millisecond, func(int) {
			if _, err := c.Generate(t.Context(), within(45*s), nil); err != nil {
				failed++
			}
		})
		if o.of("a") == 0 || failed > 0 {
			t.Errorf("opened %d times, %d calls failed", o.of("a"), failed)
		}
		if after := o.first.Sub(start); after > 120*s {
			t.Errorf("opened after %v only", after)
		}
		t.Logf("95 %% hangs at 2 calls a second: open after %v", o.first.Sub(start))
	})
}

// TestAHealthyHour: a breaker opens on a healthy provider no more often than the arithmetic of its threshold
// says. Failures are 1 % of calls (weight 1) and hangs 0.5 % (weight ½); three of weight in a row, with
// successes ending the row, come once in about n³ calls.
func TestAHealthyHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, hang, bad = 72_000, 0.005, 0.01 // an hour at 20 a second
		var o openings
		c := opened(t, &fallback.Options{Breakers: o.set()}, named("a", newProvider(3, hang, bad)), named("b", newProvider(4, hang, bad)))
		var failed atomic.Int64
		traffic(calls, 50*time.Millisecond, func(int) {
			if _, err := c.Generate(t.Context(), within(45*s), nil); err != nil {
				failed.Add(1)
			}
		})
		// By the arithmetic of breaker/traffic_test.go 0.07 times an hour; four times is one hour in a million.
		t.Logf("a healthy hour at 20 calls a second: opened %d times; %d of %d calls failed", o.of("a"), failed.Load(), calls)
		if got := o.of("a"); got > 3 {
			t.Errorf("opened %d times, want no more than 3", got)
		}
		if failed.Load() > calls/1000 {
			t.Errorf("%d calls failed", failed.Load())
		}
	})
}

// TestCallersInAHurryOpenNothing: 60 % of the callers have three seconds for what takes six. That says
// nothing of the provider.
func TestCallersInAHurryOpenNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o openings
		c := opened(t, &fallback.Options{Breakers: o.set()}, named("a", newProvider(5, 0, 0)))
		var normal, refused, hurried atomic.Int64
		traffic(6000, 500*time.Millisecond, func(i int) {
			ctx := t.Context()
			if i%5 < 3 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 3*s)
				defer cancel()
				if _, err := c.Generate(ctx, within(45*s), nil); errors.Is(err, context.DeadlineExceeded) {
					hurried.Add(1)
				}
				return
			}
			normal.Add(1)
			if _, err := c.Generate(ctx, within(45*s), nil); err != nil {
				refused.Add(1)
			}
		})
		if o.of("a") != 0 || refused.Load() != 0 {
			t.Errorf("opened %d times, %d of %d calls with time failed", o.of("a"), refused.Load(), normal.Load())
		}
		if hurried.Load() < 3000 {
			t.Errorf("only %d callers were in a hurry: the test proves nothing", hurried.Load())
		}
	})
}

// TestAPoisonRequestOpensNothing: one request that fails everywhere is one witness, however often it is tried.
func TestAPoisonRequestOpensNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o openings
		poisoned := func(name string) fallback.Target {
			return named(name, llm.GeneratorFunc(func(_ context.Context, req *llm.Request, _ llm.Sink) (*llm.Response, error) {
				if req.System == "poison" {
					return nil, &llm.Error{Kind: llm.ErrUnavailable, Status: 500}
				}
				return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "ok"}}}}, nil
			}))
		}
		c := opened(t, &fallback.Options{Breakers: o.set()}, poisoned("a"), poisoned("b"), poisoned("c"))
		poison := within(30 * s)
		poison.System = "poison"
		if _, err := c.Generate(t.Context(), poison, nil); llm.KindOf(err) != llm.ErrUnavailable {
			t.Error(err)
		}
		for _, st := range c.Status() {
			if st.State != breaker.Closed || st.Score != 1 {
				t.Errorf("%s is %s with a score of %v", st.Target, st.State, st.Score)
			}
		}
		if n := o.of("a") + o.of("b") + o.of("c"); n != 0 {
			t.Errorf("opened %d times", n)
		}
		for range 20 { // others make the score whole again, and it comes once more
			if _, err := c.Generate(t.Context(), within(30*s), nil); err != nil {
				t.Error(err)
			}
		}
		only := within(30 * s)
		only.System, only.Route.Only = "poison", []string{"a"}
		if _, err := c.Generate(t.Context(), only, nil); err == nil || status(t, c, "a").Score != 1 {
			t.Errorf("%v, score %v", err, status(t, c, "a").Score)
		}
	})
}

// TestALocalCutOfTheNetwork: 200 ms without a network, with a hundred calls in flight on three targets, leave
// nothing open for more than five seconds.
func TestALocalCutOfTheNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		var broken sync.Mutex
		cutting := make(chan struct{})
		over := func(name string) fallback.Target {
			return named(name, llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
				if cut.Load() {
					return nil, &llm.Error{Kind: llm.ErrConnection, NotSent: true, Err: &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}}
				}
				timer := time.NewTimer(4 * s)
				defer timer.Stop()
				broken.Lock()
				wire := cutting
				broken.Unlock()
				select {
				case <-timer.C:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-wire:
					if sink != nil {
						return nil, &llm.Error{Kind: llm.ErrInterrupted, Err: io.ErrUnexpectedEOF}
					}
					return nil, &llm.Error{Kind: llm.ErrConnection, Err: syscall.ECONNRESET}
				}
				return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "ok"}}}}, nil
			}))
		}
		var o openings
		c := opened(t, &fallback.Options{Breakers: o.set()}, over("a"), over("b"), over("c"))
		var calls sync.WaitGroup
		var failed atomic.Int64
		for i := range 100 {
			calls.Go(func() {
				req := within(30 * s)
				req.Route.Prefer = []string{"a", "b", "c"}[i%3]
				var sink llm.Sink
				if i%2 == 0 {
					sink = func(llm.Event) error { return nil }
				}
				if _, err := c.Generate(t.Context(), req, sink); err != nil {
					failed.Add(1)
				}
			})
		}
		time.Sleep(2 * s)
		cut.Store(true)
		close(cutting)
		time.Sleep(200 * time.Millisecond)
		cut.Store(false)
		broken.Lock()
		cutting = make(chan struct{})
		broken.Unlock()
		back := time.Now()
		if o.of("a")+o.of("b")+o.of("c") == 0 {
			t.Error("nothing opened: the test proves nothing")
		}
		for _, st := range c.Status() {
			if !st.OpenUntil.IsZero() && st.OpenUntil.Sub(back) > 5*s {
				t.Errorf("%s is open for %v after the cut", st.Target, st.OpenUntil.Sub(back))
			}
		}
		calls.Wait()
		time.Sleep(max(5*s-time.Since(back), 0))
		for _, name := range []string{"a", "b", "c"} {
			req := within(30 * s)
			req.Route.Only = []string{name}
			if _, err := c.Generate(t.Context(), req, nil); err != nil {
				t.Errorf("five seconds after the cut %s answers %v", name, err)
			}
		}
		t.Logf("cut with 100 calls in flight: %d opened, %d calls failed", o.of("a")+o.of("b")+o.of("c"), failed.Load())
	})
}

// TestAStalledProbeGivesItsSlotBack: the probe of a half-open breaker hangs and its caller leaves. The next
// call is the probe.
func TestAStalledProbeGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		time.Sleep(331 * s)
		c := opened(t, &fallback.Options{Breakers: set}, target("a", llmtest.Hang(), llmtest.Text("ok")))
		ctx, cancel := context.WithCancel(t.Context())
		stalled := make(chan outcome)
		go func() { stalled <- ask(ctx, c, triage()) }()
		synctest.Wait()
		want(t, "while it is out", ask(t.Context(), c, triage()), outcome{kind: llm.ErrCircuitOpen, stopped: llm.StopTargets, skipped: "a:open"})
		time.Sleep(20 * s)
		cancel()
		if o := <-stalled; o.kind != llm.ErrCanceled {
			t.Errorf("%v", o)
		}
		if st := set.Status("a").State; st != breaker.HalfOpen {
			t.Errorf("a probe without a verdict has made it %s", st)
		}
		want(t, "the next one", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		if st := set.Status("a").State; st != breaker.Closed {
			t.Errorf("a probe that answers has made it %s", st)
		}
	})
}

// TestAPanicOfAProbeGivesItsSlotBack: a permit is settled whatever happens.
func TestAPanicOfAProbeGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		time.Sleep(331 * s)
		c := opened(t, &fallback.Options{Breakers: set}, target("a", llmtest.Text("one two")))
		func() {
			defer func() { _ = recover() }()
			_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { panic("mine") })
		}()
		if st := set.Status("a").State; st != breaker.HalfOpen {
			t.Errorf("a panic of the caller's sink has made it %s", st)
		}
		want(t, "the next one", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"}.with("one two"))
	})
}

func (o outcome) with(text string) outcome { o.text = text; return o }

// TestOneProbeAtATime: when a breaker is due, many callers at once make one probe.
func TestOneProbeAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		time.Sleep(331 * s)
		a := target("a", llmtest.Text("a").After(3*s))
		c := opened(t, &fallback.Options{Breakers: set}, a, target("b", llmtest.Text("b")))
		var calls sync.WaitGroup
		for range 500 {
			calls.Go(func() { ask(t.Context(), c, triage()) })
		}
		calls.Wait()
		if n := asked(a); n != 1 {
			t.Errorf("%d probes", n)
		}
	})
}

// TestSettleAndAllowFromManyCalls: what one call sets others read.
func TestSettleAndAllowFromManyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: policy.Plan{Hedge: policy.Hedge{After: 4 * s, Share: 1}}}},
			named("a", newProvider(6, 0.1, 0.3)), named("b", newProvider(7, 0.2, 0.3)), named("c", newProvider(8, 0.1, 0.1)))
		var calls sync.WaitGroup
		for i := range 300 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%40)*s)
				defer cancel()
				var sink llm.Sink
				if i%3 == 0 {
					sink = func(llm.Event) error { return nil }
				}
				req := within(20 * s)
				req.Session = fmt.Sprint(i % 7)
				start := time.Now()
				_, _ = c.Generate(ctx, req, sink)
				if over := time.Since(start) - time.Duration(1+i%40)*s; over > 0 {
					t.Errorf("%v late", over)
				}
				c.Status()
			})
			time.Sleep(100 * time.Millisecond)
		}
		calls.Wait()
		synctest.Wait()
		for _, st := range c.Status() {
			if st.InFlight != 0 {
				t.Errorf("%s has %d attempts in flight", st.Target, st.InFlight)
			}
		}
	})
}

// TestTheFallbackIsReachedInTime: a primary that hangs, and a deadline as long as an attempt may take.
func TestTheFallbackIsReachedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*s)
			c := planned(t, exact(), target("a", llmtest.Hang()), target("b", llmtest.Text("ok").After(6*s)))
			want(t, "hanging primary", ask(ctx, c, triage()), outcome{text: "ok", trail: "a:timeout(attempt)@15s b:answered@6s", took: 21 * s})
			cancel()
		}
	})
}

// TestNothingIsLeftAfterACancel: no goroutine and no timer, for unary calls, streams, watched calls and hedges.
func TestNothingIsLeftAfterACancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, plan := range []policy.Plan{{}, {Watch: policy.WatchOn}, {Hedge: policy.Hedge{After: s, Share: 1}}, {Backoff: policy.Backoff{Base: 9 * s}}} {
			for _, sink := range []llm.Sink{nil, func(llm.Event) error { return nil }} {
				for _, first := range []llmtest.Step{llmtest.Hang(), llmtest.Hang(llmtest.PhaseStream), fail(llm.ErrUnavailable)} {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(5*s, cancel)
					c := planned(t, plan, target("a", first), target("b", llmtest.Hang()))
					start := time.Now()
					_, err := c.Generate(ctx, within(30*s), sink)
					if llm.KindOf(err) != llm.ErrCanceled || time.Since(start) != 5*s {
						t.Errorf("%+v, stream %v, %+v: %v after %v", plan, sink != nil, first, err, time.Since(start))
					}
					if err := c.Close(t.Context()); err != nil { // it waits for a loser
						t.Error(err)
					}
				}
			}
		}
	}) // synctest fails if anything of this is still there
}

// TestRetryAfterOfEachFormIsAFloor: however a provider asks for a rest, it gets it.
func TestRetryAfterOfEachFormIsAFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC()
		for _, header := range []map[string][]string{
			{"Retry-After-Ms": {"7000"}},
			{"X-Ms-Retry-After-Ms": {"7000"}},
			{"Retry-After": {"7"}},
			{"Retry-After": {"7.0"}},
			{"Retry-After": {now.Add(7 * s).Format(http.TimeFormat)}, "Date": {now.Format(http.TimeFormat)}},
			{"Retry-After-Ms": {"0"}, "Retry-After": {"7"}},
			{"X-Amz-Retry-After": {"7000"}},
			{"Grpc-Retry-Pushback-Ms": {"7000"}},
			{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"7s"}},
		} {
			for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				e := llm.HTTPError(code, header, nil)
				resp, err := planned(t, exact(), target("a", llmtest.Fail(e), llmtest.Text("ok"))).Generate(t.Context(), triage(), nil)
				if err != nil {
					t.Errorf("%d %v: %v", code, header, err)
					continue
				}
				if wait := resp.Attempts[1].Wait; wait < 7*s || wait > 10500*time.Millisecond {
					t.Errorf("%d %v: waited %v", code, header, wait)
				}
			}
		}
	})
}
