package bedrock

import (
	"bytes"
	"encoding/json"

	"github.com/punctual-llm/punctual/internal/wirename"
)

// output asks for JSON: with a schema where the model keeps to one, in words elsewhere.
func (e *encoder) output() {
	s := e.req.Output
	switch {
	case s == nil:
		return
	case len(s.JSON) == 0:
		e.ask("Answer with one JSON object and nothing else, without code fences.", "Converse knows no JSON without a schema")
		return
	case !e.p.keepsSchemas():
		e.ask("Answer with one JSON object that fits this JSON Schema, and nothing else, without code fences:\n"+string(s.JSON),
			"this model knows no schemas")
		return
	}
	schema := s.JSON
	if e.p.family == claude {
		schema = closed(schema)
	}
	f := &textFormat{Type: "json_schema"}
	f.Structure.JSONSchema = outputSchema{Name: "output", Description: s.Description, Schema: string(schema)}
	if s.Name != "" {
		f.Structure.JSONSchema.Name = wirename.Of(s.Name)
	}
	e.body.OutputConfig = &outputConfig{TextFormat: f}
}

// ask puts into the system prompt what Converse has no setting for.
func (e *encoder) ask(words, why string) {
	e.body.System = append(e.body.System, &block{Text: words})
	e.warn("changed", "output", why+"; the system prompt asks for it")
}

// closed is a schema whose objects take no properties but their own: Claude refuses others. What fits it fits the one
// that was given, too. A schema that already says what else may come is left as it is.
func closed(schema json.RawMessage) json.RawMessage {
	var root any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&root) != nil || !closeObjects(root) {
		return schema
	}
	out, err := marshal(root)
	if err != nil { // what was decoded can be encoded
		return schema
	}
	return out
}

// closeObjects reports whether it changed anything.
func closeObjects(v any) (changed bool) {
	switch v := v.(type) {
	case map[string]any:
		_, said := v["additionalProperties"]
		_, properties := v["properties"].(map[string]any)
		if (properties || v["type"] == "object") && !said {
			v["additionalProperties"] = false
			changed = true
		}
		for name, inner := range v {
			switch name {
			case "enum", "const", "default", "examples": // values, not schemas
			case "properties", "$defs", "definitions": // names of the user's, and schemas
				named, _ := inner.(map[string]any)
				for _, one := range named {
					changed = closeObjects(one) || changed
				}
			default:
				changed = closeObjects(inner) || changed
			}
		}
	case []any:
		for _, inner := range v {
			changed = closeObjects(inner) || changed
		}
	}
	return changed
}

// settleSampling drops one of two settings that newer Claudes take only alone.
func (e *encoder) settleSampling() {
	i := e.body.InferenceConfig
	if i == nil || i.Temperature == nil || i.TopP == nil || e.p.family != claude || claudeOf(e.p.model.Model) < claudeTakesOne {
		return
	}
	i.TopP = nil
	e.warn("dropped", "top_p", "this model takes temperature or top_p, not both")
}
