package breaker_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

// TestOpenRefusesUntilTheInstant follows one opening after the other: refused until the promised instant,
// admitted at it, whatever the jitter.
func TestOpenRefusesUntilTheInstant(t *testing.T) {
	t.Parallel()
	for _, openFor := range []time.Duration{0, 30 * s, 7 * ms, time.Nanosecond} {
		t.Run(openFor.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(&breaker.Options{OpenFor: openFor})
				play(t, set, "fff")
				for range 50 {
					wait := set.Wait(target)
					until := time.Now().Add(wait)
					if got := refused(t, set); !got.Equal(until) {
						t.Fatalf("OpenError.Until is in %v, Wait %v", time.Until(got), wait)
					}
					if got := set.Status(target); got.State != breaker.Open || !got.Until.Equal(until) {
						t.Fatalf("Status = %+v, want open until %v", got, until)
					}
					time.Sleep(wait - 1)
					refused(t, set)
					if got := set.Wait(target); got != 1 {
						t.Fatalf("Wait = %v a nanosecond before the end", got)
					}
					time.Sleep(time.Nanosecond)
					if got := set.Wait(target); got != 0 {
						t.Fatalf("Wait = %v at the promised instant", got)
					}
					if got := set.Status(target); got.State != breaker.HalfOpen || !got.Until.IsZero() {
						t.Fatalf("Status = %+v, want half-open without an end", got)
					}
					play(t, set, "f")
				}
			})
		})
	}
}

// TestJitter looks at many openings: within ±10 %, on both sides, and drawn anew each time.
func TestJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		play(t, set, "fff")
		seen := map[time.Duration]bool{}
		shortest, longest := time.Hour, time.Duration(0)
		for range 300 {
			wait := sleepOut(t, set)
			seen[wait] = true
			shortest, longest = min(shortest, wait), max(longest, wait)
			play(t, set, "f")
		}
		if shortest < 270*s || longest > 330*s {
			t.Errorf("openings of %v to %v, want within 270 to 330 s", shortest, longest)
		}
		if shortest > 280*s || longest < 320*s || len(seen) < 290 {
			t.Errorf("%d lengths from %v to %v: no spread", len(seen), shortest, longest)
		}
	})
}

// TestOpenForEver: the longest openings are not the shortest ones, whatever the jitter.
func TestOpenForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, openFor := range []time.Duration{24 * 365 * time.Hour, math.MaxInt64 / 2, math.MaxInt64} {
			for _, script := range []string{"fff", "www"} {
				for range 20 {
					set := breaker.NewSet(&breaker.Options{OpenFor: openFor})
					play(t, set, script)
					least := 300 * 24 * time.Hour
					if script == "www" {
						least = 4 * s
					}
					if got := set.Wait(target); got < least {
						t.Fatalf("open for %v after %s: it refuses for %v", openFor, script, got)
					}
				}
			}
		}
	})
}

// TestProbe: after the wait one call at a time, and what each outcome of it does.
func TestProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		o     breaker.Outcome
		state breaker.State
		score float64
	}{
		{"success", outcomes['s'], breaker.Closed, 0},
		{"failure", outcomes['f'], breaker.Open, 4},
		{"timeout", outcomes['t'], breaker.Open, 3.5},
		{"a tiny weight", breaker.Outcome{Weight: 1e-9}, breaker.Open, 3.001},
		{"nothing", outcomes['n'], breaker.HalfOpen, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(nil)
				play(t, set, "fff")
				sleepOut(t, set)
				probe := allow(t, set)
				for range 3 {
					time.Sleep(time.Hour)
					if until := refused(t, set); !until.IsZero() {
						t.Errorf("Until = %v with the probe out", until)
					}
					if got := set.Wait(target); got != 0 {
						t.Errorf("Wait = %v with the probe out", got)
					}
				}
				probe.Settle(tt.o)
				probe.Settle(outcomes['f']) // the first counts
				if got := set.Status(target); got.State != tt.state || got.Score != tt.score {
					t.Errorf("Status = %+v, want %s with score %g", got, tt.state, tt.score)
				}
			})
		})
	}
}

func TestNeutralProbeGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		play(t, set, "fff")
		sleepOut(t, set)
		for range 100 {
			probe := allow(t, set)
			refused(t, set)
			time.Sleep(s)
			probe.Settle(outcomes['n'])
		}
		play(t, set, "s")
		stateIs(t, set, breaker.Closed)
	})
}

// TestClosedStartsAfresh: nothing from before an opening counts after it.
func TestClosedStartsAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(&breaker.Options{OpenFor: s})
		play(t, set, "ssssfff")
		sleepOut(t, set)
		play(t, set, "s")
		play(t, set, "fsfssss") // with the three failures from before these were five of fifteen
		stateIs(t, set, breaker.Closed)
		play(t, set, "ff")
		stateIs(t, set, breaker.Closed)
		play(t, set, "f")
		stateIs(t, set, breaker.Open)
	})
}

