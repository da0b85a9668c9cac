package azure

import "encoding/json"

// object is a JSON object whose values are read when they are needed.
type object map[string]json.RawMessage

// has reports whether name is there and not null: the service treats null as not given.
func (o object) has(name string) bool {
	return len(o[name]) > 0 && kindOf(o[name]) != "null"
}

func (o object) text(name string) (s string, ok bool) {
	if !o.has(name) {
		return "", false
	}
	return s, json.Unmarshal(o[name], &s) == nil
}

func (o object) object(name string) (v object, ok bool) {
	if !o.has(name) {
		return nil, false
	}
	return v, json.Unmarshal(o[name], &v) == nil
}

func (o object) list(name string) (v []json.RawMessage, ok bool) {
	if !o.has(name) {
		return nil, false
	}
	return v, json.Unmarshal(o[name], &v) == nil
}

func (o object) boolean(name string) (v bool) {
	_ = json.Unmarshal(o[name], &v)
	return v
}

// kindOf names the type of a valid JSON value as the service does in its errors.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	for _, b := range raw {
		if b == '.' || b == 'e' || b == 'E' {
			return "decimal"
		}
	}
	return "integer"
}

// article puts "a" or "an" before the name of a type, except before null.
func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object", "array", "integer":
		return "an " + kind
	default:
		return "a " + kind
	}
}
