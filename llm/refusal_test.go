package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// The texts are written by hand after what the services send. An entry is a message, behind the exception, or behind
// OpenAI's code and parameter.
type refusal struct{ code, param, message string }

// refusedSettings are refusals of a setting by one model or one deployment: another target may take it.
var refusedSettings = map[string][]refusal{
	"openai": {
		{"", "", "Unrecognized request argument supplied: reasoning_effort"},
		{"", "", "Unrecognized request arguments supplied: parallel_tool_calls, tools"},
		{"unknown_parameter", "verbosity", "Unknown parameter: 'verbosity'."},
		{"unsupported_parameter", "stop", "Unsupported parameter: 'stop' is not supported with this model."},
		{"unsupported_parameter", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{"unsupported_value", "temperature", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."},
		{"unsupported_value", "messages[0].role", "Unsupported value: 'messages[0].role' does not support 'system' with this model."},
		{"unsupported_value", "reasoning_effort", "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'."},
		{"invalid_value", "reasoning_effort", "Invalid value: 'xhigh'. Supported values are: 'low', 'medium', and 'high'."},
		{"invalid_value", "response_format.type", "Invalid value: 'json_schema'. Supported values are: 'json_object' and 'text'."},
		{"", "response_format", "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide."},
		{"BadRequest", "", "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later"},
		{"", "", "logprobs, best_of and echo parameters are not available on gpt-35-turbo model. Please remove the parameter and try again."},
		{"", "", "Invalid content type. image_url is only supported by certain models."},
		{"OperationNotSupported", "", "The chatCompletion operation does not work with the specified model, gpt-5-pro. Please choose different model and try again."},
		{"invalid_value", "max_tokens", "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999."},
		{"", "", "max_completion_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999."},
		{"integer_above_max_value", "max_output_tokens", "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 99999 instead."},
		{"integer_below_min_value", "max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead."},
		{"decimal_above_max_value", "temperature", "Invalid 'temperature': decimal above maximum value. Expected a value <= 1, but got 1.5 instead."},
		{"array_above_max_length", "stop", "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead."},
		{"array_above_max_length", "tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead."},
		{"", "", "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model"},
		{"invalid_request_error", "", "registry/library/model does not support tools"},
		{"", "", "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"},
		{"", "", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"},
		{"invalid_request_error", "", "invalid temperature: only 1 is allowed for this model"},
	},
	"bedrock": {
		{"ValidationException", "", "This model doesn't support tool use."},
		{"ValidationException", "", "This model doesn’t support the image field for user messages. Remove image and try again."},
		{"ValidationException", "", "This model doesn't support tool use in streaming mode."},
		{"ValidationException", "", "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."},
		{"ValidationException", "", "The model returned the following errors: max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022"},
		{"ValidationException", "", "The model returned the following errors: `temperature` is deprecated for this model."},
		{"ValidationException", "", "The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one."},
		{"ValidationException", "", "The model returned the following errors: `temperature` may only be set to 1 when thinking is enabled."},
		{"ValidationException", "", "The model returned the following errors: temperature: range: 0..1"},
		{"ValidationException", "", "The model returned the following errors: thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{"ValidationException", "", "The model returned the following errors: Thinking may not be enabled when tool_choice forces tool use."},
		{"ValidationException", "", "The model returned the following errors: thinking: Extra inputs are not permitted"},
		{"ValidationException", "", "The model returned the following errors: This model does not support assistant message prefill. The conversation must end with a user message."},
		{"ValidationException", "", "Malformed input request: #: extraneous key [top_k] is not permitted, please reformat your input and try again."},
		{"ValidationException", "", "Malformed input request: #/max_gen_len: 4096 is not less or equal to 2048, please reformat your input and try again."},
		{"ValidationException", "", "The model returned the following errors: Malformed input request: #/stop_sequences: expected maximum item count: 4, found: 5, please reformat your input and try again."},
		{"ValidationException", "", "1 validation error detected: Value '1.5' at 'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1"},
	},
	"google": {
		{"", "", "Tool use with function calling is unsupported"},
		{"", "", "Function calling with a response mime type: 'application/json' is unsupported"},
		{"", "", "Unable to submit request because thinking is not supported by this model. Learn more: https://cloud.google.com/vertex-ai"},
		{"", "", "Thinking level is not supported for this model."},
		{"", "", "Thinking is not enabled for models/gemini-2.0-flash"},
		{"", "", "Developer instruction is not enabled for models/gemma-3-27b-it"},
		{"", "", "Unable to submit request because Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from your request and try again.."},
		{"", "", "Budget 0 is invalid. This model only works in thinking mode."},
		{"", "", "The thinking budget 50000 is invalid. Please choose a value between 512 and 24576."},
		{"", "", "Unable to submit request because thinking_budget is out of range; supported values are integers from 128 to 32768."},
		{"", "", "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again."},
		{"", "", "Unable to submit request because it has a topK value of 100 but the supported range is from 1 (inclusive) to 41 (exclusive). Update the value and try again."},
		{"", "", "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be in the range [1, 8192].\n"},
		{"", "", "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n"},
		{"", "", "* GenerateContentRequest.generation_config.stop_sequences: at most 5 stop sequences may be set."},
		{"", "", "Multiple tools are supported only when they are all search tools."},
		{"", "", "At most one tool is supported."},
		{"", "", "Unable to submit request because controlled generation is only supported in certain models."},
		{"", "", "Invalid JSON payload received. Unknown name \"thinkingLevel\" at 'generation_config.thinking_config': Cannot find field."},
		{"", "", "User location is not supported for the API use."},
		{"", "", "Unable to submit request because it has a mimeType parameter with value audio/x-ms-wma, which is not supported. Update the mimeType and try again."},
		{"", "", "Unsupported MIME type: audio/x-ms-wma"},
	},
}

// faults are true faults of a request, in words that come near to those of refused settings.
var faults = map[string][]refusal{
	"openai": {
		{"invalid_json_schema", "response_format", "Invalid schema for response_format 'answer': In context=('properties', 'model'), 'oneOf' is not permitted."},
		{"invalid_function_parameters", "tools[0].function.parameters", "Invalid schema for function 'lookup': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'."},
		{"missing_required_parameter", "messages", "Missing required parameter: 'messages'."},
		{"missing_required_parameter", "tools[0].function.name", "Missing required parameter: 'tools[0].function.name'."},
		{"invalid_type", "temperature", "Invalid type for 'temperature': expected a decimal, but got a string instead."},
		{"invalid_value", "messages[0].role", "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', and 'tool'."},
		{"invalid_value", "messages[0].content[0].type", "Invalid value: 'picture'. Supported values are: 'text', 'image_url'."},
		{"unknown_parameter", "messages[0].mood", "Unknown parameter: 'messages[0].mood'."},
		{"unknown_parameter", "response_format.json_schema.schema.x", "Unknown parameter: 'response_format.json_schema.schema.x'."},
		{"", "messages.[3].role", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."},
		{"", "messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."},
		{"string_above_max_length", "tools[0].function.name", "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."},
		{"array_above_max_length", "messages[1].tool_calls", "Invalid 'messages[1].tool_calls': array too long."},
		{"integer_below_min_value", "tools[0].function.parameters.minimum", "Invalid 'tools[0]'."},
		{"", "", "max_tokens must be at least 1, got -1."},
		{"", "", "Conversation roles must alternate user/assistant/user/assistant/..."},
		{"invalid_image_url", "", "Error while downloading https://example.com/model.jpg."},
		{"invalid_image_format", "", "You uploaded an unsupported image. Please make sure your image has of one the following formats."},
		{"unsupported_content_type", "", "Unsupported content type: 'text/plain'. This API method only accepts 'application/json' requests."},
		{"invalid_request_error", "", "'content' is a required property - 'messages.1'"},
	},
	"bedrock": {
		{"ValidationException", "", "A conversation must start with a user message. Try again with a conversation that starts with a user message."},
		{"ValidationException", "", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."},
		{"ValidationException", "", "The model returned the following errors: Malformed input request: #/messages/2/content/0: extraneous key [toolResult] is not permitted, please reformat your input and try again."},
		{"ValidationException", "", "The model returned the following errors: messages.2.content.2.document.source.type: Field required"},
		{"ValidationException", "", "The model returned the following errors: messages.0.content.0.mood: Extra inputs are not permitted"},
		{"ValidationException", "", "The model returned the following errors: tools.0.custom.input_schema: JSON schema is invalid - please consult https://json-schema.org"},
		{"ValidationException", "", "The model returned the following errors: output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported"},
		{"ValidationException", "", "The model returned the following errors: tools.0.custom.name: String should have at most 128 characters"},
		{"ValidationException", "", "The model returned the following errors: `max_tokens` must be greater than `thinking.budget_tokens`."},
		{"ValidationException", "", "1 validation error detected: Value 'x y' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"},
		{"ValidationException", "", "Malformed input request: #/messages/0/content: expected minimum item count: 1, found: 0"},
		{"ValidationException", "", "Malformed input request: #/tools/0/input_schema/properties/n/minimum: 9 is not less or equal to 3"},
	},
	"google": {
		{"", "", "Please use a valid role: user, model."},
		{"", "", "Please ensure that function call turn comes immediately after a user turn or after a function response turn."},
		{"", "", "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type\n"},
		{"", "", "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field."},
		{"", "", "Invalid JSON payload received. Unknown name \"oneOf\" at 'generation_config.response_schema': Cannot find field."},
		{"", "", "Unable to submit request because one or more response schemas didn't specify the schema type field."},
		{"", "", "Unable to submit request because it must have a text parameter."},
		{"", "", "Request contains an invalid argument."},
		{"", "", "* GenerateContentRequest.contents: contents is not specified\n"},
		{"", "", "Cannot fetch content from the provided URL."},
	},
}

func TestASettingThatOneModelRefusesIsUnsupportedThere(t *testing.T) {
	t.Parallel()
	checkRefusals(t, refusedSettings, llm.ErrUnsupported)
}

func TestAFaultOfTheRequestStaysInvalid(t *testing.T) {
	t.Parallel()
	checkRefusals(t, faults, llm.ErrInvalid)
}

// checkRefusals plays them as the services send them, and again inside a 200 and behind a model's 424.
func checkRefusals(t *testing.T, table map[string][]refusal, want llm.Kind) {
	t.Helper()
	for vendor, list := range table {
		for _, r := range list {
			for _, status := range r.statuses(vendor) {
				h, body := r.wire(vendor)
				if e := llm.HTTPError(status, h, body); e.Kind != want || e.Status != status {
					t.Errorf("%s, %d: %s: %q %q", vendor, status, e.Kind, r.code, r.message)
				}
			}
		}
	}
}

func (r refusal) statuses(vendor string) []int {
	if vendor == "openai" {
		return []int{400, 422}
	}
	return []int{200, 400}
}

func (r refusal) wire(vendor string) (header, []byte) {
	type object map[string]any
	body, h := object{"message": r.message}, header(nil)
	switch vendor {
	case "openai":
		body = object{"error": object{"message": r.message, "type": "invalid_request_error", "param": r.param, "code": r.code}}
	case "google":
		body = object{"error": object{"code": 400, "message": r.message, "status": "INVALID_ARGUMENT"}}
	default:
		h = exception(r.code)
	}
	raw, _ := json.Marshal(body)
	return h, raw
}

func TestOnlyARefusedRequestCanBeUnsupported(t *testing.T) {
	t.Parallel()
	body := []byte(`{"error":{"message":"This model does not support that.","code":"unsupported_value"}}`)
	for status, want := range map[int]llm.Kind{
		400: llm.ErrUnsupported, 422: llm.ErrUnsupported, 401: llm.ErrAuth, 403: llm.ErrAuth, 404: llm.ErrNotFound,
		408: llm.ErrTimeout, 413: llm.ErrContextTooLong, 429: llm.ErrRateLimited, 500: llm.ErrUnavailable, 503: llm.ErrUnavailable,
	} {
		if e := llm.HTTPError(status, nil, body); e.Kind != want {
			t.Errorf("%d: %s, want %s", status, e.Kind, want)
		}
	}
}

func TestAnUnknownFieldOfTheTopIsUnsupported(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Kind{
		`{"error":{"code":"Invalid input","status":422,"message":"invalid input error","details":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted"}]}}`: llm.ErrUnsupported,
		`{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted","input":"high"}]}`:                                                                 llm.ErrUnsupported,
		`{"detail":[{"type":"extra_forbidden","loc":["body","messages",0,"user","mood"],"msg":"Extra inputs are not permitted","input":"high"}]}`:                                                         llm.ErrInvalid,
		`{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}`:                                                                                                                llm.ErrInvalid,
	} {
		if e := llm.HTTPError(422, nil, []byte(body)); e.Kind != want {
			t.Errorf("%s: %s", e.Kind, body)
		}
	}
}
