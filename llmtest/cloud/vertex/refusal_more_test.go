package vertex

import (
	"strings"
	"testing"
)

func TestRefusesConfig(t *testing.T) {
	config := func(fields string) string { return `"generationConfig":{` + fields + `}` }
	out := func(field, value, from, to string) string {
		return vertexText("it has a " + field + " value of " + value + " but the supported range is from " + from +
			" (inclusive) to " + to + " (exclusive). Update the value and try again.")
	}
	const gemini2 = "/v1/" + resource + "gemini-2.0-flash:generateContent"
	const pro = "/v1/" + resource + "gemini-2.5-pro:generateContent"
	testRefusals(t, []refused{
		{name: "temperature too high", fields: config(`"temperature":3`), message: out("temperature", "3", "0", "2.0001")},
		{name: "temperature too low", fields: config(`"temperature":-0.5`), message: out("temperature", "-0.5", "0", "2.0001")},
		{name: "temperature, Gemini API", path: geminiPath, fields: config(`"temperature":3`), message: geminiText("generation_config.temperature", "temperature must be in the range [0.0, 2.0].")},
		{name: "topP", fields: config(`"topP":1.5`), message: out("topP", "1.5", "0", "1.0001")},
		{name: "topK", fields: config(`"topK":0`), message: out("topK", "0", "1", "65")},
		{name: "candidateCount", fields: config(`"candidateCount":9`), message: out("candidateCount", "9", "1", "9")},
		{name: "maxOutputTokens 0", fields: config(`"maxOutputTokens":0`), message: out("maxOutputTokens", "0", "1", "65537")},
		{name: "maxOutputTokens too large", fields: config(`"maxOutputTokens":"65537"`), message: out("maxOutputTokens", "65537", "1", "65537")},
		{name: "maxOutputTokens of 2.0", path: gemini2, fields: config(`"maxOutputTokens":8193`), message: out("maxOutputTokens", "8193", "1", "8193")},
		{name: "maxOutputTokens, Gemini API", path: geminiPath, fields: config(`"maxOutputTokens":100000`), message: out("maxOutputTokens", "100000", "1", "65537")},
		{name: "penalty", fields: config(`"presencePenalty":-3`), message: out("presencePenalty", "-3", "-2", "2.0001")},
		{name: "logprobs", fields: config(`"logprobs":21`), message: out("logprobs", "21", "0", "21")},
		{name: "six stops", fields: config(`"stopSequences":["a","b","c","d","e","f"]`), message: vertexText("it has 6 stopSequences but the maximum is 5. Update the value and try again.")},
		{name: "six stops, Gemini API", path: geminiPath, fields: config(`"stopSequences":["a","b","c","d","e","f"]`), message: geminiText("generation_config.stop_sequences", "at most 5 stop sequences may be set.")},
		{name: "media type of the answer", fields: config(`"responseMimeType":"text/html"`), message: vertexText("it has a responseMimeType parameter with value text/html, which is not supported. Update the responseMimeType and try again.")},
		{name: "media type of the answer, Gemini API", path: geminiPath, fields: config(`"responseMimeType":"text/html"`), message: geminiText("generation_config.response_mime_type", "allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.")},
		{name: "two schemas", fields: config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"responseJsonSchema":{"type":"object"}`), message: vertexText("only one of response_schema and response_json_schema can be set.")},
		{name: "schema without a media type", fields: config(`"responseJsonSchema":{"type":"object"}`), message: vertexText("a response schema is set but responseMimeType is not application/json or text/x.enum. Update the responseMimeType and try again.")},
		{name: "schema without a media type, Gemini API", path: geminiPath, fields: config(`"responseSchema":{"type":"OBJECT"}`), message: geminiText("generation_config.response_schema", "only allowed when response_mime_type is application/json or text/x.enum.")},
		{name: "schema without a type", fields: config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"description":"x"}}}`), message: vertexText("one or more response schemas didn't specify the schema type field.")},
		{name: "JSON beside functions", fields: config(`"responseMimeType":"application/json"`) + `,"tools":[{"functionDeclarations":[{"name":"f"}]}]`, message: "Function calling with a response mime type: 'application/json' is unsupported"},
		{name: "level and budget", path: gemini3Path, fields: config(`"thinkingConfig":{"thinkingLevel":"low","thinkingBudget":0}`), message: "You can only set only one of thinking budget and thinking level.", http: true},
		{name: "level of 2.5", fields: config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), message: vertexText("thinking_level is not supported by this model."), http: true},
		{name: "level of 2.5, Gemini API", path: geminiPath, fields: config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), message: "Thinking level is not supported for this model."},
		{name: "level that is none", path: gemini3Path, fields: config(`"thinkingConfig":{"thinkingLevel":"lots"}`), message: `Invalid value at 'generation_config.thinking_config.thinking_level' (` + more, http: true},
		{name: "thinking of 2.0", path: gemini2, fields: config(`"thinkingConfig":{"thinkingBudget":100}`), message: vertexText("thinking is not supported by this model.")},
		{name: "no thinking of pro", path: pro, fields: config(`"thinkingConfig":{"thinkingBudget":0}`), message: vertexText("Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from your request and try again..")},
		{name: "no thinking of pro, Gemini API", path: "/v1beta/models/gemini-2.5-pro:generateContent", fields: config(`"thinkingConfig":{"thinkingBudget":0}`), message: "Budget 0 is invalid. This model only works in thinking mode."},
		{name: "no thinking but thoughts", fields: config(`"thinkingConfig":{"thinkingBudget":0,"includeThoughts":true}`), message: vertexText("Thinking_config.include_thoughts is only enabled when thinking is enabled..")},
		{name: "budget", fields: config(`"thinkingConfig":{"thinkingBudget":40000}`), message: "The thinking budget 40000 is invalid. Please choose a value between 128 and 32768."},
	})
}

