package vertex

import (
	"cmp"
	"strings"
	"testing"
)

// refused is a request that the service refuses, and how.
type refused struct {
	name    string
	path    string // unaryPath
	fields  string // JSON members beside contents, or with it in place of it
	message string // "…" at its end stands for anything
	http    bool   // has no form over gRPC
}

const more = "…"

// body puts the fields around a harmless content, unless they bring contents of their own.
func (r refused) body() string {
	if strings.Contains(r.fields, `"contents"`) {
		return "{" + r.fields + "}"
	}
	return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],` + r.fields + "}"
}

func (r refused) matches(e apiError) bool {
	if begin, ok := strings.CutSuffix(r.message, more); ok {
		return e.Status == "INVALID_ARGUMENT" && strings.HasPrefix(e.Message, begin)
	}
	return e.Status == "INVALID_ARGUMENT" && e.Message == r.message
}

// testRefusals sends each request over REST and, if it has a form there, over gRPC.
func testRefusals(t *testing.T, tests []refused) {
	t.Helper()
	s := start(t, nil)
	client := rpcClient(t, s)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, body, err := request{path: test.path, body: test.body()}.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			if e := errorOf(t, body); resp.StatusCode != 400 || e.Code != 400 || !test.matches(e) {
				t.Errorf("%d %s\nwant %q", resp.StatusCode, body, test.message)
			}
			if strings.HasPrefix(body, "[") != (strings.Contains(test.path, ":stream") && !strings.HasSuffix(test.path, "sse")) || resp.Header.Get("Content-Type") != jsonType {
				t.Errorf("%v %q", resp.Header, body)
			}
			if test.http || strings.Contains(test.path, "/v1beta/") {
				return
			}
			_, name, method := route(cmp.Or(test.path, unaryPath))
			r := rpcRequest{stream: method != "generateContent", model: name, body: test.body()}
			if r.message() == nil {
				t.Fatalf("%s has no form over gRPC", r.body)
			}
			err = r.send(t.Context(), client, nil)
			if e := statusOf(err); err == nil || !test.matches(e) {
				t.Errorf("over gRPC: %v\nwant %q", err, test.message)
			}
		})
	}
}

// vertexText is how Vertex AI words what it cannot take.
func vertexText(problem string) string {
	return "Unable to submit request because " + problem + " Learn more: " + learnGemini
}

// geminiText is how the Gemini API does.
func geminiText(path, problem string) string {
	return "* GenerateContentRequest." + path + ": " + problem + "\n"
}

func TestRefusesContents(t *testing.T) {
	const role = "Please use a valid role: user, model."
	const empty = "it has an empty text parameter. Add a value to the parameter and try again."
	testRefusals(t, []refused{
		{name: "none", fields: `"contents":[]`, message: vertexText("at least one contents field is required.")},
		{name: "none, stream", path: arrayPath, fields: `"contents":null`, message: vertexText("at least one contents field is required.")},
		{name: "none, Gemini API", path: geminiPath, fields: `"contents":[]`, message: geminiText("contents", "contents is not specified")},
		{name: "role", fields: `"contents":[{"role":"assistant","parts":[{"text":"hi"}]}]`, message: role},
		{name: "no role", fields: `"contents":[{"parts":[{"text":"hi"}]}]`, message: role},
		{name: "role of the system", path: geminiPath, fields: `"contents":[{"role":"system","parts":[{"text":"hi"}]}]`, message: role},
		{name: "no parts", fields: `"contents":[{"role":"user"}]`, message: vertexText("it must include at least one parts field, which describes the prompt input.")},
		{name: "empty parts", fields: `"contents":[{"role":"user","parts":[]}]`, message: vertexText("it must include at least one parts field, which describes the prompt input.")},
		{name: "no parts, Gemini API", path: geminiPath, fields: `"contents":[{"role":"user"}]`, message: geminiText("contents[0].parts", "contents.parts must not be empty.")},
		{name: "empty text", fields: `"contents":[{"role":"user","parts":[{"text":""}]}]`, message: vertexText(empty)},
		{name: "empty text in a turn of the model", fields: `"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"a"},{"text":""}]}]`, message: vertexText(empty)},
		{name: "empty system", fields: `"systemInstruction":{"parts":[{"text":""}]}`, message: vertexText(empty)},
		{name: "part of no kind", fields: `"contents":[{"role":"user","parts":[{"thought":true}]}]`, message: vertexText("it must have a text parameter. Add a text parameter and try again.")},
		{name: "part of no kind, Gemini API", path: geminiPath, fields: `"contents":[{"parts":[{}]}]`, message: geminiText("contents[0].parts[0].data", "required oneof field 'data' must have one initialized field")},
		{name: "media type", fields: `"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"application/x-javascript","data":"aGk="}}]}]`, message: vertexText("it has a mimeType parameter with value application/x-javascript, which is not supported. Update the mimeType and try again.")},
		{name: "media type, Gemini API", path: geminiPath, fields: `"contents":[{"parts":[{"inlineData":{"mimeType":"application/zip","data":"aGk="}}]}]`, message: "Unsupported MIME type: application/zip"},
		{name: "no media", fields: `"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png"}}]}]`, message: vertexText("it has an empty data parameter. Add a value to the parameter and try again.")},
		{name: "no URI", path: geminiPath, fields: `"contents":[{"parts":[{"fileData":{"mimeType":"image/png"}}]}]`, message: geminiText("contents[0].parts[0].file_data.file_uri", "must not be empty.")},
		{name: "no media type", fields: `"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"gs://b/o"}}]}]`, message: vertexText("it has a mimeType parameter with value , which is not supported. Update the mimeType and try again.")},
	})
}

