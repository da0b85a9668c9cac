package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// span prints a time with three digits that count: "0.42 s", "12.8 s", "3m00s".
func span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < 99950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
}

// shorten leaves the middle of a name out so that it takes n columns at the most.
func shorten(name string, n int) string {
	runes := []rune(name)
	if len(runes) <= n {
		return name
	}
	head := (n - 1 + 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(n-1-head):])
}

// pad fills s with blanks up to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0))
}

// padLeft puts blanks in front of s up to n columns.
func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0)) + s
}

// outcome is the Kind's own word for the end of an attempt, with the bound or the status in brackets.
func outcome(a *llm.Attempt, answered string) string {
	switch {
	case a.Kind == "":
		return answered
	case a.Bound != "":
		return fmt.Sprintf("%s (%s)", string(a.Kind), string(a.Bound))
	case a.Status != 0:
		return fmt.Sprintf("%s (%d)", string(a.Kind), a.Status)
	default:
		return string(a.Kind)
	}
}

// skipWord says why a target of the plan was passed over.
func skipWord(s llm.Skip) string {
	word := "skipped: " + strings.ReplaceAll(string(s.Why), "_", " ")
	if s.Why == llm.SkipOpen {
		word = "skipped: breaker open"
	}
	if s.For > 0 {
		word += ", " + span(s.For) + " more"
	}
	return word
}
