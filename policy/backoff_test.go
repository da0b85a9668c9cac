package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/policy"
)

const forever = time.Duration(math.MaxInt64)

// TestDelay is the wait without chance.
func TestDelay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		base, max time.Duration
		try       int
		want      time.Duration
	}{
		{"one second after the first failure", 0, 0, 1, s},
		{"twice as long after the second", 0, 0, 2, 2 * s},
		{"and after the third", 0, 0, 3, 4 * s},
		{"and after the fourth", 0, 0, 4, 8 * s},
		{"at most ten seconds", 0, 0, 5, 10 * s},
		{"however often it failed", 0, 0, math.MaxInt, 10 * s},
		{"no failure counts as the first", 0, 0, 0, s},
		{"nor does a negative one", 0, 0, -7, s},
		{"a base of its own", 300 * ms, 0, 3, 1200 * ms},
		{"a longest of its own", 0, 3 * s, 3, 3 * s},
		{"a base beyond the longest", 20 * s, 0, 1, 10 * s},
		{"never shorter than 100 ms", ms, 0, 1, 100 * ms},
		{"unless the longest is", ms, 20 * ms, 9, 20 * ms},
		{"a longest of for ever", s, forever, 4, 8 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := policy.Backoff{Base: tt.base, Max: tt.max, Jitter: policy.JitterNone}
			if got := b.Delay(tt.try, 0, 0, nil); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestDelayJitter draws many waits: each lies within its bounds, and both ends are reached.
func TestDelayJitter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		backoff     policy.Backoff
		try         int
		prev        time.Duration
		least, most time.Duration
	}{
		{"±25 % of the first", policy.Backoff{}, 1, 0, 750 * ms, 1250 * ms},
		{"±25 % of the third", policy.Backoff{}, 3, 0, 3 * s, 5 * s},
		{"±25 % does not pass the longest", policy.Backoff{}, 9, 0, 7500 * ms, 10 * s},
		{"±25 % does not fall below 100 ms", policy.Backoff{Base: 110 * ms}, 1, 0, 100 * ms, 137500 * time.Microsecond},
		{"full", policy.Backoff{Jitter: policy.JitterFull}, 4, 0, 100 * ms, 8 * s},
		{"decorrelated without a wait before", policy.Backoff{Jitter: policy.JitterDecorrelated}, 1, 0, s, 3 * s},
		{"decorrelated after a wait", policy.Backoff{Jitter: policy.JitterDecorrelated}, 7, 2 * s, s, 6 * s},
		{"decorrelated up to the longest", policy.Backoff{Jitter: policy.JitterDecorrelated}, 7, 9 * s, s, 10 * s},
		{"decorrelated after a server's long wait", policy.Backoff{Jitter: policy.JitterDecorrelated}, 7, 60 * s, s, 10 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			shortest, longest := forever, time.Duration(0)
			for range 10_000 {
				d := tt.backoff.Delay(tt.try, tt.prev, 0, r)
				shortest, longest = min(shortest, d), max(longest, d)
			}
			if shortest < tt.least || longest > tt.most {
				t.Errorf("drawn from %v to %v, want within %v and %v", shortest, longest, tt.least, tt.most)
			}
			if slack := (tt.most - tt.least) / 100; shortest > tt.least+slack || longest < tt.most-slack {
				t.Errorf("drawn from %v to %v, which leaves out a part of %v to %v", shortest, longest, tt.least, tt.most)
			}
		})
	}
}

// TestDelayServerWait: what the server asks for is a floor, under every jitter and beyond the longest.
func TestDelayServerWait(t *testing.T) {
	t.Parallel()
	for _, j := range []policy.Jitter{policy.JitterProportional, policy.JitterFull, policy.JitterDecorrelated, policy.JitterNone} {
		t.Run(fmt.Sprintf("jitter %q", string(j)), func(t *testing.T) {
			t.Parallel()
			b := policy.Backoff{Jitter: j}
			r := rand.New(rand.NewPCG(3, 4))
			shortest, longest := forever, time.Duration(0)
			for range 10_000 {
				d := b.Delay(1, 0, 40*s, r)
				shortest, longest = min(shortest, d), max(longest, d)
			}
			if shortest < 40*s || shortest > 41*s || longest > 60*s || longest < 59*s {
				t.Errorf("40s asked for: drawn from %v to %v, want 40s to 1m", shortest, longest)
			}
			if d := b.Delay(4, 0, 10*ms, r); d < 100*ms {
				t.Errorf("a short wait of the server shortens ours to %v", d)
			}
		})
	}
	none := policy.Backoff{Jitter: policy.JitterNone}
	if d := none.Delay(4, 0, s, nil); d != 8*s {
		t.Errorf("the longer of the two is waited, 8s, got %v", d)
	}
	if d := none.Delay(1, 0, -s, nil); d != s {
		t.Errorf("a negative wait is none, got %v", d)
	}
}

// TestDelayNeverOverflows: absurd figures give long waits, not short ones and no negative ones.
func TestDelayNeverOverflows(t *testing.T) {
	t.Parallel()
	const long = 24 * time.Hour
	r := rand.New(rand.NewPCG(5, 6))
	for _, j := range []policy.Jitter{policy.JitterProportional, policy.JitterDecorrelated, policy.JitterNone} {
		b := policy.Backoff{Base: time.Hour, Max: forever, Jitter: j}
		for _, try := range []int{24, 40, 64, 200, math.MaxInt} {
			if d := b.Delay(try, forever, 0, r); j != policy.JitterDecorrelated && d < long || d < 30*time.Minute {
				t.Errorf("jitter %q, try %d: %v", string(j), try, d)
			}
		}
		if d := (policy.Backoff{Jitter: j}).Delay(1, 0, forever, r); d < long {
			t.Errorf("jitter %q: a server that asks for ever is asked again after %v", string(j), d)
		}
		if d := (policy.Backoff{Base: forever, Max: forever, Jitter: j}).Delay(2, forever, forever, r); d < long {
			t.Errorf("jitter %q: everything endless comes to %v", string(j), d)
		}
	}
}

// TestDelayDrawsByItself: without a source of its own it uses the runtime's.
func TestDelayDrawsByItself(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 100 {
		d := policy.Backoff{}.Delay(1, 0, 0, nil)
		if d < 750*ms || d > 1250*ms {
			t.Errorf("drew %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 50 {
		t.Errorf("a hundred draws gave %d waits", len(seen))
	}
}

func ExampleBackoff_Delay() {
	b := policy.Backoff{Jitter: policy.JitterNone}
	for try := 1; try <= 5; try++ {
		fmt.Print(b.Delay(try, 0, 0, nil), " ")
	}
	r := rand.New(rand.NewPCG(1, 1))
	wait := b.Delay(1, 0, 20*time.Second, r) // the server said Retry-After: 20
	fmt.Println(wait >= 20*time.Second, wait <= 30*time.Second)
	// Output: 1s 2s 4s 8s 10s true true
}
