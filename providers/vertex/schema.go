package vertex

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// Keywords of JSON Schema that Gemini does not know. Those that only describe go without a word; those that demand
// something of the model are a Warning. A const becomes an enum of one.
// https://ai.google.dev/gemini-api/docs/structured-output
var (
	silentKeywords = []string{
		"$schema", "$comment", "examples", "discriminator", "deprecated", "readOnly", "writeOnly", "contentMediaType", "contentEncoding",
	}
	demandKeywords = []string{
		"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
		"propertyNames", "patternProperties", "unevaluatedProperties", "dependentRequired", "dependentSchemas", "not", "if", "then", "else",
	}
)

// maxNesting is how many levels of JSON a schema may have: the service reads no more.
const maxNesting = 100

// schema returns raw without the keywords that the service does not know. What has none goes as it is.
func (e *encoder) schema(raw json.RawMessage, field string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if nesting(raw) > maxNesting {
		return nil, llm.Unsupported(field, "nests more than 100 levels deep", "use a flatter schema, or $defs and $ref")
	}
	s := schemaFilter{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw))}
	if s.schema() == nil && s.changed {
		if s.dropped {
			e.warnOnce("dropped", field, "keywords that Gemini does not know were left out")
		}
		return s.out, nil
	}
	return raw, nil
}

// nesting is the number of levels of objects and lists in raw.
func nesting(raw []byte) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// schemaFilter copies a schema from dec to out in one pass: nothing is read again for the levels above it. The order
// of the members stays: the model writes properties in it.
type schemaFilter struct {
	raw              []byte
	dec              *json.Decoder
	out              []byte
	changed, dropped bool
	listed           bool // the schema that is being copied has an enum
}

// schema copies one schema.
func (s *schemaFilter) schema() error {
	outer := s.listed
	s.listed = false
	err := s.each('{', s.keyword)
	s.listed = outer
	return err
}

// keyword copies one member of a schema.
func (s *schemaFilter) keyword(name string) error {
	switch name {
	case "enum", "const":
		if s.listed { // some generators write both, and a name may be there once
			s.changed = true
			return s.skip()
		}
		s.listed = true
		s.begin("enum")
		if name == "enum" {
			return s.value()
		}
		s.changed = true
		s.out = append(s.out, '[')
		err := s.value()
		s.out = append(s.out, ']')
		return err
	case "properties", "$defs", "definitions":
		s.begin(name)
		return s.each('{', s.property)
	case "items", "additionalProperties":
		s.begin(name)
		return s.schema()
	case "anyOf", "oneOf", "allOf", "prefixItems":
		s.begin(name)
		return s.each('[', s.element)
	}
	demands := slices.Contains(demandKeywords, name)
	if demands || slices.Contains(silentKeywords, name) {
		s.changed, s.dropped = true, s.dropped || demands
		return s.skip()
	}
	s.begin(name)
	return s.value()
}

// property copies one member of an object of schemas.
func (s *schemaFilter) property(name string) error {
	s.begin(name)
	return s.schema()
}

// element copies one of a list of schemas.
func (s *schemaFilter) element(string) error {
	s.comma()
	return s.schema()
}

// each copies an object or a list by one call of f for each member; what begins otherwise is copied as it is.
func (s *schemaFilter) each(open byte, f func(name string) error) error {
	if rest := bytes.TrimLeft(s.raw[s.dec.InputOffset():], " \t\r\n:,"); len(rest) == 0 || rest[0] != open {
		return s.value()
	}
	if _, err := s.dec.Token(); err != nil {
		return err
	}
	s.out = append(s.out, open)
	for s.dec.More() {
		name := ""
		if open == '{' {
			t, err := s.dec.Token()
			if err != nil {
				return err
			}
			name, _ = t.(string)
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := s.dec.Token()
	s.out = append(s.out, open+2) // ] and } are two after [ and {
	return err
}

// skip leaves the next value out.
func (s *schemaFilter) skip() error {
	var left json.RawMessage
	return s.dec.Decode(&left)
}

// value copies the next value as it is.
func (s *schemaFilter) value() error {
	var v json.RawMessage
	err := s.dec.Decode(&v)
	s.out = append(s.out, v...)
	return err
}

// begin writes the name of a member.
func (s *schemaFilter) begin(name string) {
	s.comma()
	quoted, _ := json.Marshal(name) // a string has no way to fail
	s.out = append(append(s.out, quoted...), ':')
}

// comma separates what comes from what there is.
func (s *schemaFilter) comma() {
	if last := s.out[len(s.out)-1]; last != '{' && last != '[' {
		s.out = append(s.out, ',')
	}
}
