package sse

import "bytes"

// compactor copies one JSON value without its blanks and notes where its
// top-level "error" member went. json.Compact would do the copy, at three times
// the cost (most bytes of an event are one string) and without the note.
type compactor struct {
	dst  []byte // the value goes behind base
	base int
	src  []byte

	pos   int // in src
	from  int // src[from:pos] is still to be copied: usually all, in one go
	depth int
	err   member // in dst
	lead  int    // in dst: end of the empty error members that lead the object
}

// member is the place of a member of an object, from its key to the end of its
// value.
type member struct{ key, value, end int }

func (m member) found() bool { return m.end > 0 }

// compact reports whether src is exactly one JSON value.
func (c *compactor) compact() bool {
	c.lead = c.base + 1
	c.space()
	if !c.value() {
		return false
	}
	c.space()
	c.flush()
	return c.pos == len(c.src)
}

func (c *compactor) value() bool {
	switch c.peek() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

func (c *compactor) object() bool {
	if !c.enter() {
		return false
	}
	if c.peek() == '}' {
		return c.leave()
	}
	for {
		var m member
		m.key = c.written()
		key := c.pos
		if c.peek() != '"' || !c.string() {
			return false
		}
		isError := c.depth == 1 && bytes.EqualFold(c.src[key:c.pos], []byte(`"error"`))
		c.space()
		if c.peek() != ':' {
			return false
		}
		c.take()
		c.space()
		m.value = c.written()
		val := c.pos
		if !c.value() {
			return false
		}
		m.end = c.written()
		if isError {
			c.noteError(m, c.src[val:c.pos])
		}
		if more, ok := c.next('}'); !more {
			return ok
		}
	}
}

func (c *compactor) array() bool {
	if !c.enter() {
		return false
	}
	if c.peek() == ']' {
		return c.leave()
	}
	for {
		if !c.value() {
			return false
		}
		if more, ok := c.next(']'); !more {
			return ok
		}
	}
}

// next takes the comma before another element, or the closing bracket.
func (c *compactor) next(closing byte) (more, ok bool) {
	c.space()
	switch c.peek() {
	case ',':
		c.take()
		c.space()
		return true, true
	case closing:
		return false, c.leave()
	}
	return false, false
}

func (c *compactor) enter() bool {
	c.depth++
	c.take()
	c.space()
	return c.depth <= maxDepth
}

func (c *compactor) leave() bool {
	c.depth--
	c.take()
	return true
}

func (c *compactor) string() bool {
	for i := c.pos + 1; i < len(c.src); {
		switch b := c.src[i]; {
		case plain[b]:
			i++
		case b == '"':
			c.pos = i + 1
			return true
		case b == '\\':
			n := escape(c.src[i:])
			if n == 0 {
				return false
			}
			i += n
		default:
			return false
		}
	}
	return false
}

// plain tells the bytes that mean only themselves inside a string.
var plain = func() (t [256]bool) {
	for b := range t {
		t[b] = b >= ' ' && b != '"' && b != '\\'
	}
	return t
}()

// escape returns the length of the escape that b begins with, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = len(`\u0000`)
		if len(b) < length {
			return 0
		}
		for _, h := range b[2:length] {
			if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
				return 0
			}
		}
		return length
	}
	return 0
}

func (c *compactor) literal(word string) bool {
	if !bytes.HasPrefix(c.src[c.pos:], []byte(word)) {
		return false
	}
	c.pos += len(word)
	return true
}

func (c *compactor) number() bool {
	i := c.pos
	if c.at(i) == '-' {
		i++
	}
	end := c.digits(i)
	if end == i || end > i+1 && c.at(i) == '0' {
		return false
	}
	if i = end; c.at(i) == '.' {
		if end = c.digits(i + 1); end == i+1 {
			return false
		}
	}
	if i = end; c.at(i)|0x20 == 'e' {
		i++
		if c.at(i) == '+' || c.at(i) == '-' {
			i++
		}
		if end = c.digits(i); end == i {
			return false
		}
	}
	c.pos = end
	return true
}

// digits returns the end of the digits that begin at i.
func (c *compactor) digits(i int) int {
	for c.at(i) >= '0' && c.at(i) <= '9' {
		i++
	}
	return i
}

// at returns the byte at i, or 0, which JSON knows nowhere, beyond the end.
func (c *compactor) at(i int) byte {
	if i < len(c.src) {
		return c.src[i]
	}
	return 0
}

func (c *compactor) peek() byte { return c.at(c.pos) }

func (c *compactor) take() { c.pos++ }

func (c *compactor) space() {
	if !blank(c.peek()) {
		return
	}
	c.flush()
	for blank(c.peek()) {
		c.pos++
	}
	c.from = c.pos
}

func (c *compactor) flush() {
	c.dst = append(c.dst, c.src[c.from:c.pos]...)
	c.from = c.pos
}

// written returns where in dst the byte at pos will be.
func (c *compactor) written() int { return len(c.dst) + c.pos - c.from }
