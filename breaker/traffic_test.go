package breaker_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

// TestLongTimeouts: one call a second, each of which hangs until its timeout. gobreaker's own windows of a
// minute never see such calls.
func TestLongTimeouts(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{30 * s, 60 * s, 90 * s, 300 * s} {
		t.Run(timeout.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var opened []time.Duration
				start := time.Now()
				set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
					if c.To == breaker.Open {
						opened = append(opened, c.At.Sub(start))
					}
				}})
				for range 600 {
					if p, err := set.Allow(target); err == nil {
						go func() {
							time.Sleep(timeout)
							p.Settle(outcomes['t'])
						}()
					}
					time.Sleep(s)
				}
				time.Sleep(timeout)
				synctest.Wait()
				if len(opened) == 0 || opened[0] != timeout+5*s {
					t.Errorf("opened at %v, want first at %v: when the sixth has timed out", opened, timeout+5*s)
				}
				if set.Status(target).State == breaker.Closed {
					t.Error("closed again, though nothing has succeeded")
				}
			})
		})
	}
}

// traffic is calls at an even rate whose outcomes are drawn.
type traffic struct {
	rate               float64 // a second
	lasts              time.Duration
	timeouts, failures float64 // parts of all calls
}

// openings plays the traffic and counts how often the breaker opens, and the calls that were let through.
func (tr traffic) openings(seed uint64) (opened, calls int) {
	r := rand.New(rand.NewPCG(seed, 0))
	set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
		if c.To == breaker.Open {
			opened++
		}
	}})
	gap := time.Duration(float64(s) / tr.rate)
	for end := time.Now().Add(tr.lasts); time.Now().Before(end); time.Sleep(gap) {
		p, err := set.Allow(target)
		if err != nil {
			continue
		}
		calls++
		switch draw := r.Float64(); {
		case draw < tr.timeouts:
			p.Settle(outcomes['t'])
		case draw < tr.timeouts+tr.failures:
			p.Settle(outcomes['f'])
		default:
			p.Settle(outcomes['s'])
		}
	}
	return opened, calls
}

// perCall is how often the threshold of 3 opens, for a call of this traffic, if every call is independent of
// the others: a run of calls without a success between them must come to six halves before it ends.
func (tr traffic) perCall() float64 {
	var reaches [8]float64 // from so many halves
	reaches[6], reaches[7] = 1, 1
	for halves := 5; halves >= 0; halves-- {
		reaches[halves] = tr.timeouts*reaches[halves+1] + tr.failures*reaches[halves+2]
	}
	return (1 - tr.timeouts - tr.failures) * reaches[0] // each success starts a run
}

func TestHealthyTrafficNeverOpens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		traffic
	}{
		{"0.5 % timeouts and 1 % failures at 20 rps for an hour", traffic{20, time.Hour, 0.005, 0.01}},
		{"5 % timeouts and 3 % failures at 2 rps for 50 min", traffic{2, 50 * time.Minute, 0.05, 0.03}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opened, calls := tt.openings(1)
				if opened > 0 {
					t.Errorf("opened %d times in %d calls", opened, calls)
				}
				t.Logf("%d calls; the threshold's arithmetic expects %.3f openings of them", calls, tt.perCall()*float64(calls))
			})
		})
	}
}

// TestOpensNoMoreOftenThanTheThresholdSays: three independent failures in a row do happen. Over a long time
// the breaker opens as often as that, and the rule of the window adds nothing.
func TestOpensNoMoreOftenThanTheThresholdSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		traffic
	}{
		{"0.5 % timeouts and 1 % failures at 20 rps for 3 h", traffic{20, 3 * time.Hour, 0.005, 0.01}},
		{"5 % timeouts and 3 % failures at 2 rps for 25 h", traffic{2, 25 * time.Hour, 0.05, 0.03}},
		{"10 % timeouts and 5 % failures at 2 rps for 25 h", traffic{2, 25 * time.Hour, 0.10, 0.05}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opened, calls := tt.openings(1)
				expected := tt.perCall() * float64(calls)
				// A probe that fails opens too: once for each opening and part of calls that fail.
				expected /= 1 - tt.timeouts - tt.failures
				t.Logf("%d openings of %d calls; the threshold's arithmetic: %.1f, one in %.0f calls", opened, calls, expected, float64(calls)/expected)
				if spread := 3*math.Sqrt(expected) + 1; math.Abs(float64(opened)-expected) > spread {
					t.Errorf("opened %d times, want %.1f ± %.1f", opened, expected, spread)
				}
			})
		})
	}
}

func TestOutageOpens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		traffic
	}{
		{"95 % hangs at 2 rps within 20 s", traffic{2, 20 * s, 0.95, 0}},
		{"60 % hangs and 5 % failures at 2 rps within a minute", traffic{2, time.Minute, 0.60, 0.05}},
		{"30 % hangs and 10 % failures at 2 rps within a minute", traffic{2, time.Minute, 0.30, 0.10}},
		{"95 % hangs at a call a minute within an hour", traffic{1.0 / 60, time.Hour, 0.95, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					if opened, calls := tt.openings(seed); opened == 0 {
						t.Errorf("seed %d: still closed after %d calls", seed, calls)
					}
				})
			}
		})
	}
}
