package cloud

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The bounds of an instance: a schema that needs more has none.
const (
	maxInstanceDepth  = 64
	maxInstanceValues = 2_000
)

// Instance makes a JSON value that fits a JSON schema, the same one whenever it is asked: what a model could
// have written, for clouds that have none. It is false if the schema allows no value, refers to what is not
// there, or needs one that is too large.
//
// It reads type, properties, required, additionalProperties, items, prefixItems, the bounds of lengths and
// numbers, format, pattern, const, enum, default, examples, $ref within the schema, allOf, and of anyOf and
// oneOf the first that can be met. Properties that are not required are given, too, unless they would never
// end. It does not look at not, if, dependent…, contains, uniqueItems, patternProperties and the numbers of
// properties.
func Instance(schema json.RawMessage) (json.RawMessage, bool) {
	g := generator{root: schema, left: maxInstanceValues, open: map[string]bool{"#": true}}
	return g.value(schema, 0)
}

// generator makes one instance. A reference that is being followed is not followed again below itself: if a
// schema has a finite instance at all, it has one in which that never happens.
type generator struct {
	root json.RawMessage
	left int             // values that may still be made
	open map[string]bool // references that are being followed
}

func (g *generator) value(raw json.RawMessage, depth int) (json.RawMessage, bool) {
	s, ok := parseSchema(raw)
	if !ok {
		return nil, false
	}
	return g.fit(s, depth)
}

func (g *generator) fit(s schema, depth int) (json.RawMessage, bool) {
	if g.left--; g.left < 0 || depth > maxInstanceDepth {
		return nil, false
	}
	if v, ok := s.given(); ok {
		return v, true
	}
	var followed []string
	defer func() {
		for _, ref := range followed {
			delete(g.open, ref)
		}
	}()
	s, ok := g.flatten(s, &followed, depth)
	if !ok {
		return nil, false
	}
	if v, ok := s.given(); ok || s.has("enum") {
		return v, ok
	}
	for _, group := range []string{"anyOf", "oneOf"} {
		if s.has(group) {
			return g.first(s.without(group), s.list(group), depth+1)
		}
	}
	for _, kind := range s.kinds() {
		if v, ok := g.ofKind(kind, s, depth); ok {
			return v, true
		}
	}
	return nil, false
}

// flatten puts what s refers to, and the parts of its allOf, into one schema. It notes what it followed.
func (g *generator) flatten(s schema, followed *[]string, depth int) (schema, bool) {
	if depth > maxInstanceDepth {
		return s, false
	}
	for s.has("$ref") {
		ref := s.text("$ref")
		target, ok := g.lookup(ref)
		if !ok || g.open[ref] {
			return s, false
		}
		g.open[ref] = true
		*followed = append(*followed, ref)
		s = merge(target, s.without("$ref"))
	}
	parts := s.list("allOf")
	s = s.without("allOf")
	for _, raw := range parts {
		part, ok := parseSchema(raw)
		if ok {
			part, ok = g.flatten(part, followed, depth+1)
		}
		if !ok {
			return s, false
		}
		s = merge(s, part)
	}
	return s, true
}

// first meets the first of several alternatives that can be met, together with what s says besides.
func (g *generator) first(s schema, alternatives []json.RawMessage, depth int) (json.RawMessage, bool) {
	for _, raw := range alternatives {
		if alternative, ok := parseSchema(raw); ok {
			if v, ok := g.fit(merge(s, alternative), depth); ok {
				return v, true
			}
		}
	}
	return nil, false
}

func (g *generator) ofKind(kind string, s schema, depth int) (json.RawMessage, bool) {
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return s.string()
	case "integer", "number":
		return s.number(kind == "integer")
	case "boolean":
		return json.RawMessage("true"), true
	case "null":
		return json.RawMessage("null"), true
	default:
		return nil, false
	}
}

// object gives the properties in the order of the schema, as models do, and then what is required besides.
func (g *generator) object(s schema, depth int) (json.RawMessage, bool) {
	properties, required := s.schema("properties"), s.texts("required")
	names := slices.Clone(properties.names)
	for _, name := range required {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b bytes.Buffer
	for _, name := range names {
		raw, ok := properties.words[name]
		if !ok {
			raw, ok = s.words["additionalProperties"]
		}
		if !ok {
			raw = json.RawMessage("true")
		}
		v, ok := g.value(raw, depth+1)
		switch {
		case ok:
			member(&b, name, v)
		case slices.Contains(required, name):
			return nil, false
		}
	}
	return enclose('{', b.Bytes(), '}'), true
}

// array has as many items as it must, and one if it may.
func (g *generator) array(s schema, depth int) (json.RawMessage, bool) {
	least, most := s.size("minItems", 0), s.size("maxItems", maxInstanceValues)
	prefix := s.list("prefixItems")
	items, ok := s.words["items"]
	if !ok {
		items = json.RawMessage("true")
	}
	var b bytes.Buffer
	for i := range min(max(least, len(prefix), 1), most) {
		raw := items
		if i < len(prefix) {
			raw = prefix[i]
		}
		v, ok := g.value(raw, depth+1)
		if !ok && i < least {
			return nil, false
		}
		if !ok {
			break
		}
		comma(&b)
		b.Write(v)
	}
	return enclose('[', b.Bytes(), ']'), least <= most
}

func member(b *bytes.Buffer, name string, v json.RawMessage) {
	comma(b)
	b.Write(quote(name))
	b.WriteByte(':')
	b.Write(v)
}

func comma(b *bytes.Buffer) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
}

func enclose(before byte, inner []byte, after byte) json.RawMessage {
	return slices.Concat([]byte{before}, inner, []byte{after})
}

// quote is s as a JSON string, without escapes for HTML.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string never fails
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
