package main

import "github.com/punctual-llm/punctual/bench/mock"

// fault is one table: what the providers do, what the failsafe row was when it was first measured, and what
// our rows aim at.
type fault struct {
	name, title string
	mode        mock.Mode
	share       float64 // of the primary's requests; 0: all
	everywhere  bool    // all three providers have the fault
	known       *known
	aims        []aim
}

// known are the figures of the failsafe row in the measurement that this program repeats (three rounds of 8 s).
type known struct{ p50, p99, calls float64 }

// aim is a bound for a figure of one of our rows.
type aim struct {
	row    string
	column column
	most   float64
}

// column is a figure that rows are compared by.
type column string

const (
	inDeadline column = "in deadline"
	p99        column = "p99"
	perAnswer  column = "upstream calls per answer"
	overrun    column = "overrun"
)

const (
	table = "punctual"
	first = "punctual-first"
	hedge = "punctual-hedge"
)

// mostOverrun is the aim for every row of ours in every table.
const mostOverrun = 5

func faults() []fault {
	return []fault{
		{
			name: "healthy", title: "healthy (all three answer)",
			known: &known{p50: 293, p99: 1275, calls: 1.03},
		},
		{
			name: "hang", title: "primary hangs 100 % (it never answers)",
			mode: mock.Hang, known: &known{p50: 373, p99: 1755, calls: 1.25},
			aims: []aim{
				{row: table, column: p99, most: 1755},
				{row: table, column: perAnswer, most: 1.22},
				{row: first, column: p99, most: 1600},
				{row: hedge, column: p99, most: 1600},
			},
		},
		{
			name: "hang5", title: "primary hangs 5 % (of its requests)",
			mode: mock.Hang, share: 0.05, known: &known{p50: 306, p99: 1593, calls: 1.08},
			aims: []aim{{row: first, column: p99, most: 1300}, {row: hedge, column: p99, most: 1300}},
		},
		{
			name: "throttle", title: "primary 429, Retry-After 30 (at once)",
			mode: mock.Throttle, known: &known{p50: 314, p99: 1256, calls: 1.06},
			aims: []aim{
				{row: table, column: perAnswer, most: 1.06},
				{row: first, column: perAnswer, most: 1.06},
				{row: hedge, column: perAnswer, most: 1.06},
			},
		},
		{
			name: "fail", title: "primary 500 on 50 % (at once, on half of its requests)",
			mode: mock.Fail, share: 0.5, known: &known{p50: 320, p99: 1380, calls: 1.10},
		},
		{
			name: "trickle", title: "primary accepts, then trickles (headers, then a byte each 100 ms)",
			mode: mock.Trickle, known: &known{p50: 375, p99: 1680, calls: 1.24},
			aims: []aim{
				{row: table, column: p99, most: 1680},
				{row: first, column: p99, most: 1680},
				{row: hedge, column: p99, most: 1680},
			},
		},
		{
			name: "all-hang", title: "all three hang (nobody answers)",
			mode: mock.Hang, everywhere: true,
		},
	}
}

// options are those of the mock at one place, the primary being 0.
func (f *fault) options(place int, fates mock.Fates, firstContent float64) mock.Options {
	o := mock.Options{Fates: fates, First: firstContent}
	if place == 0 || f.everywhere {
		o.Mode, o.Share = f.mode, f.share
	}
	return o
}