func TestRefusesTurns(t *testing.T) {
	const (
		user   = `{"role":"user","parts":[{"text":"hi"}]}`
		model  = `{"role":"model","parts":[{"text":"ho"}]}`
		call   = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
		signed = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"g","args":{}}}]}`
		two    = `{"role":"model","parts":[{"text":"well"},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`
		result = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}`
		both   = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}]}`

		count    = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		afterHim = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		afterIt  = "Please ensure that function response turn comes immediately after a function call turn."
		unsigned = "Unable to submit request because function call `default_api:f` in the 2. content block is missing a `thought_signature`. Learn more: " + learnSignatures
	)
	contents := func(c ...string) string { return `"contents":[` + strings.Join(c, ",") + `]` }
	testRefusals(t, []refused{
		{name: "one response for two calls", fields: contents(user, two, result), message: count},
		{name: "two responses for one call", fields: contents(user, call, both), message: count},
		{name: "one response at a time", fields: contents(user, two, result, result), message: count},
		{name: "no response", fields: contents(user, call, user), message: count},
		{name: "the call is the last", fields: contents(user, call), message: count},
		{name: "response without a call", fields: contents(user, result), message: afterIt},
		{name: "response first", fields: contents(result), message: afterIt},
		{name: "response late", fields: contents(user, call, result, user, result), message: afterIt},
		{name: "call first", fields: contents(call, result), message: afterHim},
		{name: "call after the model", fields: contents(user, model, call, result), message: afterHim},
		{name: "call by the user", fields: contents(user, strings.Replace(call, "model", "user", 1), result), message: afterHim},
		{name: "call without a name", fields: contents(user, strings.Replace(call, `"name":"f",`, "", 1), result), message: geminiText("contents[1].parts[0].function_call.name", "Name cannot be empty.")},
		{name: "response without a name", fields: contents(user, call, strings.Replace(result, `"name":"f",`, "", 1)), message: geminiText("contents[2].parts[0].function_response.name", "Name cannot be empty.")},
		{name: "no signature", path: gemini3Path, fields: contents(user, call, result), message: unsigned},
		{name: "no signature in a later step", path: gemini3Path, fields: contents(user, signed, both, call, result), message: strings.Replace(unsigned, "the 2.", "the 4.", 1)},
		{name: "signature of the second call only", path: gemini3Path, fields: contents(user, `{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"},"thoughtSignature":"c2ln"}]}`, both), message: unsigned},
		{name: "no signature, Gemini API", path: "/v1beta/models/gemini-3-pro-preview:generateContent", fields: contents(user, call, result), message: "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:f` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."},
	})
}

