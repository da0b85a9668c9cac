package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// encode writes the messages one by one, into a buffer with room for all of them, and the other members behind
// them, so that what may be long is written once.
func (e *encoder) encode(ctx context.Context, parameters members, size int) ([]byte, error) {
	rest, err := e.encodeRest(parameters)
	if err != nil {
		return nil, err
	}
	const head, perMessage = `{"messages":[`, 64
	w := newWriter(ctx, len(head)+size+size/16+perMessage*(len(e.body.Messages)+1)+len(rest))
	w.buf.WriteString(head)
	for i := range e.body.Messages {
		w.comma(i)
		w.message(&e.body.Messages[i])
	}
	w.buf.WriteString("],")
	w.buf.Write(rest[1:]) // it has a model at least
	return w.buf.Bytes(), w.err
}

// writer writes JSON as long as its context lives. It leaves <, > and & alone: they are no risk here, and prompts
// are full of them.
type writer struct {
	ctx context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	buf bytes.Buffer
	enc *json.Encoder
	err error // the first
}

func newWriter(ctx context.Context, size int) *writer {
	w := &writer{ctx: ctx}
	w.buf.Grow(size)
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.buf.WriteByte(',')
	}
}

// value writes v, if the context has not ended.
func (w *writer) value(v any) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return
	}
	if w.enc.Encode(v) != nil {
		w.err = errRawJSON()
		return
	}
	w.buf.Truncate(w.buf.Len() - 1) // the line end
}

// longText is the length from which a text is written in steps of that length.
const longText = 1 << 20

// message writes m, as encoding/json would, but stops in the middle of a long one when the context ends.
func (w *writer) message(m *message) {
	text, isText := m.Content.(string)
	parts, isList := m.Content.([]part)
	if !isList && (!isText || len(text) < longText) {
		w.value(m)
		return
	}
	w.buf.WriteString(`{"role":"` + m.Role + `","content":`)
	if isText {
		w.text(text)
	} else {
		w.parts(parts)
	}
	mark := w.buf.Len()
	w.value(struct {
		ToolCalls  []any  `json:"tool_calls,omitempty"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}{m.ToolCalls, m.ToolCallID})
	if tail := w.buf.Bytes()[mark:]; len(tail) > len("{}") {
		tail[0] = ','
	} else {
		w.buf.Truncate(mark)
		w.buf.WriteByte('}')
	}
}

func (w *writer) parts(parts []part) {
	w.buf.WriteByte('[')
	for i := range parts {
		w.comma(i)
		if p := &parts[i]; p.Type == "text" && len(p.Text) >= longText {
			w.buf.WriteString(`{"type":"text","text":`)
			w.text(p.Text)
			w.buf.WriteByte('}')
		} else {
			w.value(p)
		}
	}
	w.buf.WriteByte(']')
}

// text writes a string in steps that end between runes.
func (w *writer) text(text string) {
	w.buf.WriteByte('"')
	for text != "" && w.err == nil {
		n := min(longText, len(text))
		for n < len(text) && n > longText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		mark := w.buf.Len()
		w.value(text[:n])
		if w.err == nil { // without the quotes
			quoted := w.buf.Bytes()[mark:]
			copy(quoted, quoted[1:len(quoted)-1])
			w.buf.Truncate(w.buf.Len() - len(`""`))
		}
		text = text[n:]
	}
	w.buf.WriteByte('"')
}

// marshal is json.Marshal with the settings of a writer.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errRawJSON()
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// errRawJSON is for the only thing that cannot be encoded. The text of the encoder's error would quote it.
func errRawJSON() error {
	return llm.Invalid("request", "holds a raw JSON value that is no JSON", "check schemas and opaque parts")
}