// TestStaleResults settles calls of an earlier state in each state that can follow.
func TestStaleResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		stale := make([]breaker.Permit, 40)
		for i := range stale {
			stale[i] = allow(t, set)
		}
		settle := func(script string) {
			for _, letter := range script {
				stale[0].Settle(outcomes[letter])
				stale = stale[1:]
			}
		}
		play(t, set, "fff")

		settle("sftn") // open
		wait := set.Wait(target)
		time.Sleep(5 * ms) // gobreaker's own open state is over
		settle("sftn")
		if got := set.Wait(target); got != wait-5*ms {
			t.Errorf("Wait = %v, want %v", got, wait-5*ms)
		}
		stateIs(t, set, breaker.Open)
		refused(t, set)

		sleepOut(t, set)
		settle("sftn") // half-open, no probe yet
		probe := allow(t, set)
		settle("sftn") // half-open, probe out
		stateIs(t, set, breaker.HalfOpen)
		refused(t, set)
		probe.Settle(outcomes['s'])

		settle("ffffff") // closed again
		if got := set.Status(target); got != (breaker.Status{State: breaker.Closed}) {
			t.Errorf("Status = %+v after stale failures, want closed", got)
		}
		play(t, set, "ff")
		settle("ss") // no success of now
		play(t, set, "f")
		stateIs(t, set, breaker.Open)
	})
}

// TestLeakedPermit: a closed breaker does not miss a permit that never comes back.
func TestLeakedPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		for range 1000 {
			allow(t, set)
		}
		play(t, set, "sfff")
		sleepOut(t, set)
		play(t, set, "s")
		stateIs(t, set, breaker.Closed)
	})
}

func TestPermitSettlesOnce(t *testing.T) {
	t.Parallel()
	set := breaker.NewSet(nil)
	p := allow(t, set)
	for range 10 {
		p.Settle(outcomes['f'])
	}
	if got := set.Status(target).Score; got != 1 {
		t.Errorf("score %g, want 1", got)
	}
	var zero breaker.Permit
	zero.Settle(outcomes['f'])
}

func TestNamesAreApart(t *testing.T) {
	t.Parallel()
	set := breaker.NewSet(nil)
	play(t, set, "fff")
	if _, err := set.Allow("bedrock"); err != nil {
		t.Errorf("Allow: %v for a target that has done nothing", err)
	}
	if got := set.Status("unheard of"); got != (breaker.Status{State: breaker.Closed}) {
		t.Errorf("Status = %+v for a name never used", got)
	}
	if got := set.Wait("unheard of"); got != 0 {
		t.Errorf("Wait = %v for a name never used", got)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []breaker.Change
		set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) { changes = append(changes, c) }})
		set.Forget(target) // never used
		play(t, set, "ff")
		out := []breaker.Permit{allow(t, set), allow(t, set), allow(t, set), allow(t, set)}
		other, _ := set.Allow("bedrock")
		set.Forget(target)
		for i := range out {
			out[i].Settle(outcomes['f'])
		}
		if got := set.Status(target); got != (breaker.Status{State: breaker.Closed}) {
			t.Errorf("Status = %+v, want a new breaker's", got)
		}
		if len(changes) > 0 {
			t.Errorf("changes of a forgotten breaker: %v", changes)
		}

		play(t, set, "fff") // a new breaker, told of again
		sleepOut(t, set)
		probe := allow(t, set)
		set.Forget(target)
		probe.Settle(outcomes['f'])
		play(t, set, "s")
		if len(changes) != 2 {
			t.Errorf("changes: %v, want open and half-open of the second breaker", changes)
		}
		other.Settle(outcomes['f'])
		if got := set.Status("bedrock").Score; got != 1 {
			t.Errorf("another target's score is %g, want 1", got)
		}
	})
}

func TestOpenErrorText(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 30, 6, 8, 53, 0, time.UTC)
	for err, want := range map[error][]string{
		&breaker.OpenError{Name: target, Until: until}: {`"azure"`, "2026-11-30T06:08:53Z"},
		&breaker.OpenError{Name: target}:               {`"azure"`, "probe"},
	} {
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %s", err, part)
			}
		}
	}
	if _, ok := errors.AsType[*breaker.OpenError](errors.Join(&breaker.OpenError{})); !ok {
		t.Error("no *OpenError in the chain")
	}
}

// TestManyNames: a new name costs the same however many there are. Not parallel: it looks at what is allocated.
func TestManyNames(t *testing.T) {
	set := breaker.NewSet(nil)
	cost := func(names int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range names {
			p, err := set.Allow(fmt.Sprint(names, "-", i))
			if err != nil {
				t.Fatal(err)
			}
			p.Settle(breaker.Outcome{})
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(names)
	}
	few := cost(100)
	if many := cost(10_000); many > 3*few {
		t.Errorf("%d bytes a name at first, %d among ten thousand", few, many)
	}
}
