package breaker_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

// log collects changes; OnChange never runs twice at once, so it needs no lock.
type log []breaker.Change

func (l *log) add(c breaker.Change) { *l = append(*l, c) }

func (l *log) states() []breaker.State {
	var states []breaker.State
	for _, c := range *l {
		states = append(states, c.To)
	}
	return states
}

// inOrder checks that each change of a name begins where the one before it ended.
func (l *log) inOrder(t *testing.T) {
	t.Helper()
	last := map[string]breaker.Change{}
	for _, c := range *l {
		before, ok := last[c.Name]
		if !ok {
			before = breaker.Change{To: breaker.Closed}
		}
		if c.From != before.To || c.From == c.To || c.At.Before(before.At) {
			t.Errorf("%+v came after %+v", c, before)
		}
		last[c.Name] = c
	}
}

func TestOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes log
		set := breaker.NewSet(&breaker.Options{OnChange: changes.add})
		start := time.Now()
		out := allow(t, set)
		play(t, set, "sfff")
		time.Sleep(s)
		out.Settle(outcomes['s']) // stale: gobreaker becomes half-open, nobody hears
		wait := sleepOut(t, set)
		set.Status(target) // a look changes nothing
		time.Sleep(s)
		play(t, set, "nf")
		again := sleepOut(t, set)
		play(t, set, "nns")

		half := start.Add(s + wait + s)
		closed := half.Add(again)
		want := log{
			{Name: target, From: breaker.Closed, To: breaker.Open, At: start},
			{Name: target, From: breaker.Open, To: breaker.HalfOpen, At: half},
			{Name: target, From: breaker.HalfOpen, To: breaker.Open, At: half},
			{Name: target, From: breaker.Open, To: breaker.HalfOpen, At: closed},
			{Name: target, From: breaker.HalfOpen, To: breaker.Closed, At: closed},
		}
		same := func(a, b breaker.Change) bool {
			return a.Name == b.Name && a.From == b.From && a.To == b.To && a.At.Equal(b.At)
		}
		if !slices.EqualFunc(changes, want, same) {
			t.Errorf("changes:\n%v\nwant:\n%v", changes, want)
		}
	})
}

// TestOnChangeMayUseTheSet: calls from inside do not deadlock, and what they change is told afterwards.
func TestOnChangeMayUseTheSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes log
		var set *breaker.Set
		inside := false
		set = breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
			if inside {
				t.Error("OnChange runs inside itself")
			}
			inside = true
			defer func() { inside = false }()
			changes.add(c)
			if got := set.Status(c.Name).State; got != c.To {
				t.Errorf("Status in OnChange: %s, want %s", got, c.To)
			}
			set.Wait(c.Name)
			if c.Name != target {
				return
			}
			refused(t, set)
			for range 3 {
				p, err := set.Allow("another")
				if err != nil {
					t.Error(err)
				}
				p.Settle(outcomes['f'])
			}
			set.Forget("a third")
		}})
		play(t, set, "fff")
		if len(changes) != 2 || changes[1].Name != "another" {
			t.Errorf("changes: %v, want the target's, then another's", changes)
		}
	})
}

// TestSlowOnChange: only the call that runs OnChange waits for it; others go on, and their changes are told
// later, in order.
func TestSlowOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes log
		set := breaker.NewSet(&breaker.Options{OpenFor: s, OnChange: func(c breaker.Change) {
			time.Sleep(time.Minute)
			changes.add(c)
		}})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { play(t, set, "fff") })
		time.Sleep(2 * s)
		play(t, set, "f")
		time.Sleep(2 * s)
		play(t, set, "s")
		if took := time.Since(start); took != 4*s {
			t.Errorf("other calls took %v, want 4 s", took)
		}
		stateIs(t, set, breaker.Closed)
		wg.Wait() // the first call tells everything
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("the call that runs OnChange took %v, want five times a minute", took)
		}
		want := []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Open, breaker.HalfOpen, breaker.Closed}
		if got := changes.states(); !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		changes.inOrder(t)
	})
}

// TestPanicInOnChange: it goes to the call that runs OnChange; the state is right and the rest is told.
func TestPanicInOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes log
		set := breaker.NewSet(&breaker.Options{OnChange: func(c breaker.Change) {
			changes.add(c)
			panic(c.To)
		}})
		panics := func(want breaker.State, f func()) {
			t.Helper()
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %v", got, want)
				}
			}()
			f()
		}
		play(t, set, "ff")
		p := allow(t, set)
		panics(breaker.Open, func() { p.Settle(outcomes['f']) })
		p.Settle(outcomes['f']) // as its defer does
		stateIs(t, set, breaker.Open)
		refused(t, set)

		sleepOut(t, set)
		panics(breaker.HalfOpen, func() { _, _ = set.Allow(target) })
		probe := allow(t, set) // the slot was given back
		panics(breaker.Closed, func() { probe.Settle(outcomes['s']) })
		play(t, set, "ffs")
		if got, want := changes.states(), []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}; !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	})
}

// TestPanicLeavesNothingUntold: what was queued behind the change whose OnChange panicked is told at once.
func TestPanicLeavesNothingUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes log
		set := breaker.NewSet(&breaker.Options{OpenFor: s, OnChange: func(c breaker.Change) {
			changes.add(c)
			if len(changes) == 1 {
				time.Sleep(time.Minute)
				panic("mine")
			}
		}})
		var panicked any
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { panicked = recover() }()
			play(t, set, "fff")
		})
		time.Sleep(2 * s)
		play(t, set, "s") // two changes, queued behind the first
		wg.Wait()
		if panicked != "mine" {
			t.Errorf("recovered %v", panicked)
		}
		if got, want := changes.states(), []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}; !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	})
}

// TestRace uses a Set from many goroutines, with openings so short that every change of state happens under
// load, and checks that the changes told make sense.
func TestRace(t *testing.T) {
	t.Parallel()
	var changes log
	running := false
	set := breaker.NewSet(&breaker.Options{OpenFor: 3 * ms, OnChange: func(c breaker.Change) {
		if running {
			t.Error("OnChange runs twice at once")
		}
		running = true
		changes.add(c)
		running = false
	}})
	names := []string{"a", "b", "c"}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 20_000 {
				name := names[(worker+i)%len(names)]
				set.Wait(name)
				p, err := set.Allow(name)
				if err != nil {
					set.Status(name)
					continue
				}
				p.Settle(outcomes[rune("sfftwwn"[i%7])])
			}
		})
	}
	wg.Go(func() {
		for range 5_000 {
			_, _ = set.Allow("forgotten")
			set.Forget("forgotten")
		}
	})
	wg.Wait()
	changes.inOrder(t)
	opened := map[string]time.Time{}
	for _, c := range changes {
		switch after := c.At.Sub(opened[c.Name]); {
		case c.To == breaker.Open:
			opened[c.Name] = c.At
		case c.To == breaker.HalfOpen && after < 27*ms/10:
			t.Errorf("%s let a probe through after %v", c.Name, after)
		}
	}
	if len(changes) == 0 {
		t.Error("no change of state: the test tests nothing")
	}
	t.Logf("%d changes of state", len(changes))
}