func TestRefusesTools(t *testing.T) {
	declare := func(functions string) string { return `"tools":[{"functionDeclarations":[` + functions + `]}]` }
	schema := func(s string) string { return declare(`{"name":"f","parameters":` + s + `}`) }
	const invalidName = "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
	const invalidNameVertex = "Unable to submit request because the function name "
	const parameters = "tools[0].function_declarations[0].parameters"
	about := func(place, problem string) string {
		return "Unable to submit request because `f` functionDeclaration `" + place + "` schema " + problem + " Learn more: " + learnFunctions
	}
	calling := func(c string) string { return `"toolConfig":{"functionCallingConfig":{` + c + `}}` }
	testRefusals(t, []refused{
		{name: "tool of no kind", fields: `"tools":[{}]`, message: geminiText("tools[0].tool_type", "required one_of 'tool_type' must have one initialized field")},
		{name: "name with a blank", fields: declare(`{"name":"my tool"}`), message: invalidNameVertex + `"my tool"` + more},
		{name: "no name", fields: declare(`{"description":"x"}`), message: invalidNameVertex + `""` + more},
		{name: "name begins with a digit", path: geminiPath, fields: declare(`{"name":"1st"}`), message: geminiText("tools[0].function_declarations[0].name", invalidName)},
		{name: "name too long", path: geminiPath, fields: declare(`{"name":"` + strings.Repeat("x", 65) + `"}`), message: geminiText("tools[0].function_declarations[0].name", invalidName)},
		{name: "twice", fields: declare(`{"name":"f"},{"name":"f"}`), message: "Duplicate function declaration found: f"},
		{name: "beside a search", fields: `"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]}]`, message: "Multiple tools are supported only when they are all search tools."},
		{name: "beside a search, Gemini API", path: geminiPath, fields: `"tools":[{"googleSearch":{},"functionDeclarations":[{"name":"f"}]}]`, message: "Tool use with function calling is unsupported"},
		{name: "two schemas", fields: declare(`{"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`), message: vertexText("functionDeclaration `f` has both `parameters` and `parameters_json_schema`. Set only one of them.")},
		{name: "parameters are text", fields: schema(`{"type":"STRING"}`), message: "Unable to submit request because `f` functionDeclaration `parameters` schema should be of type OBJECT. Learn more: " + learnFunctions},
		{name: "no type", fields: schema(`{"type":"OBJECT","properties":{"a":{"description":"x"}}}`), message: about("parameters.a", "didn't specify the schema type field.")},
		{name: "anyOf beside a type", fields: schema(`{"type":"OBJECT","properties":{"a":{"type":"STRING","anyOf":[{"type":"STRING"}]}}}`), message: about("parameters.a", "specified other fields alongside any_of. When using any_of, it must be the only field set.")},
		{name: "no items", fields: schema(`{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}`), message: geminiText(parameters+".properties[a].items", "missing field.")},
		{name: "no items of items", path: geminiPath, fields: schema(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"array"}}}}`), message: geminiText(parameters+".properties[a].items.items", "missing field.")},
		{name: "required is not there", fields: schema(`{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"required":["a","b"]}`), message: geminiText(parameters+".required[1]", "property is not defined")},
		{name: "required of a text", fields: schema(`{"type":"OBJECT","properties":{"a":{"type":"STRING","required":["x"]}}}`), message: geminiText(parameters+".properties[a].required", "only allowed for OBJECT type")},
		{name: "properties of a text", fields: schema(`{"type":"OBJECT","properties":{"a":{"type":"STRING","properties":{"x":{"type":"STRING"}}}}}`), message: geminiText(parameters+".properties[a].properties", "only allowed for OBJECT type")},
		{name: "enum of integers", path: geminiPath, fields: schema(`{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}`), message: geminiText(parameters+".properties[a].enum", "only allowed for STRING type")},
		{name: "empty enum", fields: schema(`{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING","enum":["x",""]}]}}}`), message: geminiText(parameters+".properties[a].any_of[0].enum[1]", "cannot be empty")},
		{name: "streamed arguments in one piece", fields: calling(`"streamFunctionCallArguments":true`), message: vertexText("streaming function call is not supported in unary API.")},
		{name: "calling without functions, Gemini API", path: geminiPath, fields: calling(`"mode":"AUTO"`), message: "Function calling config is set without function_declarations."},
		{name: "any of none", fields: calling(`"mode":"ANY"`), message: vertexText("function calling config mode is ANY but no function_declarations are set.")},
		{name: "allowed in another mode", fields: declare(`{"name":"f"}`) + "," + calling(`"mode":"AUTO","allowedFunctionNames":["f"]`), message: vertexText("allowed_function_names is set but the function calling config mode is not ANY.")},
		{name: "allowed but not declared", fields: declare(`{"name":"f"}`) + "," + calling(`"mode":"ANY","allowedFunctionNames":["g"]`), message: vertexText("allowed_function_names has g, which is not declared.")},
		{name: "cached content and system", fields: `"cachedContent":"projects/p/locations/global/cachedContents/c","systemInstruction":{"parts":[{"text":"x"}]}`, message: "Tool config, tools and system instruction should not be set in therequest when using cached content."},
		{name: "cached content and tools, Gemini API", path: geminiPath, fields: `"cachedContent":"cachedContents/c","tools":[{"codeExecution":{}}]`, message: "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.\n\n" + more},
		{name: "cached content of the other form", fields: `"cachedContent":"cachedContents/c"`, message: "Invalid CachedContent name: cachedContents/c"},
		{name: "cached content of the other form, Gemini API", path: geminiPath, fields: `"cachedContent":"projects/p/locations/l/cachedContents/c"`, message: "Invalid CachedContent name: projects/p/locations/l/cachedContents/c"},
		{name: "label", fields: `"labels":{"Team":"x"}`, message: "Unable to submit request because the label Team is not valid. " + more},
		{name: "value of a label", fields: `"labels":{"team":"a b"}`, message: "Unable to submit request because the label team is not valid. " + more},
	})
}

