package breaker_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

// TestBypass: a call that went past its breaker closes it with an answer, as a probe does, and with nothing else.
func TestBypass(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, set *breaker.Set) {
		t.Helper()
		play(t, set, "fff")
		time.Sleep(s)
	}
	waited := func(t *testing.T, set *breaker.Set) {
		t.Helper()
		open(t, set)
		sleepOut(t, set)
	}
	half := func(t *testing.T, set *breaker.Set) { // a probe came, and had nothing to say
		t.Helper()
		waited(t, set)
		play(t, set, "n")
	}
	const o, h, c = breaker.Open, breaker.HalfOpen, breaker.Closed
	tests := []struct {
		name  string
		begin func(*testing.T, *breaker.Set)
		end   rune
		want  []breaker.State // told in all
	}{
		{"open, an answer", open, 's', []breaker.State{o, h, c}},
		{"open, a failure", open, 'f', []breaker.State{o}},
		{"open, a timeout", open, 't', []breaker.State{o}},
		{"open, a failure of the wire", open, 'w', []breaker.State{o}},
		{"open, nothing", open, 'n', []breaker.State{o}},
		{"its wait is over, an answer", waited, 's', []breaker.State{o, h, c}},
		{"its wait is over, a failure", waited, 'f', []breaker.State{o}},
		{"half open, an answer", half, 's', []breaker.State{o, h, c}},
		{"half open, a failure", half, 'f', []breaker.State{o, h}},
		{"half open, nothing", half, 'n', []breaker.State{o, h}},
		{"closed, an answer", func(*testing.T, *breaker.Set) {}, 's', nil},
		{"closed, a failure", func(*testing.T, *breaker.Set) {}, 'f', nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var changes log
				set := breaker.NewSet(&breaker.Options{OnChange: changes.add})
				tt.begin(t, set)
				before := set.Status(target)
				p := set.Bypass(target)
				p.Settle(outcomes[tt.end])
				p.Settle(outcomes['s']) // the first counts
				if got := changes.states(); !slices.Equal(got, tt.want) {
					t.Errorf("told %v, want %v", got, tt.want)
				}
				changes.inOrder(t)
				got := set.Status(target)
				switch {
				case tt.end != 's' && got != before:
					t.Errorf("Status = %+v, was %+v", got, before)
				case tt.end == 's' && got != (breaker.Status{State: breaker.Closed}):
					t.Errorf("Status = %+v, want closed", got)
				case tt.end == 's' && set.Wait(target) != 0:
					t.Errorf("Wait = %v, want none", set.Wait(target))
				}
			})
		})
	}
}

// TestBypassLeavesAProbeAlone: with a probe out, the state is the probe's.
func TestBypassLeavesAProbeAlone(t *testing.T) {
	t.Parallel()
	for end, want := range map[rune]breaker.State{'s': breaker.Closed, 'f': breaker.Open, 'n': breaker.HalfOpen} {
		synctest.Test(t, func(t *testing.T) {
			set := breaker.NewSet(nil)
			play(t, set, "fff")
			sleepOut(t, set)
			probe := allow(t, set)
			for _, letter := range "sftn" {
				p := set.Bypass(target)
				p.Settle(outcomes[letter])
				stateIs(t, set, breaker.HalfOpen)
				refused(t, set)
			}
			probe.Settle(outcomes[end])
			stateIs(t, set, want)
		})
	}
}

// TestBypassTakesNoSlot: whoever asks while the call is under way finds the breaker as if there were none, and
// what happens in the meantime decides.
func TestBypassTakesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		play(t, set, "fff")
		first, second := set.Bypass(target), set.Bypass(target)
		refused(t, set)
		sleepOut(t, set)
		play(t, set, "f") // a probe is admitted, and opens it again
		time.Sleep(s)
		first.Settle(outcomes['s'])
		stateIs(t, set, breaker.Closed)
		play(t, set, "ff")
		second.Settle(outcomes['s']) // closed by now: it was admitted before
		if got := set.Status(target).Score; got != 2 {
			t.Errorf("score %g, want 2", got)
		}
		play(t, set, "f")
		stateIs(t, set, breaker.Open)
	})
}

// TestBypassClosesAfresh: what closes it so closes it as a probe does.
func TestBypassClosesAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		answers := func() {
			t.Helper()
			time.Sleep(s)
			p := set.Bypass(target)
			p.Settle(outcomes['s'])
			stateIs(t, set, breaker.Closed)
		}
		stale := allow(t, set)
		play(t, set, "ssssfff")
		answers()
		stale.Settle(outcomes['f'])
		play(t, set, "fsfssss") // with the three failures from before these were five of fifteen
		stateIs(t, set, breaker.Closed)

		play(t, set, "www")
		sleepOut(t, set)
		play(t, set, "w") // 10 s
		answers()
		play(t, set, "www")
		if wait := set.Wait(target); wait > 5*s {
			t.Errorf("the opening after it lasts %v, want 5 s at most", wait)
		}
	})
}

// TestBypassAtTheInstant: within a millisecond of an opening an answer says nothing, and breaks nothing.
func TestBypassAtTheInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		play(t, set, "fff")
		p := set.Bypass(target)
		p.Settle(outcomes['s'])
		stateIs(t, set, breaker.Open)
		sleepOut(t, set)
		play(t, set, "s")
		stateIs(t, set, breaker.Closed)
	})
}

// TestBypassOfANewName is what any call does first.
func TestBypassOfANewName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		p := set.Bypass(target)
		p.Settle(outcomes['s'])
		stateIs(t, set, breaker.Closed)
		play(t, set, "fff")
		time.Sleep(s)
		p = set.Bypass(target)
		set.Forget(target)
		p.Settle(outcomes['s'])
		play(t, set, "ff")
		stateIs(t, set, breaker.Closed)
	})
}

// TestPanicInOnChangeOfABypass goes to the call that settles, and leaves no slot taken.
func TestPanicInOnChangeOfABypass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		armed := false
		set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
			if armed {
				panic(c.To)
			}
		}})
		play(t, set, "fff")
		time.Sleep(s)
		p := set.Bypass(target)
		armed = true
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is lost")
				}
			}()
			p.Settle(outcomes['s'])
		}()
		armed = false
		stateIs(t, set, breaker.Closed)
		play(t, set, "fff")
		stateIs(t, set, breaker.Open)
	})
}

// TestBypassRace: many calls with and without permits, while the state changes under them.
func TestBypassRace(t *testing.T) {
	t.Parallel()
	var changes log
	set := breaker.NewSet(&breaker.Options{OpenFor: 3 * ms, OnChange: changes.add})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 5_000 {
				p, err := set.Allow(target)
				if err != nil {
					p = set.Bypass(target)
				}
				p.Settle(outcomes[rune("sffffn"[(worker+i)%6])])
			}
		})
	}
	wg.Wait()
	changes.inOrder(t)
	for set.Wait(target) > 0 {
		runtime.Gosched()
	}
	play(t, set, "s") // no slot was lost
	stateIs(t, set, breaker.Closed)
	if len(changes) < 10 {
		t.Errorf("%d changes of state: the test tests nothing", len(changes))
	}
}
