package sse

import (
	"bytes"
	"encoding/json"
)

// kind is what an event line said about the event.
type kind uint8

const (
	kindPlain kind = iota
	kindError
	kindPing
)

var (
	bom        = []byte("\xef\xbb\xbf")
	fieldData  = []byte("data")
	fieldEvent = []byte("event")
	fieldID    = []byte("id")
	fieldRetry = []byte("retry")
	doneMark   = []byte("[DONE]")
)

// unmark removes the byte-order mark from the first line.
func (r *Reader) unmark(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, bom)
}

// line takes one line without its end.
func (r *Reader) line(line []byte) error {
	if len(line) == 0 {
		r.endOfEvent()
		return nil
	}
	// Blanks before the field name are against the standard, but SDKs that trim
	// their lines taught servers that they work.
	line = trim(line)
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch {
	case len(name) == 0 || bytes.Equal(name, fieldID) || bytes.Equal(name, fieldRetry):
		return nil
	case bytes.Equal(name, fieldData):
		return r.add(bytes.TrimPrefix(value, []byte{' '}))
	case bytes.Equal(name, fieldEvent):
		r.kind = kindOf(trim(value))
		return nil
	case line[0] == '{' || line[0] == '[' || r.scan.open():
		return r.add(line)
	}
	return nil
}

func kindOf(name []byte) kind {
	switch string(name) {
	case "error":
		return kindError
	case "ping", "heartbeat", "keepalive", "keep-alive":
		return kindPing
	}
	return kindPlain
}

// add appends one data line to the current event and lets the event go if that
// made it whole.
func (r *Reader) add(value []byte) error {
	if len(r.data)+len(value) > r.in.limit {
		return ErrTooLarge
	}
	if len(r.data) == 0 {
		// Nearly every event is one line: it goes straight from the read buffer
		// to the output.
		value = trim(value)
		if len(value) == 0 || r.whole(value) {
			return nil
		}
	} else {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	if r.scan.line(value) {
		if r.whole(trim(r.data)) {
			r.clear()
		} else {
			r.scan.broken = true // closed, but no JSON: it will never be
		}
	}
	return nil
}

// endOfEvent is the empty line.
func (r *Reader) endOfEvent() {
	if len(r.data) > 0 {
		r.passOn()
	}
	r.kind = kindPlain
}

func (r *Reader) clear() {
	r.data = r.data[:0]
	r.scan = scanner{}
}

// whole writes value if it is [DONE] or one whole JSON value.
func (r *Reader) whole(value []byte) bool {
	if bytes.Equal(value, doneMark) {
		r.text(doneMark)
		return true
	}
	mark := len(r.out)
	r.out = append(r.out, "data: "...)
	c := compactor{dst: r.out, base: len(r.out), src: value}
	ok := c.compact()
	r.out = c.dst // grown, even if the value was no JSON
	if !ok {
		r.out = r.out[:mark]
		return false
	}
	r.report(&c)
	r.out = append(r.out, "\n\n"...)
	return true
}

// report brings a JSON event that tells of an error, or seems to, into the form
// SDKs know. Errors are rare: here memory does not matter.
func (r *Reader) report(c *compactor) {
	switch {
	case c.err.found():
		r.replace(c.base, c.errorFirst())
	case r.kind == kindError:
		r.replace(c.base, wrapError(r.out[c.base:]))
	case c.lead > c.base+1:
		c.dropLead()
		r.out = c.dst
		return
	default:
		return
	}
	if r.payload == nil {
		r.payload = bytes.Clone(r.out[c.base:])
	}
}

func (r *Reader) replace(base int, obj []byte) { r.out = append(r.out[:base], obj...) }

// wrapError makes an error object of what stood under "event: error".
func wrapError(value []byte) []byte {
	if value[0] != '{' {
		if value[0] != '"' {
			value, _ = json.Marshal(string(value)) // a string has no way to fail
		}
		value = append(append([]byte(`{"message":`), value...), '}')
	}
	return append(append([]byte(`{"error":`), value...), '}')
}

// passOn writes the data of an event that did not become JSON.
func (r *Reader) passOn() {
	defer r.clear()
	data := trim(r.data)
	switch r.kind {
	case kindPing:
		return
	case kindError:
		text, _ := json.Marshal(string(data))
		r.whole(text)
		return
	case kindPlain:
	}
	// The lines become one. A tab is to JSON what the line end was, a blank
	// between values and illegal inside a string: no broken text turns valid.
	for i, b := range data {
		if b == '\n' {
			data[i] = '\t'
		}
	}
	r.text(data)
}

// text writes one event of text that holds no line end.
func (r *Reader) text(text []byte) {
	r.out = append(r.out, "data: "...)
	r.out = append(r.out, text...)
	r.out = append(r.out, "\n\n"...)
}

// trim removes the blanks of JSON around b.
func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// cutField reports whether a line without an end is the beginning of a data
// line, whose data is lost.
func cutField(rest []byte) bool {
	rest = trim(rest)
	return len(rest) > 0 && bytes.HasPrefix([]byte("data:"), rest)
}
