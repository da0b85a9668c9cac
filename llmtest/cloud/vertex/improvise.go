package vertex

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// greeting is the text of an improvised answer, if nothing else is asked for.
const greeting = "Hello from a simulated Vertex AI account."

// improvise is an answer that fits the request; see [Options.Improvise].
func (c *call) improvise() *llm.Response {
	if f := c.chosen(); f != nil {
		return cloud.Improvised(llm.ToolCall{
			ID: "sim" + strconv.FormatInt(c.id, 10), Name: f.text("name"),
			Arguments: cloud.Arguments(f.schema("parameters")),
		})
	}
	return cloud.Improvised(llm.Text{Text: c.words()})
}

// chosen is the function that the model has to call, or may call and has no response of yet; nil: it answers.
func (c *call) chosen() message {
	calling := c.fields.message("toolConfig").message("functionCallingConfig")
	mode := calling.text("mode")
	if mode == "NONE" || mode != "ANY" && len(c.responses()) > 0 {
		return nil
	}
	allowed := calling.list("allowedFunctionNames").texts()
	for _, f := range c.declarations() {
		if name := f.text("name"); name != "" && (len(allowed) == 0 || slices.Contains(allowed, name)) {
			return f
		}
	}
	return nil
}

// responses are the names of the functions that the conversation has responses of.
func (c *call) responses() []string {
	var all []string
	for _, content := range c.fields.list("contents").messages() {
		for _, part := range content.list("parts").messages() {
			if f := part.message("functionResponse"); f != nil {
				all = append(all, f.text("name"))
			}
		}
	}
	return all
}

// words are the content in the format that the request asks for.
func (c *call) words() string {
	text := greeting
	if c.afterResponse() {
		text = cloud.ResultsText(c.responses())
	}
	config := c.fields.message("generationConfig")
	schema := config.schema("responseSchema")
	if schema == nil {
		schema = config.schema("response")
	}
	switch media := config.text("responseMimeType"); {
	case media == "text/x.enum" && schema != nil:
		var word string
		_ = json.Unmarshal([]byte(cloud.Arguments(schema)), &word)
		return word
	case schema != nil:
		return cloud.Arguments(schema)
	case media == "application/json":
		return string(marshal(map[string]string{"answer": text}))
	default:
		return text
	}
}

// afterResponse reports whether the last content has the response of a function.
func (c *call) afterResponse() bool {
	turns := turnsOf(c.fields.list("contents").messages())
	return len(turns) > 0 && turns[len(turns)-1].responses > 0
}

// schema is the field of that name, or the one of that name and JsonSchema, as a JSON schema; nil: there is none.
func (m message) schema(name string) json.RawMessage {
	if raw := m.raw(name + "JsonSchema"); raw != "" {
		return json.RawMessage(raw)
	}
	if s := m.message(name); s != nil {
		return marshal(jsonSchema(s))
	}
	return nil
}

// jsonSchema is a schema of the OpenAPI kind, whose types are in capitals and whose bounds may be strings, as one of
// JSON Schema.
func jsonSchema(m message) map[string]any {
	out := map[string]any{}
	for name, value := range m {
		switch value := value.(type) {
		case message:
			out[name] = jsonSchema(value)
		case entries:
			properties := map[string]any{}
			for _, e := range value {
				properties[e.key] = jsonSchema(e.value)
			}
			out[name] = properties
		case list:
			all := make([]any, len(value))
			for i, v := range value {
				all[i] = v
				if s, ok := v.(message); ok {
					all[i] = jsonSchema(s)
				}
			}
			out[name] = all
		default:
			out[name] = value
		}
	}
	if kind := strings.ToLower(m.text("type")); kind != "" && kind != "type_unspecified" {
		out["type"] = kind
	} else {
		delete(out, "type")
	}
	for _, bound := range []string{"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"} {
		if n, ok := m.number(bound); ok {
			out[bound] = n
		}
	}
	return out
}
