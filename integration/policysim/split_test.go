package policysim

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/policy"
)

var _ = synctest.Test

type line struct {
	scenario
	equal, equalBreaker string
}

var (
	hangs  = faults{hang: 1}
	broken = faults{hang: 0.3, fail: 0.1, slow: 2}
	fifth  = faults{hang: 0.2, fail: 0.05}
	half   = faults{hang: 0.5}
)

func lines() []line {
	mk := func(name string, d, op, median time.Duration, a, b, c faults, eq, eb string) line {
		return line{scenario{name, d, op, median, [3]faults{a, b, c}}, eq, eb}
	}
	return []line{
		mk("D 60, op 45: healthy", 60*s, 45*s, 6*s, usual, usual, usual, "100 / 27.7 / 1.06", ""),
		mk("D 60: primary hangs", 60*s, 45*s, 6*s, hangs, usual, usual, "99.9 / 47.9 / 2.06", "100 / 33.3"),
		mk("D 60: primary 30 % hang, 10 % 5xx, 2x slow", 60*s, 45*s, 6*s, broken, usual, usual, "99.9 / 44.4 / 1.62", ""),
		mk("D 60: all three 20 % hang, 5 % 5xx", 60*s, 45*s, 6*s, fifth, fifth, fifth, "98.6 / 60 / 1.37", ""),
		mk("D 60: first two hang", 60*s, 45*s, 6*s, hangs, hangs, usual, "96.6 / 60 / 3.02", "99.50; 99.95"),
		mk("D 60: primary throttled to 60 %", 60*s, 45*s, 6*s, faults{hang: .005, fail: .025, limit: 1.2}, usual, usual, "99.97 / 27.1 / 1.54", ""),
		mk("D 30, op 30: healthy", 30*s, 30*s, 6*s, usual, usual, usual, "99.1 / 29.8 / 1.27", ""),
		mk("D 30: primary hangs", 30*s, 30*s, 6*s, hangs, usual, usual, "95.5 / 30 / 2.24", "99.4"),
		mk("D 30: 30 % hang, 2x slow", 30*s, 30*s, 6*s, faults{hang: .3, slow: 2}, usual, usual, "96.5 / 30 / 2.04", ""),
		mk("D 90, op 90, long: healthy", 90*s, 90*s, 20*s, usual, usual, usual, "98.5 / 90 / 1.35", ""),
		mk("D 90 long: primary hangs", 90*s, 90*s, 20*s, hangs, usual, usual, "93.2 / 90 / 2.29", ""),
		mk("D 30: all three 20 % hang", 30*s, 30*s, 6*s, faults{hang: .2}, faults{hang: .2}, faults{hang: .2}, "94.8", "92.1; 92.9"),
		mk("D 30: all three 50 % hang", 30*s, 30*s, 6*s, half, half, half, "77.2", "42.3; 65.0"),
		mk("D 60: all three 50 % hang", 60*s, 45*s, 6*s, half, half, half, "84.9", "65.0; 79.1"),
	}
}

func TestSplit(t *testing.T) {
	for i, l := range lines() {
		sc := l.scenario
		n := sized(5000, 200)
		run := func(with func(*testing.T, []*provider) rules) string {
			r := sc.play(t, uint64(i), n, poisson(uint64(i), 2), with)
			return fmt.Sprintf("%6.2f / %4.1f / %4.1f / %4.2f %d", 100*r.share(), r.p50.Seconds(), r.p99.Seconds(), r.calls, r.late)
		}
		ours := func(th float64, p policy.Plan) string {
			return run(func(t *testing.T, ps []*provider) rules { return sc.chain(t, ps, th, p) })
		}
		fmt.Fprintf(t.Output(), "%-42s | %-20s %-12s | eq %s | eqB %s | ours %s | B %s | BW %s\n", l.name, l.equal, l.equalBreaker,
			run(sc.equalShare(false)), run(sc.equalShare(true)),
			ours(never, policy.Plan{Watch: policy.WatchOff}), ours(0, policy.Plan{Watch: policy.WatchOff}), ours(0, policy.Plan{}))
	}
	_ = math.Pi
}
