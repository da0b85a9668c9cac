package vertex

import (
	"bytes"
	"encoding/json"
)

// marshal is JSON without escapes for HTML. It panics on what cannot be JSON.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// pretty is JSON as the service writes whole bodies.
func pretty(v any) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, marshal(v), "", "  ") // it is valid
	return b.Bytes()
}

// spaced is JSON as the service writes events: on one line, with a blank behind each colon.
func spaced(v any) []byte {
	compact := marshal(v)
	out := make([]byte, 0, len(compact)+len(compact)/8)
	quoted, escaped := false, false
	for _, b := range compact {
		out = append(out, b)
		switch {
		case escaped:
			escaped = false
		case b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case b == ':' && !quoted:
			out = append(out, ' ')
		}
	}
	return out
}

// jsonParts is a list of one part.
func jsonParts(part []byte) []json.RawMessage { return []json.RawMessage{part} }
