package azure

import (
	"strconv"
	"strings"
	"testing"
)

// refused is a request that the service refuses, and how.
type refused struct {
	name                 string
	path                 string // deploymentPath
	fields               string // JSON members beside messages, or with it in place of it
	status               int    // 400
	param, code, message string
}

// body puts the fields around a harmless message, unless they bring messages of their own.
func (r refused) body() string {
	members := []string{`"model":"gpt-4o"`}
	if r.fields != "" {
		members = append(members, r.fields)
	}
	if !strings.Contains(r.fields, `"messages"`) {
		members = append(members, `"messages":[{"role":"user","content":"hi"}]`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func testRefusals(t *testing.T, tests []refused) {
	t.Helper()
	s := start(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := request{path: test.path, body: test.body()}.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			if test.status == 0 {
				test.status = 400
			}
			e := errorOf(t, body)
			if resp.StatusCode != test.status || e.Message != test.message || e.Param != test.param || e.Code != test.code {
				t.Errorf("%d %s\nwant %d %q param %q code %q", resp.StatusCode, body, test.status, test.message, test.param, test.code)
			}
			if e.Type != "invalid_request_error" || resp.Header.Get("X-Request-Id") == "" {
				t.Errorf("type %q, header %v", e.Type, resp.Header)
			}
		})
	}
}

func TestRefusesParameters(t *testing.T) {
	testRefusals(t, []refused{
		{"unknown", "", `"foo":1`, 0, "", "", "Unrecognized request argument supplied: foo"},
		{"two unknown", "", `"foo":1,"bar":null`, 0, "", "", "Unrecognized request arguments supplied: bar, foo"},
		{"stream is text", "", `"stream":"yes"`, 0, "stream", "invalid_type", "Invalid type for 'stream': expected a boolean, but got a string instead."},
		{"stream_options alone", "", `"stream_options":{"include_usage":true}`, 0, "stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled."},
		{"temperature too high", "", `"temperature":3`, 0, "temperature", "decimal_above_max_value", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."},
		{"temperature too low", "", `"temperature":-0.5`, 0, "temperature", "decimal_below_min_value", "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -0.5 instead."},
		{"temperature is text", "", `"temperature":"1"`, 0, "temperature", "invalid_type", "Invalid type for 'temperature': expected a decimal, but got a string instead."},
		{"top_p", "", `"top_p":1.5`, 0, "top_p", "decimal_above_max_value", "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.5 instead."},
		{"penalty", "", `"presence_penalty":-3`, 0, "presence_penalty", "decimal_below_min_value", "Invalid 'presence_penalty': decimal below minimum value. Expected a value >= -2, but got -3 instead."},
		{"max_tokens 0", "", `"max_tokens":0`, 0, "max_tokens", "integer_below_min_value", "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead."},
		{"max_tokens is no integer", "", `"max_tokens":1.5`, 0, "max_tokens", "invalid_type", "Invalid type for 'max_tokens': expected an integer, but got a decimal instead."},
		{"max_tokens too large", "", `"max_tokens":20000`, 0, "max_tokens", "invalid_value", "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000."},
		{"both limits", "", `"max_tokens":5,"max_completion_tokens":5`, 0, "max_tokens", "invalid_parameter_combination", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."},
		{"n", "", `"n":0`, 0, "n", "integer_below_min_value", "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead."},
		{"seed", "", `"seed":"x"`, 0, "seed", "invalid_type", "Invalid type for 'seed': expected an integer, but got a string instead."},
		{"user", "", `"user":7`, 0, "user", "invalid_type", "Invalid type for 'user': expected a string, but got an integer instead."},
		{"top_logprobs alone", "", `"top_logprobs":3`, 0, "top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."},
		{"top_logprobs too many", "", `"logprobs":true,"top_logprobs":21`, 0, "top_logprobs", "integer_above_max_value", "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 instead."},
		{"metadata without store", "", `"metadata":{"a":"b"}`, 0, "metadata", "", "The 'metadata' parameter is only allowed when 'store' is enabled."},
		{"metadata is a number", "", `"store":true,"metadata":{"a":1}`, 0, "metadata.a", "invalid_type", "Invalid type for 'metadata.a': expected a string, but got an integer instead."},
		{"five stops", "", `"stop":["a","b","c","d","e"]`, 0, "stop", "array_above_max_length", "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead."},
		{"stop is a number", "", `"stop":["a",1]`, 0, "stop[1]", "invalid_type", "Invalid type for 'stop[1]': expected a string, but got an integer instead."},
		{"effort without thought", "", `"reasoning_effort":"low"`, 0, "", "", "Unrecognized request argument supplied: reasoning_effort"},
	})
}

func TestRefusesForReasoningModels(t *testing.T) {
	testRefusals(t, []refused{
		{"max_tokens", reasoningPath, `"max_tokens":5`, 0, "max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{"temperature 0", reasoningPath, `"temperature":0`, 0, "temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."},
		{"temperature 0.2", "/openai/deployments/gpt-5-mini/chat/completions?api-version=2025-04-01-preview", `"temperature":0.2`, 0, "temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."},
		{"top_p", reasoningPath, `"top_p":0.5`, 0, "top_p", "unsupported_parameter", "Unsupported parameter: 'top_p' is not supported with this model."},
		{"stop", reasoningPath, `"stop":"x"`, 0, "stop", "unsupported_parameter", "Unsupported parameter: 'stop' is not supported with this model."},
		{"effort none", reasoningPath, `"reasoning_effort":"none"`, 0, "reasoning_effort", "invalid_value", "Invalid value: 'none'. Supported values are: 'low', 'medium', and 'high'."},
		{"effort of gpt-5", "/openai/deployments/gpt-5/chat/completions?api-version=2025-04-01-preview", `"reasoning_effort":"none"`, 0, "reasoning_effort", "invalid_value", "Invalid value: 'none'. Supported values are: 'minimal', 'low', 'medium', and 'high'."},
		{"parallel tool calls", reasoningPath, `"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false`, 0, "parallel_tool_calls", "unsupported_parameter", "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."},
	})
}

func TestRefusesMessages(t *testing.T) {
	const user, call = `{"role":"user","content":"hi"}`, `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	const assistant = `{"role":"assistant","content":null,"tool_calls":[` + call + `]}`
	long := strings.Repeat("x", 41)
	testRefusals(t, []refused{
		{"none", "", `"messages":null`, 0, "", "", "'messages' is a required property"},
		{"empty", "", `"messages":[]`, 0, "", "", "[] is too short - 'messages'"},
		{"text", "", `"messages":"hi"`, 0, "messages", "invalid_type", "Invalid type for 'messages': expected an array of objects, but got a string instead."},
		{"not an object", "", `"messages":["hi"]`, 0, "messages[0]", "invalid_type", "Invalid type for 'messages[0]': expected an object, but got a string instead."},
		{"no role", "", `"messages":[{"content":"hi"}]`, 0, "messages[0].role", "missing_required_parameter", "Missing required parameter: 'messages[0].role'."},
		{"role", "", `"messages":[{"role":"foo","content":"hi"}]`, 0, "messages[0].role", "invalid_value", "Invalid value: 'foo'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."},
		{"no content", "", `"messages":[` + user + `,{"role":"assistant","tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"a","content":"r"}]`, 0, "", "", "'content' is a required property - 'messages.1'"},
		{"null content", "", `"messages":[{"role":"user","content":null}]`, 0, "messages.[0].content", "", "Invalid value for 'content': expected a string, got null."},
		{"content object", "", `"messages":[{"role":"user","content":{}}]`, 0, "messages[0].content", "invalid_type", "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an object instead."},
		{"content empty", "", `"messages":[{"role":"user","content":[]}]`, 0, "messages[0].content", "empty_array", "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"part without type", "", `"messages":[{"role":"user","content":[{"text":"x"}]}]`, 0, "messages[0].content[0].type", "missing_required_parameter", "Missing required parameter: 'messages[0].content[0].type'."},
		{"part of no type", "", `"messages":[{"role":"user","content":[{"type":"image"}]}]`, 0, "messages[0].content[0].type", "invalid_value", "Invalid value: 'image'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'."},
		{"part without text", "", `"messages":[{"role":"user","content":[{"type":"text"}]}]`, 0, "messages[0].content[0].text", "missing_required_parameter", "Missing required parameter: 'messages[0].content[0].text'."},
		{"no tool calls", "", `"messages":[{"role":"assistant","content":"x","tool_calls":[]}]`, 0, "messages[0].tool_calls", "empty_array", "Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"call without id", "", `"messages":[{"role":"assistant","content":null,"tool_calls":[{"type":"function"}]}]`, 0, "messages[0].tool_calls[0].id", "missing_required_parameter", "Missing required parameter: 'messages[0].tool_calls[0].id'."},
		{"call with a long id", "", `"messages":[{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"` + long + `"}]}]`, 0, "messages[0].tool_calls[0].id", "string_above_max_length", "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead."},
		{"call of a bad name", "", `"messages":[{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"a b","arguments":"{}"}}]}]`, 0, "messages[0].tool_calls[0].function.name", "invalid_value", "Invalid 'messages[0].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{"arguments as object", "", `"messages":[{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"a","function":{"name":"f","arguments":{}}}]}]`, 0, "messages[0].tool_calls[0].function.arguments", "invalid_type", "Invalid type for 'messages[0].tool_calls[0].function.arguments': expected a string, but got an object instead."},
		{"call unanswered", "", `"messages":[` + user + `,` + assistant + `,` + user + `]`, 0, "messages.[1].role", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a"},
		{"call unanswered at the end", "", `"messages":[` + user + `,` + assistant + `]`, 0, "messages.[1].role", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a"},
		{"result of no call", "", `"messages":[` + user + `,{"role":"tool","tool_call_id":"a","content":"r"}]`, 0, "messages.[1].role", "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}, //nolint:misspell // the service's own
		{"result of another call", "", `"messages":[` + user + `,` + assistant + `,{"role":"tool","tool_call_id":"b","content":"r"}]`, 0, "messages.[2].tool_call_id", "", "Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message."},
		{"result without id", "", `"messages":[` + assistant + `,{"role":"tool","content":"r"}]`, 0, "messages[1].tool_call_id", "missing_required_parameter", "Missing required parameter: 'messages[1].tool_call_id'."},
		{"too long", "", `"messages":[{"role":"user","content":"` + strings.Repeat("word ", 110_000) + `"}]`, 0, "messages", "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 137507 tokens. Please reduce the length of the messages."},
	})
}

func TestRefusesImages(t *testing.T) {
	const place = "messages[0].content[0].image_url.url"
	const wanted = "Invalid image URL: '" + place + "'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got "
	image := func(role, value string) string {
		return `"messages":[{"role":"` + role + `","content":[{"type":"image_url","image_url":` + value + `}]}]`
	}
	testRefusals(t, []refused{
		{"text", "", image("user", `"https://x/y.png"`), 0, "messages[0].content[0].image_url", "invalid_type", "Invalid type for 'messages[0].content[0].image_url': expected an object, but got a string instead."},
		{"no url", "", image("user", `{"detail":"low"}`), 0, place, "missing_required_parameter", "Missing required parameter: '" + place + "'."},
		{"no scheme", "", image("user", `{"url":"y.png"}`), 0, place, "invalid_value", wanted + "a value without the 'data:' prefix."},
		{"no base64", "", image("user", `{"url":"data:image/png,abc"}`), 0, place, "invalid_value", wanted + "a value without the ';base64,' part."},
		{"a document", "", image("user", `{"url":"data:application/pdf;base64,AAAA"}`), 0, place, "invalid_value", wanted + "unsupported MIME type 'application/pdf'."},
		{"nothing", "", image("user", `{"url":"data:image/png;base64,"}`), 0, place, "invalid_value", wanted + "empty base64-encoded bytes."},
		{"bad base64", "", image("user", `{"url":"data:image/png;base64,a$"}`), 0, "", "invalid_base64", "Invalid base64 image_url."},
		{"other format", "", image("user", `{"url":"data:image/tiff;base64,AAAA"}`), 0, "", "invalid_image_format", "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."},
		{"detail", "", image("user", `{"url":"https://x/y.png","detail":"max"}`), 0, "messages[0].content[0].image_url.detail", "invalid_value", "Invalid value: 'max'. Supported values are: 'low', 'high', and 'auto'."},
		{"from the system", "", image("system", `{"url":"https://x/y.png"}`), 0, "messages[0]", "invalid_value", "Image URLs are only allowed for messages with role 'user', but this message with role 'system' contains an image URL."},
	})
}

func TestRefusesTools(t *testing.T) {
	tool := func(function string) string { return `"tools":[{"type":"function","function":` + function + `}]` }
	many := strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f"}},`, 129), ",")
	testRefusals(t, []refused{
		{"empty", "", `"tools":[]`, 0, "tools", "empty_array", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"too many", "", `"tools":[` + many + `]`, 0, "tools", "array_above_max_length", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead."},
		{"no type", "", `"tools":[{"function":{"name":"f"}}]`, 0, "tools[0].type", "missing_required_parameter", "Missing required parameter: 'tools[0].type'."},
		{"type", "", `"tools":[{"type":"tool"}]`, 0, "tools[0].type", "invalid_value", "Invalid value: 'tool'. Supported values are: 'function' and 'custom'."},
		{"no function", "", `"tools":[{"type":"function","name":"f"}]`, 0, "tools[0].function", "missing_required_parameter", "Missing required parameter: 'tools[0].function'."},
		{"no name", "", tool(`{}`), 0, "tools[0].function.name", "missing_required_parameter", "Missing required parameter: 'tools[0].function.name'."},
		{"name", "", tool(`{"name":"a.b"}`), 0, "tools[0].function.name", "invalid_value", "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{"long name", "", tool(`{"name":"` + strings.Repeat("x", 65) + `"}`), 0, "tools[0].function.name", "string_above_max_length", "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."},
		{"long description", "", tool(`{"name":"f","description":"` + strings.Repeat("x", 1025) + `"}`), 0, "tools[0].function.description", "string_above_max_length", "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1025 instead."},
		{"schema without type", "", tool(`{"name":"f","parameters":{}}`), 0, "tools[0].function.parameters", "invalid_function_parameters", "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."},
		{"schema without properties", "", tool(`{"name":"f","parameters":{"type":"object"}}`), 0, "tools[0].function.parameters", "invalid_function_parameters", "Invalid schema for function 'f': In context=(), object schema missing properties."},
		{"array without items", "", tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}`), 0, "tools[0].function.parameters", "invalid_function_parameters", "Invalid schema for function 'f': In context=('properties', 'a'), array schema missing items."},
		{"strict", "", tool(`{"name":"f","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":[]}}`), 0, "tools[0].function.parameters", "invalid_function_parameters", "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'."},
		{"choice without tools", "", `"tool_choice":"auto"`, 0, "tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."},
		{"parallel without tools", "", `"parallel_tool_calls":true`, 0, "parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."},
		{"choice", "", tool(`{"name":"f"}`) + `,"tool_choice":"any"`, 0, "tool_choice", "invalid_value", "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'."},
		{"choice of no tool", "", tool(`{"name":"f"}`) + `,"tool_choice":{"type":"function","function":{"name":"g"}}`, 0, "tool_choice", "", "Tool choice 'function' not found in 'tools' parameter."},
		{"choice without name", "", tool(`{"name":"f"}`) + `,"tool_choice":{"type":"function","name":"f"}`, 0, "tool_choice.function", "missing_required_parameter", "Missing required parameter: 'tool_choice.function'."},
	})
}

func TestRefusesFormats(t *testing.T) {
	format := func(value string) string {
		return `"response_format":{"type":"json_schema","json_schema":` + value + `}`
	}
	strict := func(schema string) string { return format(`{"name":"X","strict":true,"schema":` + schema + `}`) }
	const about = "Invalid schema for response_format 'X': "
	testRefusals(t, []refused{
		{"no type", "", `"response_format":{}`, 0, "response_format.type", "missing_required_parameter", "Missing required parameter: 'response_format.type'."},
		{"type", "", `"response_format":{"type":"xml"}`, 0, "response_format.type", "invalid_value", "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'."},
		{"JSON that nobody asks for", "", `"response_format":{"type":"json_object"}`, 0, "messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."},
		{"no schema at all", "", `"response_format":{"type":"json_schema"}`, 0, "response_format.json_schema", "missing_required_parameter", "Missing required parameter: 'response_format.json_schema'."},
		{"no name", "", format(`{"schema":{}}`), 0, "response_format.json_schema.name", "missing_required_parameter", "Missing required parameter: 'response_format.json_schema.name'."},
		{"name", "", format(`{"name":"a b","schema":{}}`), 0, "response_format.json_schema.name", "invalid_value", "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{"no schema", "", format(`{"name":"X"}`), 0, "response_format.json_schema.schema", "missing_required_parameter", "Missing required parameter: 'response_format.json_schema.schema'."},
		{"root", "", strict(`{"type":"array","items":{"type":"string"}}`), 0, "response_format", "", about + `schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`},
		{"open object", "", strict(`{"type":"object","properties":{}}`), 0, "response_format", "", about + "In context=(), 'additionalProperties' is required to be supplied and to be false."},
		{"open object inside", "", strict(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"object","properties":{}}}}`), 0, "response_format", "", about + "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to be false."},
		{"optional property", "", strict(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`), 0, "response_format", "", about + "In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'."},
		{"required of nothing", "", strict(`{"type":"object","additionalProperties":false,"required":["b"],"properties":{}}`), 0, "response_format", "", about + "In context=(), 'required' must be an array that includes every key in `properties`. Extra required key 'b' supplied."},
		{"keyword", "", strict(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","items":{"type":"string","minLength":1}}}}`), 0, "response_format", "", about + "In context=('properties', 'a', 'items'), 'minLength' is not permitted."},
		{"no type inside", "", strict(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"description":"x"}}}`), 0, "response_format", "", about + "In context=('properties', 'a'), schema must have a 'type' key."},
		{"variant", "", strict(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"object"}]}}}`), 0, "response_format", "", about + "In context=('properties', 'a', 'anyOf', '1'), 'additionalProperties' is required to be supplied and to be false."},
		{"definition", "", strict(`{"type":"object","additionalProperties":false,"properties":{},"$defs":{"d":{"type":"object"}}}`), 0, "response_format", "", about + "In context=('$defs', 'd'), 'additionalProperties' is required to be supplied and to be false."},
	})
}

// TestTakesWhatTheServiceTakes: the validator is strict, not wrong.
func TestTakesWhatTheServiceTakes(t *testing.T) {
	s := start(t, nil)
	schema := `{"type":"object","additionalProperties":false,"required":["a","b"],"properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"array","items":{"anyOf":[{"type":"integer","minimum":0},{"type":"null"}]}}}}`
	call := `{"id":"a","type":"function","function":{"name":"f","arguments":"not json"}}`
	tests := []struct{ name, path, fields string }{
		{"temperature 0", "", `"temperature":0,"top_p":0,"max_tokens":16384,"stop":["a","b","c","d"],"seed":7,"user":"u","n":1`},
		{"nulls", "", `"temperature":null,"stop":null,"tools":null,"tool_choice":null,"stream_options":null`},
		{"stored metadata", "", `"store":true,"metadata":{"a":"b"}`},
		{"strict schema", "", `"response_format":{"type":"json_schema","json_schema":{"name":"X-1","strict":true,"schema":` + schema + `}}`},
		{"lenient schema", "", `"response_format":{"type":"json_schema","json_schema":{"name":"X","schema":{"type":"object","properties":{"a":{"default":1}}}}}`},
		{"JSON", "", `"response_format":{"type":"json_object"},"messages":[{"role":"system","content":"Answer in JSON."}]`},
		{"tools", "", `"parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"f"}},"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g","strict":true,"parameters":` + schema + `}}]`},
		{"results in any order", "", `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[` + call + `,` + strings.Replace(call, `"a"`, `"b"`, 1) + `]},{"role":"tool","tool_call_id":"b","content":"r"},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"r"}]},{"role":"user","content":"y"}]`},
		{"images", "", `"messages":[{"role":"user","content":[{"type":"text","text":"?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]`},
		{"a thinking model", reasoningPath, `"temperature":1,"max_completion_tokens":100,"reasoning_effort":"high"`},
		{"content left out, at OpenAI", openAIPath, `"messages":[{"role":"assistant","tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"a","content":"r"}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := request{path: test.path, body: refused{fields: test.fields}.body()}.to(t, s).Answer(t)
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%v %d %s", err, resp.StatusCode, body)
			}
		})
	}
}

func TestLenientTakesAnyFields(t *testing.T) {
	s := start(t, &Options{Lenient: true})
	resp, body, err := request{body: `{"model":"m","top_k":4}`}.to(t, s).Answer(t)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("%v %d %s", err, resp.StatusCode, body)
	}
}

func TestRefusesBodies(t *testing.T) {
	s := start(t, nil)
	tests := []struct {
		name          string
		r             request
		status        int
		code, message string
	}{
		{"cut", request{body: `{"model":`}, 400, "", "We could not parse the JSON body of your request."},
		{"array", request{body: `[]`}, 400, "", "We could not parse the JSON body of your request."},
		{"not JSON", request{contentType: "text/plain"}, 400, "unsupported_content_type", "Unsupported content type: 'text/plain'."},
		{"no model", request{path: "/openai/v1/chat/completions", body: `{"messages":[]}`}, 400, "", "you must provide a model parameter"},
		{"too large", request{body: `{"x":"` + strings.Repeat("x", maxBody) + `"}`}, 413, "", "Maximum content size limit (26214400) exceeded (" + strconv.Itoa(maxBody+8) + " bytes read)"},
		{"GET, at OpenAI", request{method: "GET", path: openAIPath}, 405, "method_not_supported", "Not allowed to GET on /v1/chat/completions."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := test.r.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			if e := errorOf(t, body); resp.StatusCode != test.status || e.Code != test.code || !strings.HasPrefix(e.Message, test.message) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}
