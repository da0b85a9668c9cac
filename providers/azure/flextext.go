package azure

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/internal/bounds"
)

// flexText is text that some servers send as something else: content as a list of parts, arguments as the
// object itself. It never fails, so that one odd member does not cost an answer.
type flexText string

// UnmarshalJSON takes the value as it is written.
func (t *flexText) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] == '"':
		*t = flexText(unquote(raw))
	case raw[0] == '[' && !bounds.TooMany(raw, bounds.Parts):
		*t = flexText(joinParts(raw))
	default:
		*t = flexText(raw)
	}
	return nil
}

// unquote reads a JSON string. Nearly every delta has nothing to unescape.
func unquote(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(raw, &s) // the decoder that called has checked it
	return s
}

func joinParts(raw []byte) string {
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts) // parts of other kinds have no text
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
