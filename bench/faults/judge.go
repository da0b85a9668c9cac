package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// tolerance is how far the failsafe row may be from the figures that are known.
const tolerance = 0.10

// reference is the row that says whether a run can be compared.
const reference = "failsafe"

// repeats compares the failsafe row with the known figures, prints both and reports whether they are near.
func repeats(w io.Writer, f *fault, results []result) bool {
	if f.known == nil {
		fmt.Fprintf(w, "- %s: no call is answered, nothing to compare with\n", reference)
		return true
	}
	near := true
	var text []string
	for i := range results {
		if results[i].row.Name != reference {
			continue
		}
		for _, c := range []struct {
			name        string
			known, seen float64
			decimals    int
		}{
			{"p50", f.known.p50, results[i].spread(func(f *figures) float64 { return f.p50 }).Median, 0},
			{"p99", f.known.p99, results[i].median(p99), 0},
			{"calls", f.known.calls, results[i].median(perAnswer), 2},
		} {
			off := (c.seen - c.known) / c.known
			near = near && math.Abs(off) <= tolerance // false for NaN
			text = append(text, fmt.Sprintf("%s %.*f (known %.*f, %+.1f %%)", c.name, c.decimals, c.seen, c.decimals, c.known, 100*off))
		}
	}
	verdict := "comparable"
	if !near {
		verdict = "VOID: off by more than 10 %"
	}
	fmt.Fprintf(w, "- %s: %s: %s\n", reference, strings.Join(text, ", "), verdict)
	return near
}

// median is a row's figure in a column.
func (r *result) median(c column) float64 {
	return r.spread(func(f *figures) float64 {
		switch c {
		case inDeadline:
			return f.inDeadline
		case p99:
			return f.p99
		case perAnswer:
			return f.perAnswer
		case overrun:
			return f.overrun
		}
		return math.NaN()
	}).Median
}

// What counts as equal. A round has some 320 calls, so its p99 is its fourth-slowest call, and one slow call more
// or less moves it to its neighbour: about 80 ms away in the tails of these tables, which is 5 %.
const (
	equalShare = 0.35 // of a percent: one call of a round
	equalP99   = 0.05 // of the other's
	equalCalls = 0.02 // of the other's
)

// place is where a row of ours stands.
type place string

const (
	ahead  place = "first"
	equal  place = "equal"
	behind place = "BEHIND"
	none   place = "–"
)

// rank compares a row of ours with the best of the others in a column. p99 and calls are of answered calls,
// and a row that gives up on the slow ones looks fast: only rows that answer as many compete in these.
func rank(r *result, others []*result, c column) (place, float64) {
	best := math.NaN()
	for _, o := range others {
		if c != inDeadline && o.median(inDeadline) < r.median(inDeadline)-equalShare {
			continue
		}
		v := o.median(c)
		if math.IsNaN(best) || c == inDeadline && v > best || c != inDeadline && v < best {
			best = v
		}
	}
	ours := r.median(c)
	switch {
	case math.IsNaN(ours):
		return none, best
	case math.IsNaN(best):
		return ahead, best
	}
	gain, same := best-ours, best*equalCalls
	switch c {
	case inDeadline:
		gain, same = ours-best, equalShare
	case p99:
		same = best * equalP99
	case perAnswer, overrun:
	}
	switch {
	case gain > same:
		return ahead, best
	case gain < -same:
		return behind, best
	default:
		return equal, best
	}
}

// compare prints where our rows stand.
func compare(w io.Writer, results []result) {
	var others []*result
	for i := range results {
		if !results[i].row.Ours {
			others = append(others, &results[i])
		}
	}
	for i := range results {
		r := &results[i]
		if !r.row.Ours {
			continue
		}
		var text []string
		for _, c := range []struct {
			column   column
			decimals int
		}{{inDeadline, 1}, {p99, 0}, {perAnswer, 2}} {
			where, best := rank(r, others, c.column)
			line := fmt.Sprintf("%s %s", c.column, where)
			if !math.IsNaN(best) && where != none {
				line += fmt.Sprintf(" (%.*f, best other %.*f)", c.decimals, r.median(c.column), c.decimals, best)
			}
			text = append(text, line)
		}
		fmt.Fprintf(w, "- %s: %s\n", r.row.Name, strings.Join(text, "; "))
	}
}

// aims prints which of the fault's aims are met.
func aims(w io.Writer, f *fault, results []result) {
	for i := range results {
		r := &results[i]
		if !r.row.Ours {
			continue
		}
		wanted := []aim{{row: r.row.Name, column: overrun, most: mostOverrun}}
		for _, a := range f.aims {
			if a.row == r.row.Name {
				wanted = append(wanted, a)
			}
		}
		for _, a := range wanted {
			verdict, got := "met", r.median(a.column)
			if !(got <= a.most) {
				verdict = "MISSED"
			}
			fmt.Fprintf(w, "- aim: %s %s ≤ %g: %.4g %s\n", a.row, a.column, a.most, got, verdict)
		}
	}
}
