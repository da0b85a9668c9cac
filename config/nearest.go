package config

import (
	"math"
	"slices"
	"strings"
)

// nearest is the candidate that a mistyped word most likely means, "" if none is near: one that differs in two
// letters at the most, in a third of them if the word is long, or in capitals, dashes and underscores only.
func nearest(word string, candidates []string) string {
	most := max(2, len([]rune(word))/3)
	best, least := "", most+1
	for _, c := range candidates {
		d := distance(word, c)
		if squash(word) == squash(c) {
			d = 0
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

func squash(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance is how many letters have to be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) > 64 || len(y) > 64 {
		return math.MaxInt // a word that long is no slip of a key
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			next := diagonal
			if x[i] != y[j] {
				next = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(y)]
}

// list joins names for a message, in the order given.
func list(names []string) string { return strings.Join(names, ", ") }

// sorted is a sorted copy.
func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}
