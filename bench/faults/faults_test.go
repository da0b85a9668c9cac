package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/bench/caller"
	"github.com/punctual-llm/punctual/bench/stats"
)

func TestAMiniTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	void, err := command(t.Context(), []string{"-rounds", "1", "-seconds", "2", "-only", "throttle"}, &out)
	if err != nil || void {
		t.Fatalf("void %t, error %v", void, err)
	}
	for _, want := range []string{
		"| go-openai | 0.0 | – | – | – | 100 | ",
		"| handrolled | ", "| failsafe | ", "| punctual | ", "| punctual-first | ", "| punctual-hedge | ",
		"not compared", "aim: punctual upstream calls per answer ≤ 1.06: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "hangs"}, {"-rounds", "0"}, {"-seconds", "-1"}, {"-first", "2"}, {"-seconds", "0.0001"}} {
		if _, err := command(t.Context(), args, &strings.Builder{}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestSumCountsAnswersInTheDeadlineOnly(t *testing.T) {
	t.Parallel()
	got := sum([]outcome{
		{took: 100 * time.Millisecond, answered: true},
		{took: 300 * time.Millisecond, answered: true},
		{took: deadline + 4*time.Millisecond},
		{took: time.Millisecond},
	}, 6)
	want := figures{inDeadline: 50, p50: 100, p99: 300, perAnswer: 3, overrun: 4}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := sum([]outcome{{took: time.Second}}, 3); !math.IsNaN(none.perAnswer) || !math.IsNaN(none.p99) || none.overrun != 0 {
		t.Errorf("without an answer: %+v", none)
	}
}

// row is a result of one round.
func row(name string, ours bool, share, p50, p99, calls float64) result {
	return result{
		row:    caller.Row{Name: name, Ours: ours},
		rounds: []figures{{inDeadline: share, p50: p50, p99: p99, perAnswer: calls}},
	}
}

func TestARowIsComparedWithThoseThatAnswerAsMuch(t *testing.T) {
	t.Parallel()
	giving, taking := row("giving up", false, 94, 290, 1100, 1.06), row("asking", false, 100, 300, 1600, 1.10)
	others := []*result{&giving, &taking}
	for _, test := range []struct {
		ours result
		want [3]place
	}{
		{row("a", true, 100, 300, 1500, 1.05), [3]place{equal, ahead, ahead}},
		{row("b", true, 99.7, 300, 1670, 1.11), [3]place{equal, equal, equal}},
		{row("c", true, 99, 300, 1700, 1.2), [3]place{behind, behind, behind}},
		{row("d", true, 94.2, 300, 1100, 1.06), [3]place{behind, equal, equal}},
		{row("e", true, 0, math.NaN(), math.NaN(), math.NaN()), [3]place{behind, none, none}},
	} {
		for i, c := range []column{inDeadline, p99, perAnswer} {
			if got, _ := rank(&test.ours, others, c); got != test.want[i] {
				t.Errorf("%s: %s is %s, want %s", test.ours.row.Name, c, got, test.want[i])
			}
		}
	}
}

func TestARunIsVoidWhenFailsafeIsAnother(t *testing.T) {
	t.Parallel()
	f := &fault{known: &known{p50: 300, p99: 1500, calls: 1.2}}
	for _, test := range []struct {
		seen result
		near bool
	}{
		{row(reference, false, 100, 300, 1500, 1.2), true},
		{row(reference, false, 100, 329, 1370, 1.1), true},
		{row(reference, false, 100, 331, 1500, 1.2), false},
		{row(reference, false, 100, 300, 1340, 1.2), false},
		{row(reference, false, 100, 300, 1500, 1.33), false},
		{row(reference, false, 0, math.NaN(), math.NaN(), math.NaN()), false},
	} {
		var out strings.Builder
		if got := repeats(&out, f, []result{test.seen}); got != test.near || strings.Contains(out.String(), "VOID") == test.near {
			t.Errorf("%v: %t, %s", test.seen.rounds, got, out.String())
		}
	}
}

// The default seed is the first of 1, 2, 3 … whose draws alone put failsafe's row well inside the tolerance. A
// healthy attempt takes its latency; one that hangs or is longer than the limit costs the limit and goes to the
// next provider.
func TestTheDefaultSeedMeetsTheKnownFigures(t *testing.T) {
	t.Parallel()
	s := &settings{length: knownLength * time.Second, seed: defaultSeed}
	rounds := map[string][]figures{}
	for round := range 3 {
		c := s.course(round)
		for name, lost := range map[string]func(i int) bool{
			"healthy":  func(int) bool { return false },
			"hang5":    func(i int) bool { return c.fates[0][i][0].Luck < 0.05 },
			"hang":     c.heldUp(5, nil),
			"throttle": nil, // the primary is left at once and costs nothing
		} {
			var took []float64
			for i := range c.arrivals {
				from, cost := 0, 0.0
				switch {
				case lost == nil:
					from = 1
				case name == "hang":
					from = 1
					if lost(i) {
						cost = milliseconds(caller.AttemptLimit)
					}
				case lost(i):
					from, cost = 1, milliseconds(caller.AttemptLimit)
				}
				took = append(took, cost+c.from(from, i))
			}
			rounds[name] = append(rounds[name], figures{p50: stats.Percentile(took, 0.5), p99: stats.Percentile(took, 0.99)})
		}
	}
	for _, f := range faults() {
		if rounds[f.name] == nil {
			continue
		}
		r := result{rounds: rounds[f.name]}
		for what, pair := range map[string][2]float64{
			"p50": {r.spread(func(f *figures) float64 { return f.p50 }).Median, f.known.p50},
			"p99": {r.median(p99), f.known.p99},
		} {
			if off := math.Abs(pair[0]/pair[1] - 1); off > 0.07 {
				t.Errorf("%s: %s comes to %.0f ms, known are %.0f ms", f.name, what, pair[0], pair[1])
			}
		}
	}
}

// from is how long call i takes from the given provider on, all of them healthy.
func (c *course) from(place, i int) (took float64) {
	for ; place < providers; place++ {
		if l := c.fates[place][i][0].Latency; l < caller.AttemptLimit {
			return took + milliseconds(l)
		}
		took += milliseconds(caller.AttemptLimit)
	}
	return took
}

// heldUp says which calls a hanging primary holds up: those that come before the breaker has opened, after so
// many timeouts, and then one after each wait. The waits are ±10 % if there is a source for that.
func (c *course) heldUp(timeouts int, jitter *rand.Rand) func(i int) bool {
	wait := func() time.Duration {
		if jitter == nil {
			return caller.OpenFor
		}
		return time.Duration((0.9 + 0.2*jitter.Float64()) * float64(caller.OpenFor))
	}
	held := make([]bool, len(c.arrivals))
	opened := c.arrivals[timeouts-1] + caller.AttemptLimit
	probe := opened + wait()
	for i, at := range c.arrivals {
		switch {
		case at < opened:
			held[i] = true
		case at >= probe:
			held[i] = true
			probe = at + caller.AttemptLimit + wait()
		}
	}
	return func(i int) bool { return held[i] }
}

// Our breaker opens after six timeouts, failsafe's after five. What that comes to when the primary hangs is
// computed here over many seeds; -v shows the figures.
func TestSixTimeoutsAreHardlyMoreThanFive(t *testing.T) {
	t.Parallel()
	const seeds = 1000
	var p99s [2][]float64
	var held [2]int
	same, higher, near := 0, 0, 0
	for seed := range uint64(seeds) {
		s := &settings{length: knownLength * time.Second, seed: seed + 1}
		var rounds [2][]float64
		for round := range 3 {
			c := s.course(round)
			for i, lost := range []func(int) bool{c.heldUp(5, nil), c.heldUp(6, rand.New(rand.NewPCG(seed, uint64(round))))} {
				var took []float64
				for call := range c.arrivals {
					cost := 0.0
					if lost(call) {
						held[i]++
						cost = milliseconds(caller.AttemptLimit)
					}
					took = append(took, cost+c.from(1, call))
				}
				rounds[i] = append(rounds[i], stats.Percentile(took, 0.99))
			}
		}
		five, six := stats.Over(rounds[0]).Median, stats.Over(rounds[1]).Median
		p99s[0], p99s[1] = append(p99s[0], five), append(p99s[1], six)
		switch {
		case six == five:
			same++
		case six > five:
			higher++
		}
		if six <= five*(1+equalP99) {
			near++
		}
	}
	var medians [2]float64
	for i := range p99s {
		medians[i] = stats.Percentile(p99s[i], 0.5)
		t.Logf("%d timeouts: p99 %.0f ms (median of %d seeds), %.1f calls held up a round, at most 1755 ms in %d, at most 1680 ms in %d",
			5+i, medians[i], seeds, float64(held[i])/3/seeds, atMost(p99s[i], 1755), atMost(p99s[i], 1680))
	}
	t.Logf("six against five: the same in %d, higher in %d, at most 5 %% higher in %d", same, higher, near)
	if medians[1] > medians[0]*1.02 || near < seeds*9/10 {
		t.Errorf("p99 %.0f ms against %.0f ms, %d of %d at most 5 %% higher", medians[1], medians[0], near, seeds)
	}
}

func atMost(values []float64, bound float64) (n int) {
	for _, v := range values {
		if v <= bound {
			n++
		}
	}
	return n
}
