package sse

// maxDepth is the nesting encoding/json accepts. Without it a stream of
// brackets would use up the stack.
const maxDepth = 10000

// scanner follows the brackets of a JSON object or array that arrives line by
// line, so that the value is examined in full once, at its end, and not at each
// line.
type scanner struct {
	depth    int
	inString bool
	started  bool
	closed   bool
	broken   bool // never to become one JSON value
}

// open reports whether a value was begun and may still be completed.
func (s *scanner) open() bool { return s.started && !s.closed && !s.broken }

// line takes the next line and reports whether the value is closed now.
func (s *scanner) line(p []byte) bool {
	for i := 0; i < len(p) && !s.broken; i++ {
		switch c := p[i]; {
		case s.inString:
			i = s.string(p, i)
		case blank(c):
		case s.closed || !s.started && c != '{' && c != '[':
			s.broken = true
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.started = true
			s.depth++
			s.broken = s.depth > maxDepth
		case c == '}' || c == ']':
			s.depth--
			s.closed = s.depth == 0
		}
	}
	// A string never goes over a line end.
	s.broken = s.broken || s.inString
	return s.closed && !s.broken
}

// string runs to the quote that closes the string, or to the end of p.
func (s *scanner) string(p []byte, i int) int {
	for ; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			s.inString = false
			return i
		}
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
