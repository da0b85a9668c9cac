package main

import (
	"fmt"
	"io"
	"strings"
)

// The columns of a table, as their figures and with their decimals.
var columns = []struct {
	head     string
	decimals int
	of       func(*figures) float64
}{
	{"in deadline %", 1, func(f *figures) float64 { return f.inDeadline }},
	{"p50 ms", 0, func(f *figures) float64 { return f.p50 }},
	{"p99 ms", 0, func(f *figures) float64 { return f.p99 }},
	{"upstream calls/success", 2, func(f *figures) float64 { return f.perAnswer }},
	{"calls to primary, % of calls", 0, func(f *figures) float64 { return f.toPrimary }},
	{"max overrun ms", 1, func(f *figures) float64 { return f.overrun }},
	{"upstream left open", 0, func(f *figures) float64 { return f.leftOpen }},
}

// write writes the rows as a table.
func write(w io.Writer, results []result) {
	heads := []string{"row"}
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	fmt.Fprintf(w, "| %s |\n|---|%s\n", strings.Join(heads, " | "), strings.Repeat("---:|", len(columns)))
	for i := range results {
		cells := []string{results[i].row.Name}
		for _, c := range columns {
			cells = append(cells, results[i].spread(c.of).Format(c.decimals))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
}
