package policysim

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// table is printed as Markdown, when the tests that fill it are over.
type table [][]string

func (tb *table) add(cells ...string) { *tb = append(*tb, cells) }

func (tb *table) print(t *testing.T, title string) {
	t.Helper()
	if len(*tb) == 0 {
		return
	}
	widths := make([]int, len((*tb)[0]))
	for _, row := range *tb {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", title)
	for n, row := range *tb {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range widths {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
	fmt.Fprintln(t.Output(), b.String())
}

// figures are the numbers of a cell of the notes.
func figures(t *testing.T, cell string) []float64 {
	t.Helper()
	var all []float64
	for word := range strings.SplitSeq(cell, " / ") {
		f, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}
