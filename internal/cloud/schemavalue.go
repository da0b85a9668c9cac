package cloud

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// given is a value that the schema itself names.
func (s *schema) given() (json.RawMessage, bool) {
	if v, ok := s.words["const"]; ok {
		return v, true
	}
	for _, list := range [][]json.RawMessage{s.list("enum"), {s.words["default"]}, s.list("examples")} {
		for _, v := range list {
			if len(v) > 0 && s.allows(v) {
				return v, true
			}
		}
	}
	return nil, false
}

// allows reports whether v is of a type that s names, and one of its enum.
func (s *schema) allows(v json.RawMessage) bool {
	if s.has("enum") && !slices.ContainsFunc(s.list("enum"), func(e json.RawMessage) bool { return bytes.Equal(e, v) }) {
		return false
	}
	return !s.has("type") || slices.ContainsFunc(s.kinds(), func(kind string) bool { return isOf(v, kind) })
}

// isOf reports whether a JSON value is of a type in the words of JSON schemas.
func isOf(v json.RawMessage, kind string) bool {
	switch v[0] {
	case '{':
		return kind == "object"
	case '[':
		return kind == "array"
	case '"':
		return kind == "string"
	case 't', 'f':
		return kind == "boolean"
	case 'n':
		return kind == "null"
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return err == nil && (kind == "number" || kind == "integer" && n == math.Trunc(n))
}

// kinds are the types that s allows, null last. Where it names none, its other words tell.
func (s *schema) kinds() []string {
	kinds := s.texts("type")
	if kind := s.text("type"); kind != "" {
		kinds = []string{kind}
	}
	if i := slices.Index(kinds, "null"); i >= 0 {
		kinds = append(slices.Delete(kinds, i, i+1), "null")
	}
	if len(kinds) > 0 {
		return kinds
	}
	for _, sign := range []struct{ kind, words string }{
		{"object", "properties required additionalProperties"},
		{"array", "items prefixItems minItems maxItems"},
		{"number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"},
	} {
		if slices.ContainsFunc(strings.Fields(sign.words), s.has) {
			return []string{sign.kind}
		}
	}
	return []string{"string"}
}
