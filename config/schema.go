package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/punctual-llm/punctual/llm"
)

// SchemaURL is where the schema of the latest release lies. A file whose first line is
//
//	# yaml-language-server: $schema=URL
//
// is checked and completed by editors.
const SchemaURL = "https://raw.githubusercontent.com/punctual-llm/punctual/main/docs/llm.schema.json"

// Schema is the JSON schema of a file, with the keys of these providers, indented. It is made from the same types that
// the decoder reads.
func Schema(providers map[string]llm.Factory) []byte {
	own := map[string]any{}
	for name, s := range object(reflect.TypeFor[FileTarget]())["properties"].(map[string]any) { //nolint:forcetypeassert // object makes it
		own[name] = s
	}
	var choices []any
	known := []any{}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		t := settingsOf(providers[name])
		if t == nil {
			continue
		}
		known = append(known, name)
		properties := maps.Clone(own)
		maps.Copy(properties, object(t)["properties"].(map[string]any)) //nolint:forcetypeassert // object makes it
		choices = append(choices, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"provider": map[string]any{"const": name}}, "required": []string{"provider"}},
			"then": map[string]any{"properties": properties, "additionalProperties": false},
		})
	}
	target := map[string]any{"type": "object", "required": []string{"name", "provider"}, "properties": maps.Clone(own)}
	if len(known) > 0 {
		target["allOf"] = choices
		target["properties"].(map[string]any)["provider"] = described(map[string]any{"enum": known}, ownField("provider")) //nolint:forcetypeassert // as above
	}
	root := object(reflect.TypeFor[File]())
	root["properties"].(map[string]any)["targets"] = map[string]any{ //nolint:forcetypeassert // as above
		"type": []string{"array", "null"}, "minItems": 1, "items": map[string]any{"$ref": "#/definitions/target"},
		"description": root["properties"].(map[string]any)["targets"].(map[string]any)["description"], //nolint:forcetypeassert // as above
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = SchemaURL
	root["title"] = "Punctual: " + DefaultFile
	root["definitions"] = map[string]any{
		"target": target,
		"variable": map[string]any{
			"type": "string", "pattern": `\$\{`, "description": "A value with ${NAME} or ${NAME:-default} in it.",
		},
		"duration": map[string]any{
			"type": "string", "pattern": `^[+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`, "description": "A time such as 30s or 1m30s.",
		},
	}
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("config: the schema is no JSON: " + err.Error()) // plain maps and texts
	}
	return append(data, '\n')
}

func ownField(name string) *field {
	all, _ := fields(reflect.TypeFor[FileTarget]())
	return &all[slices.IndexFunc(all, func(f field) bool { return f.name == name })]
}

// object is the schema of a struct.
func object(t reflect.Type) map[string]any {
	all, rest := fields(t)
	properties := map[string]any{}
	for i := range all {
		properties[all[i].name] = described(schemaOf(all[i].typ, &all[i]), &all[i])
	}
	s := map[string]any{"type": []string{"object", "null"}, "properties": properties}
	if rest < 0 {
		s["additionalProperties"] = false
	}
	return s
}

// described adds what a field says about itself.
func described(s map[string]any, f *field) map[string]any {
	text := f.doc
	if f.def != "" {
		text += " Default: " + f.def + "."
	}
	if text != "" {
		s["description"] = text
	}
	return s
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/definitions/" + name} }

// schemaOf is the schema of a type, where a variable may stand in for any scalar.
func schemaOf(t reflect.Type, f *field) map[string]any {
	orVariable := func(s ...any) map[string]any { return map[string]any{"anyOf": append(s, ref("variable"))} }
	t = plain(t)
	switch {
	case isDuration(t) && f.min == "0":
		return orVariable(ref("duration"), map[string]any{"const": 0})
	case isDuration(t):
		return orVariable(ref("duration"))
	}
	switch t.Kind() {
	case reflect.Struct:
		return object(t)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Struct {
			return map[string]any{"type": []string{"object", "null"}, "additionalProperties": object(t.Elem())}
		}
		return map[string]any{"type": []string{"object", "null"}}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem(), f)}
	case reflect.Bool:
		return orVariable(map[string]any{"type": "boolean"})
	case reflect.String:
		if len(f.enum) > 0 {
			return orVariable(map[string]any{"enum": f.enum})
		}
		return map[string]any{"type": []string{"string", "number"}}
	case reflect.Float32, reflect.Float64:
		return orVariable(ranged("number", f))
	case reflect.Interface:
		return map[string]any{}
	default:
		return orVariable(ranged("integer", f))
	}
}

func ranged(kind string, f *field) map[string]any {
	s := map[string]any{"type": kind}
	if least, err := strconv.ParseFloat(f.min, 64); err == nil {
		s["minimum"] = least
	}
	if most, err := strconv.ParseFloat(f.max, 64); err == nil {
		s["maximum"] = most
	}
	return s
}
