package bedrock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

func TestOutputThatIsAskedForInWords(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	for name, c := range map[string]struct{ model, schema, words string }{
		"without a schema":             {claude, "", "JSON object"},
		"a model that knows no schema": {"anthropic.claude-3-haiku-20240307-v1:0", schema, schema},
		"a family that knows none":     {"us.amazon.nova-pro-v1:0", schema, schema},
	} {
		req := hello()
		req.System, req.Output = "Be brief.", &llm.Schema{JSON: json.RawMessage(c.schema)}
		got, warnings := sent(t, req, model(c.model))
		system := got.Body["system"].([]any)
		if len(system) != 2 || !strings.Contains(system[1].(map[string]any)["text"].(string), c.words) ||
			got.Body["outputConfig"] != nil || codes(warnings) != "changed output" {
			t.Errorf("%s: %v %v", name, system, warnings)
		}
	}
}

func TestSchemasAreClosedForClaudeOnly(t *testing.T) {
	t.Parallel()
	const open = `{"type":"object","properties":{"properties":{"type":"array","items":{"properties":{"a":{"maximum":12345678901234567890}}}},` +
		`"map":{"type":"object","additionalProperties":{"type":"string"}}},"enum":[{"type":"object"}]}`
	const shut = `{"additionalProperties":false,"enum":[{"type":"object"}],"properties":{"map":{"additionalProperties":{"type":"string"},"type":"object"},` +
		`"properties":{"items":{"additionalProperties":false,"properties":{"a":{"maximum":12345678901234567890}}},"type":"array"}},"type":"object"}`
	for name, want := range map[string]string{claude: shut, "qwen.qwen3-32b-v1:0": open} {
		req := hello()
		req.Output = &llm.Schema{JSON: json.RawMessage(open)}
		got, warnings := sent(t, req, model(name))
		format := got.Body["outputConfig"].(map[string]any)["textFormat"].(map[string]any)
		schema := format["structure"].(map[string]any)["jsonSchema"].(map[string]any)
		if schema["schema"] != want || schema["name"] != "output" || len(warnings) != 0 {
			t.Errorf("%s: want\n%s\ngot\n%v", name, want, schema)
		}
	}
}

func TestTemperatureOrTopP(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		claude: `{"temperature":0.5}`, "anthropic.claude-3-7-sonnet-20250219-v1:0": `{"temperature":0.5,"topP":0.5}`,
		"us.amazon.nova-pro-v1:0": `{"temperature":0.5,"topP":0.5}`,
	} {
		req := hello()
		req.Temperature, req.TopP = new(0.5), new(0.5)
		got, warnings := sent(t, req, model(name))
		wantJSON(t, name, got.Body["inferenceConfig"], want)
		if (codes(warnings) == "dropped top_p") != (name == claude) {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}
