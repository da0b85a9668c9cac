package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// place is where a value was written: in a file, or in an environment variable. The zero place is nowhere: a default.
type place struct {
	src       *source
	line, col int
	variable  string
	hidden    bool // the value may be a secret: no picture of its line
}

// String is the place as a person reads it.
func (p place) String() string {
	switch {
	case p.variable != "":
		return p.variable
	case p.src != nil && p.line > 0:
		return fmt.Sprintf("%s:%d:%d", p.src.name, p.line, p.col)
	case p.src != nil:
		return p.src.name
	default:
		return "default"
	}
}

// order sorts places: files in the order they were read, then variables.
func (p place) order() int {
	if p.src == nil {
		return 1 << 20
	}
	return p.src.order
}

// picture is the line of the place and the column, from 0, of the mark under it. What is not known to be harmless
// is left out of the line.
func (p place) picture() (line string, mark int) {
	if p.src == nil || p.line <= 0 || p.hidden {
		return "", 0
	}
	return p.src.picture(p.line, p.col)
}

// source is the text of one file, with what of it may be shown: keys, punctuation, and values that are known to be
// no secret. All the rest is left out of pictures, so that no mistake of ours shows a key.
type source struct {
	name  string
	dir   string // that relative paths in it begin at
	order int
	lines []string

	mu    sync.Mutex // Settings may be decoded at the same time
	runes map[int][]rune
	shown map[int][]span
}

// span is a part of a line that may be shown, in characters from 0.
type span struct{ from, to int }

func newSource(name, dir string, order int, text string) *source {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return &source{name: name, dir: dir, order: order, lines: strings.Split(text, "\n"), shown: map[int][]span{}, runes: map[int][]rune{}}
}

// show marks text, which stands at line and col, as harmless. A text that does not stand there is not marked.
func (s *source) show(line, col int, text string) {
	if s == nil || line < 1 || line > len(s.lines) || col < 1 {
		return
	}
	text, _, _ = strings.Cut(text, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	runes, ok := s.runes[line]
	if !ok {
		runes = []rune(s.lines[line-1])
		s.runes[line] = runes // lines may be long, and have many parts
	}
	from, to := col-1, col-1+utf8.RuneCountInString(text)
	if to > len(runes) || string(runes[from:to]) != text {
		return
	}
	s.shown[line] = append(s.shown[line], span{from, to})
}

const (
	hiddenMark   = '…'
	pictureWidth = 74 // with the number of the line and the bar it makes 80
)

func (s *source) picture(line, col int) (string, int) {
	if line > len(s.lines) {
		return "", 0
	}
	runes := []rune(s.lines[line-1])
	s.mu.Lock()
	spans := slices.Clone(s.shown[line])
	s.mu.Unlock()
	out, mark := visible(runes, spans, col-1)
	if len(strings.Trim(string(out), " …")) == 0 {
		return "", 0
	}
	return cut(out, mark)
}

// visible is the line with each part that no span covers drawn together into one sign, and where mark has moved.
func visible(runes []rune, spans []span, mark int) (out []rune, at int) {
	show := make([]bool, len(runes))
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			show[i] = true
		}
	}
	at = -1
	hiding := false
	for i, r := range runes {
		blank := r == ' ' || r == '\t' || r == '\u00a0'
		if !show[i] && !blank && !hiding {
			hiding = true
			out = append(out, hiddenMark)
		}
		if i == mark {
			at = max(len(out)-1, 0)
			if show[i] || blank && !hiding {
				at = len(out)
			}
		}
		switch {
		case show[i]:
			hiding = false
			out = append(out, printable(r))
		case blank && !hiding:
			out = append(out, ' ')
		case blank && nextShown(runes, show, i):
			hiding = false
			out = append(out, ' ')
		}
	}
	if at < 0 {
		at = len(out)
	}
	return out, at
}

// nextShown reports whether only blanks stand between i and something that is shown.
func nextShown(runes []rune, show []bool, i int) bool {
	for ; i < len(runes); i++ {
		if show[i] {
			return true
		}
		if runes[i] != ' ' && runes[i] != '\t' {
			return false
		}
	}
	return false
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// cut keeps the part of a long line that is around the mark.
func cut(line []rune, mark int) (string, int) {
	line = []rune(strings.TrimRight(string(line), " "))
	if len(line) <= pictureWidth {
		return string(line), mark
	}
	const dots = "..."
	from := max(min(mark-pictureWidth/2, len(line)-pictureWidth), 0)
	to := min(from+pictureWidth, len(line))
	part := slices.Clone(line[from:to])
	if from > 0 {
		copy(part, []rune(dots))
	}
	if to < len(line) {
		copy(part[len(part)-len(dots):], []rune(dots))
	}
	return string(part), min(mark-from, len(part))
}
