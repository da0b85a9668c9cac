package policysim

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// The brown-out of the notes: 100 workers with 1 s a request, of which 40 are left for a minute.
const (
	workers, left = 100, 40
	dimmed        = 60 * s
	bright        = 120 * s
	whole         = 280 * s
	patience      = 10 * s // of one attempt
)

// queue is a provider with a queue. It works off what nobody waits for any more, too.
type queue struct {
	start time.Time

	mu       sync.Mutex
	free     [workers]time.Duration // when each of them is
	attempts map[int]int            // by ten seconds
}

// Generate waits for a worker and its work.
func (q *queue) Generate(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
	r := ctx.Value(requestKey{}).(*request)
	service := time.Duration(draws(3, r.n, r.tries[0]).ExpFloat64() * float64(s))
	r.tries[0]++
	if !sleep(ctx, q.enter(service)) {
		return nil, context.Cause(ctx)
	}
	return answer(), nil
}

// enter is how long a request takes that comes now.
func (q *queue) enter(service time.Duration) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Since(q.start)
	q.attempts[int(now/(10*s))]++
	best, begin := 0, time.Duration(1<<62)
	for i, free := range q.free {
		at := max(free, now)
		if i >= left && at >= dimmed && at < bright {
			at = bright
		}
		if at < begin {
			best, begin = i, at
		}
	}
	q.free[best] = begin + service
	return q.free[best] - now
}

// brownout is what came of one.
type brownout struct {
	during, peak float64 // attempts per request: in the minute, and of the worst ten seconds
	after        float64 // the share answered of the minute after it
	recovered    int     // seconds after it until nine of ten are answered for good; -1: never
	all          float64 // the share answered of the whole run
}

func (b brownout) String() string {
	recovered := "never"
	if b.recovered >= 0 {
		recovered = fmt.Sprintf("%d s", b.recovered)
	}
	return fmt.Sprintf("%.2f / %.2f / %.1f %% / %s / %.1f %%", b.during, b.peak, 100*b.after, recovered, 100*b.all)
}

func playBrownout(t *testing.T, rate float64, plan policy.Plan, breakers breaker.Options) (out brownout) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{start: time.Now(), attempts: map[int]int{}}
		plan.Limits.Attempt, plan.Limits.Total = patience, 100*s
		c, err := fallback.New([]fallback.Target{{Name: "a", Generator: q, Prompt: true}}, &fallback.Options{
			Plans: policy.Plans{Default: plan}, Breakers: breaker.NewSet(&breakers),
		})
		if err != nil {
			t.Fatal(err)
		}
		call, come := calls(c), poisson(5, rate)
		asked, answered := map[int]int{}, map[int]int{} // by the ten seconds in which they began
		var mu sync.Mutex
		var all sync.WaitGroup
		for n := 0; ; n++ {
			at := come(n)
			if at >= whole {
				break
			}
			sleep(t.Context(), time.Until(q.start.Add(at)))
			bin := int(at / (10 * s))
			asked[bin]++
			all.Go(func() {
				err := call(context.WithValue(t.Context(), requestKey{}, &request{n: n}))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered[bin]++
				}
			})
		}
		all.Wait()
		out = q.judge(asked, answered)
	})
	return out
}

func (q *queue) judge(asked, answered map[int]int) (out brownout) {
	sum := func(of map[int]int, from, to time.Duration) (n float64) {
		for bin := int(from / (10 * s)); bin < int(to/(10*s)); bin++ {
			n += float64(of[bin])
		}
		return n
	}
	out.during = sum(q.attempts, dimmed, bright) / sum(asked, dimmed, bright)
	out.after = sum(answered, bright, bright+60*s) / sum(asked, bright, bright+60*s)
	out.all = sum(answered, 0, whole) / sum(asked, 0, whole)
	out.recovered = -1
	for bin := int(whole/(10*s)) - 1; bin >= 0; bin-- {
		out.peak = max(out.peak, float64(q.attempts[bin])/float64(asked[bin]))
		if bin >= int(bright/(10*s)) && out.recovered < 0 && float64(answered[bin]) < 0.9*float64(asked[bin]) {
			out.recovered = (bin + 1 - int(bright/(10*s))) * 10
		}
	}
	switch {
	case out.recovered < 0:
		out.recovered = 0
	case out.recovered >= int((whole-bright)/s):
		out.recovered = -1
	}
	return out
}

// TestBrownout: retries that do not help stop by themselves, so that the provider recovers as if nobody had
// retried.
func TestBrownout(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("PUNCTUAL_SIM=full runs it")
	}
	tb := table{{"4 tries", "notes, λ 60", "here, λ 60", "notes, λ 80", "here, λ 80"}}
	off := breaker.Options{Threshold: never}
	for _, l := range []struct {
		name, notes60, notes80 string
		plan                   policy.Plan
		breakers               breaker.Options
	}{
		{"no retry", "1.00 / 1.00 / 92.3 % / 20 s", "1.00 / 1.00 / – / 90 s / 70.0 %", policy.Plan{MaxRetries: policy.NoRetries}, off},
		{"ours: tokens 100, cost 10", "1.01 / 1.06 / 91.7 % / 10 s", "1.00 / 1.08 / – / 80 s / 70.0 %", policy.Plan{}, off},
		{"ours, with the breaker", "", "", policy.Plan{}, breaker.Options{}},
	} {
		low := playBrownout(t, 60, l.plan, l.breakers)
		high := playBrownout(t, 80, l.plan, l.breakers)
		tb.add(l.name, l.notes60, low.String(), l.notes80, high.String())
		if l.breakers.Threshold == never && (low.peak > 1.1 || high.peak > 1.1 || low.recovered < 0 || high.recovered < 0) {
			t.Errorf("%s: %v; %v", l.name, low, high)
		}
	}
	tb.print(t, "A brown-out: attempts per request in it / at the peak / answered of the minute after / recovered after / answered of all")
}
