package policysim

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/policy"
)

// The faults of the notes.
var (
	hangs   = faults{hang: 1}
	stalls  = faults{stall: 1}
	half    = faults{hang: 0.5}
	fifth   = faults{hang: 0.2}
	fifth5  = faults{hang: 0.2, fail: 0.05}
	broken  = faults{hang: 0.3, slow: 2}
	broken5 = faults{hang: 0.3, fail: 0.1, slow: 2}
	limited = faults{hang: usual.hang, fail: usual.fail, limit: 1.2}
)

// splitLine is a line of the split table with the figures of the notes for "equal share": without a breaker,
// and with one.
type splitLine struct {
	scenario
	notes, notesBreaker string
	// worse and worseWatched say why the documented defaults answer less than the rule to be measured by, unary
	// and watched; "": they must not.
	worse, worseWatched string
}

const (
	allBroken = "all targets hang now and then, and one that opens is refused for 300 s and not for 30 s"
	tooSlow   = "a slow answer that goes on coming is not cut, and one in sixteen takes longer than the deadline"
)

func splitLines() []splitLine {
	line := func(name string, deadline, attempt, median time.Duration, a, b, c faults, notes, notesBreaker string, worse ...string) splitLine {
		worse = append(worse, "", "")
		return splitLine{scenario{name, deadline, attempt, median, [3]faults{a, b, c}}, notes, notesBreaker, worse[0], worse[1]}
	}
	return []splitLine{
		line("D 60, op 45: healthy", 60*s, 45*s, 6*s, usual, usual, usual, "100 / 27.7 / 1.06", ""),
		line("D 60: primary hangs", 60*s, 45*s, 6*s, hangs, usual, usual, "99.9 / 47.9 / 2.06", "100 / 33.3"),
		line("D 60: primary 30 % hang, 10 % 5xx, 2× slow", 60*s, 45*s, 6*s, broken5, usual, usual, "99.9 / 44.4 / 1.62", ""),
		line("D 60: all three 20 % hang, 5 % 5xx", 60*s, 45*s, 6*s, fifth5, fifth5, fifth5, "98.6 / 60 / 1.37", "", allBroken, allBroken),
		line("D 60: first two hang", 60*s, 45*s, 6*s, hangs, hangs, usual, "96.6 / 60 / 3.02", "99.50"),
		line("D 60: primary throttled to 60 %", 60*s, 45*s, 6*s, limited, usual, usual, "99.97 / 27.1 / 1.54", ""),
		line("D 30, op 30: healthy", 30*s, 30*s, 6*s, usual, usual, usual, "99.1 / 29.8 / 1.27", ""),
		line("D 30: primary hangs", 30*s, 30*s, 6*s, hangs, usual, usual, "95.5 / 30 / 2.24", "99.4"),
		line("D 30: primary 30 % hang, 2× slow", 30*s, 30*s, 6*s, broken, usual, usual, "96.5 / 30 / 2.04", "", "", tooSlow),
		line("D 90, op 90, long: healthy", 90*s, 90*s, 20*s, usual, usual, usual, "98.5 / 90 / 1.35", ""),
		line("D 90 long: primary hangs", 90*s, 90*s, 20*s, hangs, usual, usual, "93.2 / 90 / 2.29", ""),
		line("D 30: all three 20 % hang", 30*s, 30*s, 6*s, fifth, fifth, fifth, "94.8", "92.1", allBroken),
		line("D 30: all three 50 % hang", 30*s, 30*s, 6*s, half, half, half, "77.2", "42.3"),
		line("D 60: all three 50 % hang", 60*s, 45*s, 6*s, half, half, half, "84.9", "65.0"),
	}
}

func (r result) String() string {
	return fmt.Sprintf("%.2f / %.1f / %.2f", 100*r.answered, r.p99.Seconds(), r.calls)
}

