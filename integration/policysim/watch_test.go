package policysim

import (
	"testing"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// watchLine is a line of the table of unary calls that are streamed inside, with the prototype's figures for
// each of the three ways: answered % / p50 s / p99 s / calls.
type watchLine struct {
	scenario
	prototype [3]string
}

// TestSplitWatched is the prototype's table: all calls at once, no breaker, 10 s between two pieces at most.
func TestSplitWatched(t *testing.T) {
	t.Parallel()
	line := func(name string, deadline, attempt, median time.Duration, a, b, c faults, prototype ...string) watchLine {
		return watchLine{scenario{name, deadline, attempt, median, [3]faults{a, b, c}}, [3]string(prototype)}
	}
	healthy := faults{}
	lines := []watchLine{
		line("D 30, op 30, median 6: healthy", 30*s, 30*s, 6*s, healthy, healthy, healthy, "99.3 / 6.0 / 26.2 / 1.23", "99.7 / 6.0 / 22.7 / 1.00", "same"),
		line("D 30: primary hangs", 30*s, 30*s, 6*s, hangs, healthy, healthy, "96.6 / 15.8 / 28.8 / 2.18", "98.0 / 15.9 / 27.3 / 2.00", "same"),
		line("D 30: all three 20 % hang", 30*s, 30*s, 6*s, fifth, fifth, fifth, "95.7 / 7.1 / 28.4 / 1.49", "97.7 / 7.2 / 27.1 / 1.25", "same"),
		line("D 30: primary stalls mid-answer", 30*s, 30*s, 6*s, stalls, healthy, healthy, "96.6 / 15.8 / 28.8 / 2.18", "94.1 / 19.4 / 29.3 / 2.00", "same"),
		line("D 60, op 45, median 20: healthy", 60*s, 45*s, 20*s, healthy, healthy, healthy, "87.2 / 18.3 / 59.0 / 1.75", "96.1 / 19.6 / 56.4 / 1.00", "same"),
		line("D 60 median 20: primary hangs", 60*s, 45*s, 20*s, hangs, healthy, healthy, "75.3 / 36.4 / 59.6 / 2.50", "89.2 / 38.4 / 59.0 / 2.00", "92.5 / 33.9 / 58.3 / 2.00"),
		line("D 90, op 90, median 20: healthy", 90*s, 90*s, 20*s, healthy, healthy, healthy, "98.7 / 19.9 / 82.6 / 1.30", "99.4 / 20.0 / 73.2 / 1.00", "same"),
		line("D 90 median 20: primary hangs", 90*s, 90*s, 20*s, hangs, healthy, healthy, "94.6 / 49.1 / 88.2 / 2.23", "97.3 / 49.5 / 84.7 / 2.00", "99.0 / 34.7 / 81.0 / 2.00"),
	}
	rows := make([][3]result, len(lines))
	t.Run("lines", func(t *testing.T) {
		for i, l := range lines {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				for way, plan := range []policy.Plan{
					{Watch: policy.WatchOff},
					{Limits: llm.Limits{Idle: 10 * s}},
					{Limits: llm.Limits{Idle: 10 * s, FirstContent: 15 * s}},
				} {
					rows[i][way] = l.play(t, uint64(i), sized(4000, 100), atOnce, l.ours(breaker.Options{Threshold: never}, plan))
				}
				l.check(t, rows[i])
			})
		}
	})
	tb := table{{"scenario", "prototype: unary", "ours", "prototype: watched", "ours", "prototype: first content 15 s", "ours"}}
	for i, l := range lines {
		cells := []string{l.name}
		for way, r := range rows[i] {
			cells = append(cells, l.prototype[way], r.long())
		}
		tb.add(cells...)
	}
	tb.print(t, "Unary calls streamed inside, no breaker: answered % / p50 s / p99 s / calls per request")
}

func (l *watchLine) check(t *testing.T, rows [3]result) {
	t.Helper()
	for way, r := range rows {
		if r.late > 0 {
			t.Errorf("%d requests returned after their deadline", r.late)
		}
		want := l.prototype[way]
		if want == "same" {
			want = l.prototype[way-1]
		}
		share := figures(t, want)[0] / 100
		if r.answered < share-noise(share, r.requests) {
			t.Errorf("%.2f %% answered, the prototype %s", 100*r.answered, want)
		}
	}
}
