package cloud

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestInstance(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"anything", `{}`, `"text"`},
		{"true", `true`, `"text"`},
		{"a text", `{"type":"string"}`, `"text"`},
		{"a whole number", `{"type":"integer"}`, `1`},
		{"a number", `{"type":"number"}`, `1`},
		{"a boolean", `{"type":"boolean"}`, `true`},
		{"nothing", `{"type":"null"}`, `null`},
		{"two types", `{"type":["null","integer"]}`, `1`},
		{"a constant", `{"const":{"a":[1, "<b>"]}}`, `{"a":[1, "<b>"]}`},
		{"an enum", `{"type":"string","enum":["red","green"]}`, `"red"`},
		{"an enum of other types, too", `{"type":"integer","enum":["red",2]}`, `2`},
		{"a default", `{"type":"string","default":"Rome"}`, `"Rome"`},
		{"a default that does not fit", `{"type":"string","default":7}`, `"text"`},
		{"a default outside of the enum", `{"enum":["a"],"default":"b"}`, `"a"`},
		{"an example", `{"type":"string","examples":[3,"Rome"]}`, `"Rome"`},
		{"bounds of a whole number", `{"type":"integer","minimum":7,"maximum":9}`, `7`},
		{"open bounds of a whole number", `{"type":"integer","exclusiveMinimum":7,"exclusiveMaximum":9}`, `8`},
		{"below zero", `{"type":"integer","maximum":-3}`, `-3`},
		{"open bounds of a number", `{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2}`, `1.5`},
		{"above", `{"type":"number","exclusiveMinimum":41}`, `42`},
		{"a multiple", `{"type":"integer","multipleOf":5,"minimum":11}`, `15`},
		{"a fraction", `{"type":"number","multipleOf":0.25,"minimum":1.1,"maximum":1.4}`, `1.25`},
		{"a short text", `{"type":"string","maxLength":2}`, `"te"`},
		{"a long text", `{"type":"string","minLength":9}`, `"texttextt"`},
		{"a date", `{"type":"string","format":"date"}`, `"2026-01-31"`},
		{"an unknown format", `{"type":"string","format":"isbn"}`, `"text"`},
		{"a pattern", `{"type":"string","pattern":"^[A-Z]{3}-\\d+(x|y)?$"}`, `"AAA-0"`},
		{"a pattern and a length", `{"type":"string","pattern":"^[a-z]+$","minLength":6}`, `"aaaaaaa"`},
		{"a pattern of another dialect", `{"type":"string","pattern":"^(?!a).+$"}`, `"text"`},
		{
			"properties in their order",
			`{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}},"required":["a"]}`,
			`{"z":1,"a":{"b":true}}`,
		},
		{"required and not described", `{"type":"object","required":["a"]}`, `{"a":"text"}`},
		{"required of those besides", `{"required":["a"],"additionalProperties":{"type":"integer"}}`, `{"a":1}`},
		{"any object", `{"type":"object"}`, `{}`},
		{"a property named as a word", `{"properties":{"required":{"type":"integer"},"properties":{"const":1},"$ref":{"const":2}}}`, `{"required":1,"properties":1,"$ref":2}`},
		{"an array", `{"type":"array","items":{"type":"integer"}}`, `[1]`},
		{"three items", `{"items":{"const":1},"minItems":3}`, `[1,1,1]`},
		{"no items", `{"type":"array","items":{},"maxItems":0}`, `[]`},
		{"a tuple", `{"type":"array","prefixItems":[{"const":1},{"const":"b"}],"items":false}`, `[1,"b"]`},
		{"items that cannot be", `{"type":"array","items":false}`, `[]`},
		{"the first of any", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"text"`},
		{"the first of any that can be", `{"anyOf":[false,{"type":"integer","minimum":2,"maximum":1},{"const":3}]}`, `3`},
		{"one of", `{"oneOf":[{"properties":{"kind":{"const":"cat"}}},{"const":2}]}`, `{"kind":"cat"}`},
		{"any beside properties", `{"type":"object","properties":{"a":{"const":1}},"anyOf":[{"required":["a","b"]}]}`, `{"a":1,"b":"text"}`},
		{"all of", `{"allOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}},"required":["b"]}]}`, `{"a":1,"b":2}`},
		{"a reference", `{"$ref":"#/$defs/a%20b","$defs":{"a b":{"const":1}}}`, `1`},
		{"a reference with a default", `{"properties":{"c":{"$ref":"#/definitions/C","default":"green"}},"definitions":{"C":{"enum":["red","green"]}}}`, `{"c":"green"}`},
		{"a reference by pointer", `{"properties":{"a/b":{"anyOf":[{"const":1}]},"c":{"$ref":"#/properties/a~1b/anyOf/0"}}}`, `{"a/b":1,"c":1}`},
		{
			"a list that refers to itself",
			`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"const":1},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}}`,
			`{"v":1,"next":null}`,
		},
		{
			"a tree that refers to itself",
			`{"type":"object","properties":{"name":{"const":"a"},"children":{"type":"array","items":{"$ref":"#"}},"parent":{"$ref":"#"}},"required":["name","children"]}`,
			`{"name":"a","children":[]}`,
		},
		{
			"a tree by all of",
			`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"l":{"allOf":[{"$ref":"#/$defs/n"}]},"r":{"allOf":[{"$ref":"#/$defs/n"}]},"v":{"const":1}}}}}`,
			`{"v":1}`,
		},
		{"the same reference twice, side by side", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"const":1}}}`, `{"a":1,"b":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Instance(json.RawMessage(tt.schema))
			if !ok || string(got) != tt.want {
				t.Fatalf("%s, %t, want %s", got, ok, tt.want)
			}
			var schema, value any
			if err := json.Unmarshal([]byte(tt.schema), &schema); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got, &value); err != nil {
				t.Fatal(err)
			}
			if problem := misfit(schema, schema, value); problem != "" {
				t.Errorf("%s does not fit: %s", got, problem)
			}
		})
	}
}