func TestRefusesTooMuch(t *testing.T) {
	var labels []string
	for i := range 65 {
		labels = append(labels, `"l`+strings.Repeat("x", i%60)+string(rune('a'+i%26))+string(rune('a'+i/26))+`":"v"`)
	}
	long := strings.Repeat("x", window*4+1)
	testRefusals(t, []refused{
		{name: "labels", fields: `"labels":{` + strings.Join(labels, ",") + `}`, message: vertexText("it has 65 labels but the maximum is 64.")},
		{name: "window", fields: `"contents":[{"role":"user","parts":[{"text":"` + long + `"}]}]`, message: "Unable to submit request because the input token count is 10" + more, http: true},
		{name: "window, Gemini API", path: geminiPath, fields: `"contents":[{"parts":[{"text":"` + long + `"}]}]`, message: "The input token count (10485" + more},
		{name: "body", fields: `"contents":[{"role":"user","parts":[{"text":"` + strings.Repeat("x", maxBody) + `"}]}]`, message: "Request payload size exceeds the limit: 20971520 bytes.", http: true},
	})
}

// TestTakes: what looks like one of the above and is none.
func TestTakes(t *testing.T) {
	const (
		user   = `{"role":"user","parts":[{"text":"hi"}]}`
		call   = `{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","id":"x"}}]}`
		result = `{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"a":1}}}]}`
		signed = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]}`
	)
	contents := func(c ...string) string { return `"contents":[` + strings.Join(c, ",") + `]` }
	s := start(t, nil)
	for _, test := range []refused{
		{name: "one for a list", fields: `"contents":{"role":"user","parts":{"text":"hi"}}`},
		{name: "snake case", fields: `"generation_config":{"max_output_tokens":"5","top_p":0.5},"system_instruction":{"parts":[{"text":"x"}]}`},
		{name: "numbers for enums", fields: `"safetySettings":[{"category":1,"threshold":"block_none"},{"category":99}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":6,"properties":{"a":{"type":"1"}}}}]}]`},
		{name: "turns", fields: contents(user, call, result, call, result, user)},
		{name: "older turns without a signature", path: gemini3Path, fields: contents(user, call, result, user, signed, result)},
		{name: "turn of the model last", fields: contents(user, `{"role":"model","parts":[{"text":"The"}]}`)},
		{name: "no role, Gemini API", path: geminiPath, fields: `"model":"models/x","contents":[{"parts":[{"text":"hi"}]}]`},
		{name: "file of the Gemini API", path: geminiPath, fields: `"contents":[{"parts":[{"fileData":{"fileUri":"https://x/files/1"}}]}]`},
		{name: "JSON schemas", fields: `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"$schema":"x","oneOf":[{"const":1}]}}`},
		{name: "JSON schema of a function", fields: `"tools":[{"functionDeclarations":[{"name":"a.b:c-d","parametersJsonSchema":{"type":["object","null"],"patternProperties":{}}}]}]`},
		{name: "additionalProperties", fields: `"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"}]}}}}]}]`},
		{name: "Gemini 3 with all tools", path: gemini3Path, fields: `"generationConfig":{"responseMimeType":"application/json","thinkingConfig":{"thinkingLevel":"medium"}},"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]}],"serviceTier":"x"`},
		{name: "Gemini API with all tools", path: "/v1beta/models/gemini-3-pro-preview:streamGenerateContent", fields: `"toolConfig":{"includeServerSideToolInvocations":true},"tools":[{"fileSearch":{"x":1}}],` + contents(user, `{"role":"model","parts":[{"toolCall":{"id":"1"},"thoughtSignature":"c2ln"},{"toolResponse":{"id":"1"}}]}`, user)},
		{name: "streamed arguments", path: ssePath, fields: `"toolConfig":{"functionCallingConfig":{"streamFunctionCallArguments":true}}`},
		{name: "cached content", fields: `"cachedContent":"projects/p/locations/global/cachedContents/c","labels":{"team":"","a_b-1":"x"}`},
		{name: "cached content, Gemini API", path: geminiPath, fields: `"cachedContent":"cachedContents/c"`},
		{name: "armor", fields: `"modelArmorConfig":{"prompt_template_name":"x"}`},
		{name: "dynamic budget", fields: `"generationConfig":{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (request{path: test.path, body: test.body()}).to(t, s).Outcome(t); got.Err != nil || got.Status != 200 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLenient(t *testing.T) {
	s := start(t, &Options{Lenient: true})
	for body, want := range map[string]int{`{"contents":[]}`: 200, `{"foo":1}`: 200, `{"foo":`: 400} {
		if got := (request{body: body}).to(t, s).Outcome(t); got.Status != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
}
