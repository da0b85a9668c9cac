package breaker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

// opening checks the length of the opening that has just begun and waits it out.
func opening(t *testing.T, set *breaker.Set, shortest, longest time.Duration) {
	t.Helper()
	if wait := sleepOut(t, set); wait < shortest || wait > longest {
		t.Fatalf("open for %v, want %v to %v", wait, shortest, longest)
	}
}

func fullOpening(t *testing.T, set *breaker.Set) {
	t.Helper()
	opening(t, set, 270*s, 330*s)
}

func wireOpening(t *testing.T, set *breaker.Set, nominal time.Duration) {
	t.Helper()
	opening(t, set, nominal*9/10, nominal)
}

// TestShortCut is a cut of the local network of 200 ms with 100 calls in flight to each of 30 targets. Most fail
// during the cut, some only when their connections are used again. Nothing may be open for more than 5 s.
func TestShortCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		start := time.Now()
		var names []string
		for i := range 30 {
			name := fmt.Sprintf("target-%d", i)
			names = append(names, name)
			for call := range 100 {
				go func() {
					p, err := set.Allow(name)
					if err != nil {
						t.Errorf("%s refused before the cut: %v", name, err)
						return
					}
					after := time.Duration(1+call*2) * ms // during the cut …
					if call >= 80 {
						after = time.Duration(call-79) * 400 * ms // … and long after it, in any state
					}
					time.Sleep(after)
					p.Settle(outcomes['w'])
				}()
			}
		}
		time.Sleep(200 * ms)
		for _, name := range names {
			if got := set.Status(name); got.State != breaker.Open || got.Until.Sub(start) > 5200*ms {
				t.Errorf("%s after the cut: %+v, want open for at most 5 s", name, got)
			}
		}
		time.Sleep(5 * s)
		for _, name := range names {
			p, err := set.Allow(name)
			if err != nil {
				t.Errorf("%s is refused 5 s after the cut: %v", name, err)
			}
			p.Settle(breaker.Outcome{})
		}
		time.Sleep(5 * s) // the last stale ones
		for _, name := range names {
			if got := set.Status(name); got != (breaker.Status{State: breaker.Closed}) {
				t.Errorf("%s in the end: %+v, want closed", name, got)
			}
		}
	})
}

func TestWireOpeningsDouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		play(t, set, "www")
		for _, nominal := range []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s} {
			wireOpening(t, set, nominal)
			play(t, set, "nnh") // no verdict, no change; half a failure of the wire is one
		}
		sleepOut(t, set)
		play(t, set, "s")
		play(t, set, "www")
		wireOpening(t, set, 5*s) // a success starts from the shortest again
		play(t, set, "w")
		wireOpening(t, set, 10*s)
		play(t, set, "t") // a probe that failed otherwise
		fullOpening(t, set)
		play(t, set, "w") // nothing but the wire made this one
		wireOpening(t, set, 5*s)
	})
}

// TestWireOrNot: what the first opening is, by what it was made of.
func TestWireOrNot(t *testing.T) {
	t.Parallel()
	const full = 300 * s
	tests := []struct {
		name    string
		script  string
		openFor time.Duration
		want    time.Duration
	}{
		{"failures of the wire", "www", full, 5 * s},
		{"halves of them", "hhhhhh", full, 5 * s},
		{"failures of the provider", "fff", full, full},
		{"the last is the provider's", "wwf", full, full},
		{"the first is the provider's", "fww", full, full},
		{"one timeout among them", "wwtw", full, full},
		{"a failure before the last success is not part of it", "fswww", full, 5 * s},
		{"in the window: the wire alone", "wwsswwssssw", full, 5 * s},
		{"in the window: with one timeout", "twsswwsswsw", full, full},
		{"never longer than OpenFor", "www", 2 * s, 2 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(&breaker.Options{OpenFor: tt.openFor})
				play(t, set, tt.script)
				if tt.want == full {
					fullOpening(t, set)
					return
				}
				wireOpening(t, set, tt.want)
			})
		})
	}
}
