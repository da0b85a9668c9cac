// Package splice writes JSON with long values in it, and stops when nobody waits for it any more. encoding/json cannot be
// stopped, and a text of 32 MiB whose every byte is escaped keeps it busy for a second. So what is long stays out of the
// encoder's sight: a stand-in goes into the JSON, and the value is put in its place, piece by piece.
package splice

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	longRequest = 1 << 20 // bytes from which a request has stand-ins at all
	longValue   = 1 << 10 // bytes from which a value has one
	piece       = 3 << 16 // bytes between two looks at the context: base64 in threes
	seedSize    = 15      // bytes of a stand-in that differ from request to request, in threes, too
	standIn     = seedSize + 9
	coded       = standIn / 3 * 4
)

// Values are the long values of one request. A nil Values has none and leaves everything as it is. It is for one
// goroutine.
type Values struct {
	seed [seedSize]byte
	list []value
}

// value is a text, or bytes.
type value struct {
	text string
	data []byte
}

// For returns the Values of a request of about so many bytes: nil for one that is encoded in no time.
func For(size int) *Values {
	if size < longRequest {
		return nil
	}
	v := new(Values)
	_, _ = rand.Read(v.seed[:]) // it never fails
	return v
}

// Text returns what stands for a text in JSON: a stand-in, or the text itself if it is short.
func (v *Values) Text(s string) string {
	if v == nil || len(s) < longValue {
		return s
	}
	return base64.StdEncoding.EncodeToString(v.keep(value{text: s}))
}

// Bytes is Text for bytes, which stand in JSON as base64.
func (v *Values) Bytes(b []byte) []byte {
	if v == nil || len(b) < longValue {
		return b
	}
	return v.keep(value{data: b})
}

func (v *Values) keep(one value) []byte {
	v.list = append(v.list, one)
	mark := append(make([]byte, 0, standIn), v.seed[:]...)
	mark = binary.BigEndian.AppendUint64(mark, uint64(len(v.list)-1))
	return append(mark, 0)
}

// TextOf returns the text that s stands for, with U+FFFD where it is no UTF-8, as JSON has it.
func (v *Values) TextOf(s string) (text string, ok bool) {
	if v == nil || len(s) != coded {
		return "", false
	}
	mark, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", false
	}
	one, ok := v.find(mark)
	if ok && !utf8.ValidString(one.text) {
		one.text = strings.Map(func(r rune) rune { return r }, one.text)
	}
	return one.text, ok
}

// BytesOf returns the bytes that b stands for.
func (v *Values) BytesOf(b []byte) (data []byte, ok bool) {
	if v == nil {
		return nil, false
	}
	one, ok := v.find(b)
	return one.data, ok
}

func (v *Values) find(mark []byte) (one value, ok bool) {
	if len(mark) != standIn || !bytes.HasPrefix(mark, v.seed[:]) {
		return value{}, false
	}
	at := binary.BigEndian.Uint64(mark[seedSize:])
	if at >= uint64(len(v.list)) {
		return value{}, false
	}
	return v.list[at], true
}

// Write returns JSON with every value in the place of its stand-in. When ctx ends it gives up, with that error.
func (v *Values) Write(ctx context.Context, skeleton []byte) ([]byte, error) {
	if v == nil || len(v.list) == 0 {
		return skeleton, ctx.Err()
	}
	w := &writer{ctx: ctx}
	w.buf.Grow(v.room(ctx, len(skeleton)))
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false) // <, > and & are no risk here, and prompts are full of them
	head := []byte(`"` + base64.StdEncoding.EncodeToString(v.seed[:]))
	for w.err == nil {
		at := bytes.Index(skeleton, head)
		if at < 0 || at+coded+2 > len(skeleton) {
			break
		}
		mark, _ := base64.StdEncoding.DecodeString(string(skeleton[at+1 : at+1+coded])) // an empty one is not found
		one, ok := v.find(mark)
		if !ok {
			break
		}
		w.buf.Write(skeleton[:at])
		w.value(one)
		skeleton = skeleton[at+coded+2:]
	}
	w.buf.Write(skeleton)
	return w.buf.Bytes(), w.err
}

// room is about what the whole takes, so that it is not moved as it grows.
func (v *Values) room(ctx context.Context, skeleton int) int {
	n := skeleton
	for _, one := range v.list {
		if ctx.Err() != nil {
			return 0
		}
		n += base64.StdEncoding.EncodedLen(len(one.data)) + len(one.text)
		for i := range len(one.text) {
			if c := one.text[i]; c < ' ' {
				n += len(`\u0000`) - 1
			} else if c == '"' || c == '\\' {
				n++
			}
		}
	}
	return n + n/64
}

// writer writes values as long as its context lives.
type writer struct {
	ctx context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	buf bytes.Buffer
	enc *json.Encoder
	err error // of the context
}

func (w *writer) value(one value) {
	w.buf.WriteByte('"')
	for text := one.text; text != "" && w.alive(); {
		n := min(piece, len(text))
		for n < len(text) && n > piece-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		w.escaped(text[:n])
		text = text[n:]
	}
	for data := one.data; len(data) > 0 && w.alive(); {
		n := min(piece, len(data))
		w.buf.Write(base64.StdEncoding.AppendEncode(w.buf.AvailableBuffer(), data[:n]))
		data = data[n:]
	}
	w.buf.WriteByte('"')
}

// escaped writes a text as it stands between the quotes of JSON.
func (w *writer) escaped(text string) {
	mark := w.buf.Len()
	_ = w.enc.Encode(text) // a text has no way to fail
	quoted := w.buf.Bytes()[mark:]
	copy(quoted, quoted[1:len(quoted)-len("\"\n")])
	w.buf.Truncate(w.buf.Len() - len("\"\"\n"))
}

func (w *writer) alive() bool {
	w.err = w.ctx.Err()
	return w.err == nil
}
