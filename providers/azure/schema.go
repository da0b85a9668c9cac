package azure

import "encoding/json"

// The bounds of a schema in strict mode, the narrower of what OpenAI and Azure document.
const (
	strictDepth      = 5
	strictProperties = 100
	strictSize       = 1 << 20 // ours: a schema of that size has more names than the service takes
)

// fitsStrict reports whether a schema keeps the rules of strict mode: every object closed and all its
// properties required, and no keyword that the service would refuse. A schema that does not is sent as it is,
// not strict, for the service rejects the whole request otherwise.
// https://learn.microsoft.com/azure/ai-foundry/openai/how-to/structured-outputs
func fitsStrict(raw json.RawMessage) bool {
	var root any
	if len(raw) > strictSize || json.Unmarshal(raw, &root) != nil {
		return false
	}
	top, ok := root.(map[string]any)
	if !ok || top["type"] != "object" || top["anyOf"] != nil {
		return false
	}
	s := strictCheck{properties: strictProperties}
	return s.schema(top, 0)
}

type strictCheck struct {
	properties int // that may still come
}

func (s *strictCheck) schema(v any, depth int) bool {
	m, ok := v.(map[string]any)
	if !ok || depth > strictDepth {
		return false
	}
	typed := false
	for key, value := range m {
		switch key {
		case "type", "$ref", "enum", "const":
			typed = true
		case "description", "title", "required", "additionalProperties", "$schema":
		case "properties", "$defs", "definitions":
			if !s.all(value, depth, key == "properties") {
				return false
			}
		case "items":
			if !s.schema(value, depth+1) {
				return false
			}
		case "anyOf":
			typed = true
			if !s.any(value, depth) {
				return false
			}
		default:
			return false
		}
	}
	return typed && (m["type"] != "object" && m["properties"] == nil || closed(m))
}

func (s *strictCheck) all(v any, depth int, properties bool) bool {
	m, ok := v.(map[string]any)
	if properties {
		s.properties -= len(m)
	}
	if !ok || s.properties < 0 {
		return false
	}
	for _, one := range m {
		if !s.schema(one, depth+1) {
			return false
		}
	}
	return true
}

func (s *strictCheck) any(v any, depth int) bool {
	list, ok := v.([]any)
	if !ok {
		return false
	}
	for _, one := range list {
		if !s.schema(one, depth) {
			return false
		}
	}
	return true
}

// closed reports whether an object takes its properties, all of them, and nothing else.
func closed(m map[string]any) bool {
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	if m["additionalProperties"] != false || len(required) != len(properties) {
		return false
	}
	for _, name := range required {
		word, ok := name.(string)
		if _, known := properties[word]; !ok || !known {
			return false
		}
	}
	return true
}
