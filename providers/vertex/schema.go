package vertex

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Keywords of JSON Schema that Gemini does not know. Those that only describe go without a word; those that demand
// something of the model are a Warning. A const becomes an enum of one.
// https://ai.google.dev/gemini-api/docs/structured-output
var (
	silentKeywords = []string{"$schema", "$comment", "examples", "discriminator", "deprecated", "readOnly", "writeOnly"}
	demandKeywords = []string{"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "propertyNames"}
)

// schema returns raw without the keywords that the service does not know. What has none goes as it is.
func (e *encoder) schema(raw json.RawMessage, field string) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	s := schemaFilter{}
	out := s.schema(raw)
	if s.dropped {
		e.warnOnce("dropped", field, "keywords that Gemini does not know were left out")
	}
	if !s.changed {
		return raw
	}
	return out
}

type schemaFilter struct{ changed, dropped bool }

type member struct {
	name  string
	value json.RawMessage
}

// schema filters one schema. The order of the members stays: the model writes properties in it.
func (s *schemaFilter) schema(raw json.RawMessage) json.RawMessage {
	list, ok := ordered(raw)
	if !ok {
		return raw
	}
	kept := list[:0]
	for _, m := range list {
		switch {
		case slices.Contains(silentKeywords, m.name):
			s.changed = true
			continue
		case slices.Contains(demandKeywords, m.name):
			s.changed, s.dropped = true, true
			continue
		case m.name == "const":
			s.changed = true
			m = member{"enum", slices.Concat([]byte("["), m.value, []byte("]"))}
		case slices.Contains([]string{"properties", "$defs", "definitions"}, m.name):
			m.value = s.all(m.value)
		case slices.Contains([]string{"items", "additionalProperties"}, m.name):
			m.value = s.schema(m.value)
		case slices.Contains([]string{"anyOf", "oneOf", "allOf", "prefixItems"}, m.name):
			m.value = s.list(m.value)
		}
		kept = append(kept, m)
	}
	return object(kept)
}

// all filters an object of schemas.
func (s *schemaFilter) all(raw json.RawMessage) json.RawMessage {
	list, ok := ordered(raw)
	if !ok {
		return raw
	}
	for i := range list {
		list[i].value = s.schema(list[i].value)
	}
	return object(list)
}

// list filters a list of schemas.
func (s *schemaFilter) list(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return raw
	}
	for i := range list {
		list[i] = s.schema(list[i])
	}
	out, _ := json.Marshal(list) // they were read as JSON
	return out
}

// ordered reads the members of an object in their order.
func ordered(raw json.RawMessage) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var list []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := member{}
		m.name, _ = name.(string)
		if dec.Decode(&m.value) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

func object(list []member) json.RawMessage {
	out := []byte("{")
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.name) // a string has no way to fail
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}')
}