func TestRefusesNames(t *testing.T) {
	unknown := func(name, at string) string {
		return `Invalid JSON payload received. Unknown name "` + name + `" at '` + at + `': Cannot find field.`
	}
	declare := func(parameters string) string {
		return `"tools":[{"functionDeclarations":[{"name":"f","parameters":` + parameters + `}]}]`
	}
	const type1 = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
	testRefusals(t, []refused{
		{name: "at the root", fields: `"foo":1`, message: `Invalid JSON payload received. Unknown name "foo": Cannot find field.`, http: true},
		{name: "in the configuration", fields: `"generationConfig":{"foo":1}`, message: unknown("foo", "generation_config"), http: true},
		{name: "two", fields: `"generation_config":{"foo":1,"bar":null}`, message: unknown("foo", "generation_config") + "\n" + unknown("bar", "generation_config"), http: true},
		{name: "in a part", fields: `"contents":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]`, message: unknown("type", "contents[0].parts[0]"), http: true},
		{name: "in a schema", fields: declare(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","exclusiveMinimum":0}}}`), message: unknown("exclusiveMinimum", "tools[0].function_declarations[0].parameters.properties[1].value"), http: true},
		{name: "$schema", fields: declare(`{"$schema":"x","type":"object"}`), message: unknown("$schema", "tools[0].function_declarations[0].parameters"), http: true},
		{name: "const", fields: declare(`{"type":"object","properties":{"a":{"anyOf":[{"const":1}]}}}`), message: unknown("const", "tools[0].function_declarations[0].parameters.properties[0].value.any_of[0]"), http: true},
		{name: "additionalProperties, Gemini API", path: geminiPath, fields: declare(`{"type":"object","additionalProperties":false}`), message: unknown("additionalProperties", "tools[0].function_declarations[0].parameters")},
		{name: "labels, Gemini API", path: geminiPath, fields: `"labels":{"a":"b"}`, message: `Invalid JSON payload received. Unknown name "labels": Cannot find field.`},
		{name: "streamed arguments, Gemini API", path: geminiSSE, fields: `"toolConfig":{"functionCallingConfig":{"streamFunctionCallArguments":true}}`, message: unknown("streamFunctionCallArguments", "tool_config.function_calling_config")},
		{name: "file search, Vertex AI", fields: `"tools":[{"fileSearch":{}}]`, message: unknown("fileSearch", "tools[0]"), http: true},
		{name: "type of a list", fields: declare(`{"type":["string","null"]}`), message: `Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[0].parameters': Proto field is not repeating, cannot start list.`, http: true},
		{name: "two kinds", fields: `"contents":[{"role":"user","parts":[{"text":"hi","inlineData":{"mimeType":"image/png","data":"aGk="}}]}]`, message: "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'inlineData'", http: true},
		{name: "response is text", fields: `"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":"x"}}]}]`, message: `Invalid value at 'contents[0].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "x"`, http: true},
		{name: "text is a number", fields: `"contents":[{"role":"user","parts":[{"text":5}]}]`, message: "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5", http: true},
		{name: "content is text", fields: `"contents":["hi"]`, message: "Invalid value at 'contents[0]' (" + type1 + `Content), "hi"`, http: true},
		{name: "category", fields: `"safetySettings":[{"category":"RUDE"}]`, message: "Invalid value at 'safety_settings[0].category' (" + type1 + `HarmCategory), "RUDE"`, http: true},
		{name: "enum of a number", fields: declare(`{"type":"object","properties":{"a":{"type":"string","enum":["x",1]}}}`), message: "Invalid value at 'tools[0].function_declarations[0].parameters.properties[0].value.enum[1]' (TYPE_STRING), 1", http: true},
		{name: "integer", fields: `"generationConfig":{"maxOutputTokens":1.5}`, message: "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), 1.5", http: true},
		{name: "number", fields: `"generationConfig":{"temperature":"hot"}`, message: `Invalid value at 'generation_config.temperature' (TYPE_FLOAT), "hot"`, http: true},
		{name: "boolean", fields: `"generationConfig":{"responseLogprobs":1}`, message: "Invalid value at 'generation_config.response_logprobs' (TYPE_BOOL), 1", http: true},
		{name: "base64", fields: `"contents":[{"role":"user","parts":[{"text":"a","thoughtSignature":"%"}]}]`, message: `Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "%"`, http: true},
		{name: "map", fields: `"labels":["a"]`, message: `Invalid value at 'labels' (Map), ["a"]`, http: true},
		{name: "label", fields: `"labels":{"a":1}`, message: `Invalid value at 'labels[0].value' (TYPE_STRING), 1`, http: true},
		{name: "no JSON", fields: `"contents":[}`, message: "Invalid JSON payload received. Unexpected token.\n{\"contents\":[}}\n             ^", http: true},
		{name: "half", fields: `"contents":[{"role":"user","parts":[{"text":"`, message: "Invalid JSON payload received. Unexpected end of string.\n" + more, http: true},
	})
}
