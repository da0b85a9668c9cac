package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// timeline draws a trail: a row for each attempt on one scale of time, and one for each target that was
// passed over. It is the one drawing of a call, wherever a call is shown.
type timeline struct {
	attempts []llm.Attempt
	skipped  []llm.Skip
	order    []string           // of the targets: a skipped one stands before those behind it; nil: at the end
	answered string             // the outcome of the attempt that answered; "": "answered"
	begin    time.Time          // where the bar begins; zero: with the first attempt
	length   time.Duration      // what the whole bar stands for; 0: from the first attempt to the end of the last
	width    int                // columns of a row; 0 is 80
	under    func(i int) string // a line below the i-th attempt; nil: none
	paint    paint              // of outcomes
}

const (
	maxName  = 16
	minCells = 10
)

// The cells of a bar.
const (
	cellWait     = '.' // the back-off before the attempt
	cellSilent   = '#' // no content yet
	cellContent  = '=' // content arriving
	cellCut      = 'x' // a limit of ours ended it
	cellLeftOver = ' '
)

// row is one line of the drawing, before its bar is made.
type row struct {
	name, took, outcome string
	attempt             *llm.Attempt // nil: passed over
	skip                *llm.Skip    // nil: an attempt
	index               int
}

// write draws the timeline to w.
func (t *timeline) write(w io.Writer) error {
	rows := t.rows()
	name, took, end := 0, len("0.00 s"), 0
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r.name))
		took = max(took, len(r.took))
		end = max(end, utf8.RuneCountInString(r.outcome))
	}
	width := t.width
	if width == 0 {
		width = 80
	}
	cells := max(width-len("  ")-name-len(" ||  ")-took-len("  ")-end, minCells)
	cells = min(cells, width*3/8)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(t.line(&r, name, cells, took) + "\n")
		if t.under != nil && r.attempt != nil {
			if line := t.under(r.index); line != "" {
				b.WriteString("      " + line + "\n") // not below the bar: it would not fit
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line draws a row whose name, bar and time have those widths.
func (t *timeline) line(r *row, name, cells, took int) string {
	line := "  " + pad(r.name, name) + " |" + t.bar(r.attempt, cells) + "| " + padLeft(r.took, took)
	switch {
	case r.outcome == "":
		return line
	case r.skip != nil:
		return line + "  " + t.paint.word(colourNote, r.outcome)
	case r.attempt.Kind == "":
		return line + "  " + t.paint.word(colourGood, r.outcome)
	default:
		return line + "  " + t.paint.word(colourBad, r.outcome)
	}
}

// oneRow draws a row before those behind it are known: their names are those of order, and no outcome is wider than
// widestOutcome. The bar stands for length.
func (t *timeline) oneRow(r row) string {
	name := 0
	for _, target := range t.order {
		name = max(name, utf8.RuneCountInString(shorten(target, maxName)))
	}
	const width, took = 80, len("0.00 s")
	cells := width - len("  ") - name - len(" ||  ") - took - len("  ") - len(widestOutcome)
	return t.line(&r, name, min(cells, width*3/8), took)
}

const widestOutcome = "skipped: breaker open, 14.6 s more"

// attemptRow is the row of the i-th attempt.
func (t *timeline) attemptRow(i int) row {
	a := &t.attempts[i]
	answered := t.answered
	switch {
	case answered == "" && a.Usage.Reported:
		answered = fmt.Sprintf("answered, %d tokens", a.Usage.Output)
	case answered == "":
		answered = "answered"
	}
	took := span(a.Took)
	if a.NotSent {
		took = "-"
	}
	return row{shorten(a.Target, maxName), took, outcome(a, answered), a, nil, i}
}

func (t *timeline) rows() []row {
	rows := make([]row, 0, len(t.attempts)+len(t.skipped))
	skipped := t.skipped
	for i := range t.attempts {
		a := &t.attempts[i]
		for len(skipped) > 0 && t.before(skipped[0].Target, a.Target) {
			rows, skipped = append(rows, skipRow(&skipped[0])), skipped[1:]
		}
		rows = append(rows, t.attemptRow(i))
	}
	for i := range skipped {
		rows = append(rows, skipRow(&skipped[i]))
	}
	return rows
}

func skipRow(s *llm.Skip) row {
	return row{shorten(s.Target, maxName), "-", skipWord(*s), nil, s, -1}
}

// before reports whether target a is known to come before target b.
func (t *timeline) before(a, b string) bool {
	i := slices.Index(t.order, a)
	return i >= 0 && i < slices.Index(t.order, b)
}

// bar draws one attempt on the scale of the whole call. Every attempt has at least one cell.
func (t *timeline) bar(a *llm.Attempt, cells int) string {
	bar := []rune(strings.Repeat(string(cellLeftOver), cells))
	if a == nil {
		return string(bar)
	}
	begin, length := t.scale()
	cell := func(at time.Duration) int {
		return min(max(int(int64(at)*int64(cells)/int64(length)), 0), cells)
	}
	start := a.Start.Sub(begin)
	from, to := min(cell(start), cells-1), cell(start+a.Took)
	to = max(to, from+1)
	content := to
	if a.FirstContent > 0 {
		content = min(max(cell(start+a.FirstContent), from), to)
	}
	for i := cell(start - a.Wait); i < from; i++ {
		bar[i] = cellWait
	}
	for i := from; i < to; i++ {
		bar[i] = cellSilent
		if i >= content {
			bar[i] = cellContent
		}
	}
	if a.Bound != "" {
		bar[to-1] = cellCut
	}
	return string(bar)
}

// scale is where the bar begins and how much time it stands for.
func (t *timeline) scale() (begin time.Time, length time.Duration) {
	begin, length = t.begin, t.length
	if begin.IsZero() {
		first := &t.attempts[0]
		begin = first.Start.Add(-first.Wait)
	}
	if length == 0 {
		last := &t.attempts[len(t.attempts)-1]
		length = last.Start.Add(last.Took).Sub(begin)
	}
	return begin, max(length, 1)
}
