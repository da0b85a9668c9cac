package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// ErrNoTarget is what errors.Is finds in the error of [Load] and [Parse] when neither the file nor the environment
// names a target.
var ErrNoTarget = errors.New("no target is configured")

// maxProblems is how many problems an Error holds.
const maxProblems = 10

// Error is everything that is wrong with a configuration, in the order of the file. It never holds a value of a
// setting that could be a secret. errors.Is finds [llm.ErrInvalid] in it.
type Error struct {
	Problems []Problem // at most 10
	More     int       // how many further ones were left out
	noTarget bool
}

// Problem is one thing that is wrong.
type Problem struct {
	// File, Line and Column say where it is written, counted from 1 and in characters. File is "" for a problem of
	// the environment, Line is 0 where a whole file or the place of a missing key is meant.
	File         string
	Line, Column int
	// Variable is the environment variable that is wrong, "" for one of the file.
	Variable string
	Path     string // the setting: "plans.triage.attempt"
	What     string // what is wrong: "90 has no unit"
	Fix      string // what to write there: "write 90s"; may be empty
	Note     string // a further line: "there are: azure, bedrock", "next: …"; may be empty

	at      place
	picture string // the line, with everything left out that could be a secret
	mark    int    // where the mark stands under it
	noTgt   bool
}

// Error is all of it on one line: place, setting, what is wrong and what to write.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Detail is the error for a terminal: for each problem a line that says where and what, the line of the file with a
// mark, and what to write.
func (e *Error) Detail() string {
	var b strings.Builder
	for _, p := range e.Problems {
		b.WriteString(p.Detail())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", e.More)
	}
	return b.String()
}

// Format writes the one line, and with %+v what Detail returns.
func (e *Error) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'v' && f.Flag('+'):
		_, _ = io.WriteString(f, e.Detail())
	case verb == 'q':
		_, _ = fmt.Fprintf(f, "%q", e.Error())
	default:
		_, _ = io.WriteString(f, e.Error())
	}
}

// Is reports whether target is [llm.ErrInvalid], or [ErrNoTarget] if that is what is wrong.
func (e *Error) Is(target error) bool {
	return target == llm.ErrInvalid || target == ErrNoTarget && e.noTarget
}

// String is the problem on one line.
func (p Problem) String() string {
	s := p.head()
	for _, more := range []string{p.Fix, p.Note} {
		if more != "" {
			s += "; " + more
		}
	}
	return s
}

func (p Problem) head() string {
	var parts []string
	switch {
	case p.Variable != "":
		parts = append(parts, p.Variable)
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
	case p.File != "":
		parts = append(parts, p.File)
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, p.What), ": ")
}

// Detail is the problem for a terminal, ending with a line break.
func (p Problem) Detail() string {
	var b strings.Builder
	b.WriteString(p.head())
	b.WriteByte('\n')
	number := ""
	if p.Line > 0 {
		number = fmt.Sprintf("%3d", p.Line)
	}
	margin := strings.Repeat(" ", max(len(number), 3))
	fix := p.Fix
	if p.picture != "" {
		fmt.Fprintf(&b, "%s | %s\n", number, p.picture)
		fmt.Fprintf(&b, "%s | %s^", margin, strings.Repeat(" ", p.mark))
		if fix != "" {
			b.WriteString(" " + fix)
		}
		b.WriteByte('\n')
	} else if fix != "" {
		fmt.Fprintf(&b, "%s | %s\n", margin, fix)
	}
	for _, line := range wrap(p.Note, pictureWidth) {
		fmt.Fprintf(&b, "%s | %s\n", margin, line)
	}
	return b.String()
}

// wrap breaks a text at blanks into lines of at most width signs, where its words allow it.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			lines = append(lines, line)
			line = "  " + word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// report collects problems. One for each place: what follows from an error is not told again.
type report struct{ problems []Problem }

func (r *report) add(at place, path, what, fix, note string) {
	p := Problem{Path: path, What: what, Fix: fix, Note: note, at: at, Variable: at.variable}
	if at.src != nil {
		p.File, p.Line, p.Column = at.src.name, at.line, at.col
	}
	r.problems = append(r.problems, p)
}

func (r *report) failed() bool { return len(r.problems) > 0 }

// err is the Error, nil if there is no problem.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	all := slices.Clone(r.problems)
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.at.order(), b.at.order()), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all = slices.CompactFunc(all, func(a, b Problem) bool { return a.String() == b.String() })
	e := &Error{}
	for i := range all {
		p := &all[i]
		e.noTarget = e.noTarget || p.noTgt
		if i >= maxProblems {
			e.More++
			continue
		}
		p.picture, p.mark = p.at.picture()
		e.Problems = append(e.Problems, *p)
	}
	return e
}
