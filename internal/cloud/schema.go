package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// schema is one JSON schema, its words read when they are needed and their order kept.
type schema struct {
	names []string
	words map[string]json.RawMessage
}

// UnmarshalJSON reads an object.
func (s *schema) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("cloud: no object")
	}
	s.words = map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		name, _ := t.(string)
		s.set(name, value)
	}
	return nil
}

// parseSchema reads a schema; true is the empty one, and false, which nothing meets, is none.
func parseSchema(raw json.RawMessage) (s schema, ok bool) {
	if string(raw) == "true" {
		return s, true
	}
	return s, json.Unmarshal(raw, &s) == nil
}

func (s *schema) set(name string, value json.RawMessage) {
	if _, ok := s.words[name]; !ok {
		s.names = append(s.names, name)
	}
	s.words[name] = value
}

func (s *schema) has(name string) bool { return len(s.words[name]) > 0 }

func (s *schema) text(name string) (v string) {
	_ = json.Unmarshal(s.words[name], &v)
	return v
}

func (s *schema) texts(name string) (v []string) {
	_ = json.Unmarshal(s.words[name], &v)
	return v
}

func (s *schema) list(name string) (v []json.RawMessage) {
	_ = json.Unmarshal(s.words[name], &v)
	return v
}

func (s *schema) schema(name string) (v schema) {
	_ = json.Unmarshal(s.words[name], &v)
	return v
}

func (s *schema) float(name string) (v float64, ok bool) {
	return v, s.has(name) && json.Unmarshal(s.words[name], &v) == nil
}

// size is a number of things, or otherwise.
func (s *schema) size(name string, otherwise int) int {
	if v, ok := s.float(name); ok && v >= 0 {
		return int(min(v, math.MaxInt32))
	}
	return otherwise
}

// without is a copy of s that lacks a word.
func (s *schema) without(name string) schema {
	c := schema{slices.DeleteFunc(slices.Clone(s.names), func(n string) bool { return n == name }), maps.Clone(s.words)}
	delete(c.words, name)
	return c
}

// merge is a schema that says what a and b say. Where both say something, properties and what is required add
// up, and of other words b's count.
func merge(a, b schema) schema {
	c := join(a, b)
	if a.has("properties") && b.has("properties") {
		c.words["properties"] = join(a.schema("properties"), b.schema("properties")).json()
	}
	if a.has("required") && b.has("required") {
		all, _ := json.Marshal(append(a.texts("required"), b.texts("required")...)) // strings never fail
		c.words["required"] = all
	}
	return c
}

// join has the members of a and b, of b where both have one.
func join(a, b schema) schema {
	c := schema{slices.Clone(a.names), maps.Clone(a.words)}
	if c.words == nil {
		c.words = map[string]json.RawMessage{}
	}
	for _, name := range b.names {
		c.set(name, b.words[name])
	}
	return c
}

func (s schema) json() json.RawMessage {
	var b bytes.Buffer
	for _, name := range s.names {
		member(&b, name, s.words[name])
	}
	return enclose('{', b.Bytes(), '}')
}

// lookup finds what a reference within the schema points at: "#" or "#/$defs/name".
func (g *generator) lookup(ref string) (schema, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if pointer, err := url.PathUnescape(pointer); ok && err == nil {
		at := g.root
		for _, step := range strings.Split(pointer, "/")[1:] {
			at = below(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
		if pointer == "" || pointer[0] == '/' {
			return parseSchema(at)
		}
	}
	return schema{}, false
}

// below is a member of an object or an item of an array, nil if there is none.
func below(at json.RawMessage, step string) json.RawMessage {
	var list []json.RawMessage
	if i, err := strconv.Atoi(step); err == nil && json.Unmarshal(at, &list) == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	var o schema
	_ = json.Unmarshal(at, &o)
	return o.words[step]
}