// long has p50 and p99 of the answered requests alone, as the prototype's table does.
func (r result) long() string {
	return fmt.Sprintf("%.1f / %.1f / %.1f / %.2f", 100*r.answered, r.answers[0].Seconds(), r.answers[1].Seconds(), r.calls)
}

// TestSplit is the split table of the notes: 2 requests a second, three targets. The model is checked by the
// notes' own rule, and our rules are measured by it on the same random numbers.
func TestSplit(t *testing.T) {
	t.Parallel()
	off := policy.Plan{Watch: policy.WatchOff}
	lines := splitLines()
	rows := make([][]result, len(lines))
	t.Run("lines", func(t *testing.T) {
		for i, l := range lines {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				for _, with := range []maker{
					l.equalShare(false),
					l.ours(breaker.Options{Threshold: never}, off),
					l.equalShare(true),
					l.ours(notesBreaker, off),
					l.ours(breaker.Options{}, off),
					l.ours(breaker.Options{}, policy.Plan{}),
				} {
					rows[i] = append(rows[i], l.runs(t, uint64(i), with))
				}
				l.check(t, rows[i])
			})
		}
	})
	tb := table{{
		"scenario", "notes: equal share", "equal share here", "ours without breaker",
		"notes: with breaker", "equal share with breaker here", "ours with that breaker (5, 30 s)",
		"ours, defaults, unary (3, 300 s)", "ours, defaults, watched",
	}}
	for i, l := range lines {
		r := rows[i]
		tb.add(
			l.name, l.notes, r[0].String(), r[1].String(),
			l.notesBreaker, r[2].String(), r[3].String(), r[4].String(), r[5].String(),
		)
	}
	tb.print(t, "One deadline split over three targets: answered % / p99 s / calls per request")
}

// judgedBy is how many requests the noise of a cell is taken of. More are made: both sides have the same requests, so what
// strays from run to run is the jitter, and the bound is five deviations of that away.
const judgedBy = 9000

// runs is the mean over some seeds.
func (sc *scenario) runs(t *testing.T, seed uint64, with maker) result {
	t.Helper()
	var all []result
	for i := range sized(8, 1) {
		seed := seed + 100*uint64(i)
		all = append(all, sc.play(t, seed, sized(3000, 120), poisson(seed, 2), with))
	}
	return mean(all)
}

// check compares each row of ours with the rule to be measured by.
func (l *splitLine) check(t *testing.T, rows []result) {
	t.Helper()
	for _, r := range rows {
		if r.late > 0 {
			t.Errorf("%d requests returned after their deadline", r.late)
		}
	}
	equal, ours, equalBreaker, like, defaults, watched := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
	notWorse(t, "without a breaker", ours, equal)
	notWorse(t, "with the same breaker", like, equalBreaker)
	if l.worse == "" {
		notWorse(t, "with the defaults, unary", defaults, equalBreaker)
	}
	if l.worseWatched == "" {
		notWorse(t, "with the defaults, watched", watched, equalBreaker)
	}
	if !full {
		return
	}
	notes := figures(t, l.notes) // the model itself is checked by them
	if d := 100*equal.answered - notes[0]; d < -2 || d > 2 {
		t.Errorf("the model is not that of the notes: equal share answers %.2f %% here and %s there", 100*equal.answered, l.notes)
	}
	if len(notes) > 1 && (equal.p99.Seconds() > 1.1*notes[1] || equal.p99.Seconds() < 0.9*notes[1]) {
		t.Errorf("the model is not that of the notes: p99 of equal share is %v here and %s there", equal.p99, l.notes)
	}
}

func notWorse(t *testing.T, what string, ours, other result) {
	t.Helper()
	if least := other.answered - noise(other.answered, sized(judgedBy, other.requests)); ours.answered < least {
		t.Errorf("%s: %.2f %% answered, equal share %.2f %%", what, 100*ours.answered, 100*other.answered)
	}
	if full && ours.p99 > other.p99*11/10 {
		t.Errorf("%s: p99 %v, equal share %v", what, ours.p99, other.p99)
	}
}