func TestInstanceOfWhatHasNone(t *testing.T) {
	t.Parallel()
	laughs := `{"type":"array","minItems":10,"items":`
	for name, schema := range map[string]string{
		"false":                       `false`,
		"no JSON":                     `{`,
		"no schema":                   `7`,
		"no text":                     ``,
		"an unknown type":             `{"type":"decimal"}`,
		"an enum of another type":     `{"type":"string","enum":[1]}`,
		"bounds that exclude all":     `{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2}`,
		"no multiple":                 `{"type":"integer","multipleOf":5,"minimum":1,"maximum":4}`,
		"lengths that exclude all":    `{"type":"string","minLength":3,"maxLength":2}`,
		"numbers that exclude all":    `{"type":"array","minItems":3,"maxItems":2}`,
		"a required property of none": `{"required":["a"],"additionalProperties":false}`,
		"a reference to nothing":      `{"$ref":"#/$defs/a"}`,
		"a reference to elsewhere":    `{"$ref":"https://example.com/schema"}`,
		"a reference to itself":       `{"$ref":"#"}`,
		"references in a ring":        `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"a value without end":         `{"required":["a"],"properties":{"a":{"$ref":"#"}}}`,
		"all of itself":               `{"allOf":[{"$ref":"#"}]}`,
		"too many items":              `{"type":"array","minItems":1000000000,"items":{}}`,
		"too long a text":             `{"type":"string","minLength":1000000000}`,
		"too many items of items":     strings.Repeat(laughs, 8) + `{}` + strings.Repeat(`}`, 8),
		"too deep":                    strings.Repeat(`{"minItems":1,"items":`, 500) + `{}` + strings.Repeat(`}`, 500),
	} {
		if got, ok := Instance(json.RawMessage(schema)); ok {
			t.Errorf("%s: %.100s", name, got)
		}
	}
}

// misfit says why a value does not fit a schema, "" if it does. It shares nothing with Instance.
func misfit(root, schema, value any) string {
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return "false"
		}
		return ""
	}
	if ref, ok := s["$ref"].(string); ok {
		if problem := misfit(root, pointed(root, ref), value); problem != "" {
			return ref + ": " + problem
		}
	}
	if c, ok := s["const"]; ok && !reflect.DeepEqual(c, value) {
		return "it is not the constant"
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, value) }) {
		return "it is not in the enum"
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[word].([]any)
		fitting := 0
		for _, part := range list {
			if misfit(root, part, value) == "" {
				fitting++
			}
		}
		if len(list) > 0 && (fitting == 0 || word == "allOf" && fitting < len(list)) {
			return "too few of " + word
		}
	}
	if !typed(s["type"], value) {
		return fmt.Sprintf("%v is not of type %v", value, s["type"])
	}
	return misfitInside(root, s, value)
}

// misfitInside looks at what a value consists of.
func misfitInside(root any, s map[string]any, value any) string {
	bound := func(word string, otherwise float64) float64 {
		if v, ok := s[word].(float64); ok {
			return v
		}
		return otherwise
	}
	within := func(n int, what string) bool {
		return float64(n) >= bound("min"+what, 0) && float64(n) <= bound("max"+what, math.Inf(1))
	}
	switch v := value.(type) {
	case string:
		if !within(utf8.RuneCountInString(v), "Length") {
			return "its length"
		}
		if re, err := regexp.Compile(fmt.Sprint(s["pattern"])); s["pattern"] != nil && err == nil && !re.MatchString(v) {
			return "its pattern"
		}
	case float64:
		if v < bound("minimum", v) || v > bound("maximum", v) || v <= bound("exclusiveMinimum", v-1) || v >= bound("exclusiveMaximum", v+1) {
			return "its bounds"
		}
		if step := bound("multipleOf", 0); step > 0 && math.Round(v/step)*step != v {
			return "its step"
		}
	case []any:
		if !within(len(v), "Items") {
			return "its number of items"
		}
		prefix, _ := s["prefixItems"].([]any)
		for i, item := range v {
			of := s["items"]
			if i < len(prefix) {
				of = prefix[i]
			}
			if problem := misfit(root, of, item); problem != "" {
				return fmt.Sprintf("item %d: %s", i, problem)
			}
		}
	case map[string]any:
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Sprintf("%v is missing", name)
			}
		}
		properties, _ := s["properties"].(map[string]any)
		for name, member := range v {
			of, ok := properties[name]
			if !ok {
				of = s["additionalProperties"]
			}
			if problem := misfit(root, of, member); problem != "" {
				return name + ": " + problem
			}
		}
	}
	return ""
}

func typed(kind, value any) bool {
	if list, ok := kind.([]any); ok {
		return slices.ContainsFunc(list, func(k any) bool { return typed(k, value) })
	}
	switch v := value.(type) {
	case nil:
		return kind == nil || kind == "null"
	case bool:
		return kind == nil || kind == "boolean"
	case string:
		return kind == nil || kind == "string"
	case float64:
		return kind == nil || kind == "number" || kind == "integer" && v == math.Trunc(v)
	case []any:
		return kind == nil || kind == "array"
	default:
		return kind == nil || kind == "object"
	}
}

// pointed is what a reference points at.
func pointed(root any, ref string) any {
	at := root
	for _, step := range strings.Split(ref, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "%20", " ").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			at = v[step[0]-'0']
		}
	}
	return at
}

func ExampleInstance() {
	arguments, ok := Instance(json.RawMessage(`{
		"type": "object",
		"properties": {
			"city": {"type": "string", "examples": ["Zürich"]},
			"unit": {"enum": ["celsius", "fahrenheit"]},
			"days": {"type": "integer", "minimum": 3}
		},
		"required": ["city"]
	}`))
	fmt.Println(string(arguments), ok)
	// Output: {"city":"Zürich","unit":"celsius","days":3} true
}

// FuzzInstance: whatever the schema, an instance is JSON, of a bounded size, and always the same.
func FuzzInstance(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"anyOf":[{"type":"array","minItems":2,"items":{}}]}`,
		`{"type":"string","pattern":"^(a|b){2,}[^c]$","minLength":4}`, `{"type":"number","multipleOf":0.1,"minimum":7}`,
		`{"allOf":[{"properties":{"a":{}}},{"required":["a"]}],"$defs":{"x":true}}`, `{"enum":[null,1]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		got, ok := Instance(schema)
		if !ok {
			return
		}
		again, _ := Instance(schema)
		if !json.Valid(got) || string(again) != string(got) {
			t.Errorf("%q: %s, then %s", schema, got, again)
		}
	})
}
