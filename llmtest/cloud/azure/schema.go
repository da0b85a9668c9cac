package azure

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// schema checks one JSON schema. The texts for additionalProperties, required, missing properties and items,
// and keywords that are not permitted are reported; which keywords those are changes from time to time, and
// here they are those that Azure's documentation lists.
type schema struct {
	what, param, code string
	strict            bool
}

func (s *schema) refuse(place []string, problem string) *refusal {
	return invalid(s.param, s.code, "Invalid schema for %s: In context=%s, %s", s.what, tuple(place), problem)
}

// check looks at the root, which must be an object in any case, and at all below it.
func (s *schema) check(raw json.RawMessage) *refusal {
	root := decode(raw)
	kind, ok := root.text("type")
	if !ok {
		kind = "None"
	}
	if kind != "object" && (s.strict || s.code != "") {
		return invalid(s.param, s.code, "Invalid schema for %s: schema must be a JSON Schema of 'type: \"object\"', "+
			"got 'type: \"%s\"'.", s.what, kind)
	}
	if s.code != "" && !root.has("properties") {
		return s.refuse(nil, "object schema missing properties.")
	}
	return s.node(root, nil)
}

// node checks one schema within the schema.
func (s *schema) node(o object, place []string) *refusal {
	if s.strict {
		if no := s.strictNode(o, place); no != nil {
			return no
		}
	}
	if kind, _ := o.text("type"); kind == "array" && !o.has("items") {
		return s.refuse(place, "array schema missing items.")
	}
	for _, group := range []string{"properties", "$defs", "definitions"} {
		children, _ := o.object(group)
		for _, key := range slices.Sorted(maps.Keys(children)) {
			if no := s.node(decode(children[key]), at(place, group, key)); no != nil {
				return no
			}
		}
	}
	if items, ok := o.object("items"); ok {
		if no := s.node(items, at(place, "items")); no != nil {
			return no
		}
	}
	variants, _ := o.list("anyOf")
	for i, raw := range variants {
		if no := s.node(decode(raw), at(place, "anyOf", strconv.Itoa(i))); no != nil {
			return no
		}
	}
	return nil
}

func (s *schema) strictNode(o object, place []string) *refusal {
	for _, word := range []string{
		"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
		"unevaluatedProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedItems", "contains",
		"minContains", "maxContains", "uniqueItems", "minLength", "maxLength", "default",
	} {
		if _, ok := o[word]; ok {
			return s.refuse(place, "'"+word+"' is not permitted.")
		}
	}
	kind, hasType := o.text("type")
	types, _ := o.list("type")
	if !hasType && types == nil && !o.has("$ref") && !o.has("anyOf") && !o.has("enum") && !o.has("const") {
		return s.refuse(place, "schema must have a 'type' key.")
	}
	if kind != "object" {
		return nil
	}
	if string(o["additionalProperties"]) != "false" {
		return s.refuse(place, "'additionalProperties' is required to be supplied and to be false.")
	}
	return s.allRequired(o, place)
}

// allRequired: every property must be required, and nothing else.
func (s *schema) allRequired(o object, place []string) *refusal {
	var required []string
	_ = json.Unmarshal(o["required"], &required)
	properties, _ := o.object("properties")
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(required, key) {
			return s.refuse(place, "'required' is required to be supplied and to be an array including every key in "+
				"properties. Missing '"+key+"'.")
		}
	}
	for _, key := range required {
		if _, ok := properties[key]; !ok {
			return s.refuse(place, "'required' must be an array that includes every key in `properties`. Extra required "+
				"key '"+key+"' supplied.")
		}
	}
	return nil
}

// at is a place below place.
func at(place []string, below ...string) []string { return slices.Concat(place, below) }
