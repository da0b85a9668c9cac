package breaker_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// The outcomes of calls, by a letter each for scripts.
var outcomes = map[rune]breaker.Outcome{
	's': {},                        // success
	't': {Weight: 0.5},             // timeout
	'f': {Weight: 1},               // failure
	'w': {Weight: 1, Wire: true},   // failure of the wire
	'h': {Weight: 0.5, Wire: true}, // half a failure of the wire
	'n': {Weight: -1},              // nothing
}

const target = "azure"

func allow(t *testing.T, set *breaker.Set) breaker.Permit {
	t.Helper()
	p, err := set.Allow(target)
	if err != nil {
		t.Fatalf("Allow: %v", err)
	}
	return p
}

// play makes one call for each letter of the script.
func play(t *testing.T, set *breaker.Set, script string) {
	t.Helper()
	for _, letter := range script {
		p := allow(t, set)
		p.Settle(outcomes[letter])
	}
}

// refused checks that a call is, and returns until when.
func refused(t *testing.T, set *breaker.Set) time.Time {
	t.Helper()
	p, err := set.Allow(target)
	e, ok := errors.AsType[*breaker.OpenError](err)
	if !ok {
		t.Fatalf("Allow = %v, want an *OpenError", err)
	}
	if e.Name != target {
		t.Errorf("OpenError names %q, want %q", e.Name, target)
	}
	p.Settle(breaker.Outcome{Weight: 1}) // of a zero Permit
	return e.Until
}

func stateIs(t *testing.T, set *breaker.Set, want breaker.State) {
	t.Helper()
	if got := set.Status(target).State; got != want {
		t.Errorf("state %q, want %q", got, want)
	}
}

// sleepOut waits until the breaker asks for a probe.
func sleepOut(t *testing.T, set *breaker.Set) time.Duration {
	t.Helper()
	wait := set.Wait(target)
	if wait <= 0 {
		t.Fatalf("Wait = %v, want an open breaker", wait)
	}
	time.Sleep(wait)
	return wait
}

func repeat(o breaker.Outcome, n int) []breaker.Outcome {
	all := make([]breaker.Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

func scripted(scripts ...string) []breaker.Outcome {
	var all []breaker.Outcome
	for _, script := range scripts {
		for _, letter := range script {
			all = append(all, outcomes[letter])
		}
	}
	return all
}

func times(n int, script string) string {
	all := ""
	for range n {
		all += script
	}
	return all
}

// TestOpens plays outcomes one after the other and looks after which call the breaker is open.
func TestOpens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		threshold float64
		every     time.Duration // between two calls
		outcomes  []breaker.Outcome
		opens     int // the call that opens it; 0: none
	}{
		{name: "three failures", outcomes: scripted("fff"), opens: 3},
		{name: "six timeouts", outcomes: scripted("tttttt"), opens: 6},
		{name: "a failure is two timeouts", outcomes: scripted("tftf"), opens: 4},
		{name: "one over the threshold opens too", outcomes: scripted("tttttf"), opens: 6},
		{name: "failures of the wire count alike", outcomes: scripted("hhwhh"), opens: 5},
		{name: "a success starts the count again", outcomes: scripted("ffsttttts"), opens: 0},
		{name: "nothing is no success and no failure", outcomes: scripted("fnnfnnnf"), opens: 8},
		{name: "nothing never opens it", outcomes: scripted(times(50, "n")), opens: 0},
		{name: "time does not start the count again", every: time.Hour, outcomes: scripted("fff"), opens: 3},
		{name: "a threshold of one", threshold: 1, outcomes: scripted("stt"), opens: 3},
		{name: "a threshold between", threshold: 2.5, outcomes: scripted("ttttt"), opens: 5},
		{name: "thirty tenths are three exactly", outcomes: repeat(breaker.Outcome{Weight: 0.1}, 30), opens: 30},
		{name: "a negative threshold is the default", threshold: -1, outcomes: scripted("fff"), opens: 3},
		{name: "a threshold that is no number is the default", threshold: math.NaN(), outcomes: scripted("fff"), opens: 3},
		{name: "an infinite threshold never opens it alone", threshold: math.Inf(1), outcomes: scripted(times(200, "f")), opens: 0},
		{name: "a weight is at most one", outcomes: repeat(breaker.Outcome{Weight: 7}, 3), opens: 3},
		{name: "an infinite weight is one", outcomes: repeat(breaker.Outcome{Weight: math.Inf(1)}, 3), opens: 3},
		{name: "a weight that is no number is nothing", outcomes: repeat(breaker.Outcome{Weight: math.NaN()}, 50), opens: 0},
		{name: "minus infinity is nothing", outcomes: repeat(breaker.Outcome{Weight: math.Inf(-1)}, 50), opens: 0},
		{name: "a tiny weight is a failure all the same", threshold: 0.001, outcomes: repeat(breaker.Outcome{Weight: 1e-9}, 1), opens: 1},

		{name: "window: every second call times out", outcomes: scripted(times(20, "ts")), opens: 19},
		{name: "window: every second call fails, from ten calls on", outcomes: scripted(times(10, "fs")), opens: 11},
		{name: "window: a quarter exactly", outcomes: scripted(times(10, "sssf")), opens: 20},
		{name: "window: just under a quarter", outcomes: scripted("s", times(50, "sssf")), opens: 0},
		{name: "window: one timeout in three is too few", outcomes: scripted(times(100, "tss")), opens: 0},
		{name: "window: ten calls are enough", outcomes: scripted("sffsffs", "ttf"), opens: 10},
		{name: "window: nine are not", outcomes: scripted("ffsffs", "ttf"), opens: 0},
		{name: "window: nothing is no call", outcomes: scripted("ffsffs", "ttnf"), opens: 0},
		{name: "window: four and a half are not enough", outcomes: scripted("ffsffstss", "sss"), opens: 0},
		{name: "window: its score is the threshold if that is more", threshold: 10, outcomes: scripted(times(20, "fs")), opens: 19},
		{name: "window: its score is never less than five", threshold: 2, outcomes: scripted(times(20, "tss"), times(9, "fs")), opens: 0},
		{name: "window: five of 13 in two minutes", every: 8 * s, outcomes: scripted(times(50, "fss")), opens: 13},
		{name: "window: four of 12 in two minutes", every: 10 * s, outcomes: scripted(times(50, "fss")), opens: 0},
		{name: "window: a call is forgotten after two minutes", every: 14 * s, outcomes: scripted(times(50, "fs")), opens: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(&breaker.Options{Threshold: tt.threshold})
				opened := 0
				for i, o := range tt.outcomes {
					p := allow(t, set)
					p.Settle(o)
					if set.Status(target).State != breaker.Closed {
						opened = i + 1
						break
					}
					time.Sleep(tt.every)
				}
				if opened != tt.opens {
					t.Errorf("call %d of %d opened it, want %d", opened, len(tt.outcomes), tt.opens)
				}
			})
		})
	}
}
