package bedrock

import (
	"strings"
	"testing"
)

func TestRefusesByModel(t *testing.T) {
	const image, doc = `{"image":{"format":"png","source":{"bytes":"AAAA"}}}`, `{"document":{"name":"a","source":{"bytes":"AAAA"}}}`
	imageResult := tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[`+image+`]}}`)
	forced := func(c string) string {
		return strings.Replace(strings.TrimSuffix(tools, "},"), `"tools"`, `"toolChoice":{"`+c+`":{"name":"f"}},"tools"`, 1) + "}"
	}
	caching := `"system":[{"text":"x"},{"cachePoint":{"type":"default"}}]`
	const sees = "This model doesn't support the image field for user messages. Remove image and try again."
	const cache = "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information."
	long := strings.Repeat("word ", 161_000)
	testRefusals(t, []refused{
		{"system", path("amazon.titan-text-express-v1", false), `"system":[{"text":"x"}]`, "", "This model doesn't support system messages. Try again without a system message or use a model that supports system messages."},
		{"tools", path("us.deepseek.r1-v1:0", false), strings.TrimSuffix(tools, ","), "", "This model doesn't support tool use."},
		{"tools in a stream", path("us.meta.llama4-scout-17b-instruct-v1:0", true), strings.TrimSuffix(tools, ","), "", "This model doesn't support tool use in streaming mode."},
		{"any tool", path("us.meta.llama3-3-70b-instruct-v1:0", false), forced("any"), "", "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again."},
		{"one tool", path("cohere.command-r-v1:0", false), forced("tool"), "", "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try again."},
		{"text beside results", path("mistral.mistral-large-2407-v1:0", false), tools + talk(hi, use, result+","+hi), "", "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn."},
		{"image", path("amazon.nova-micro-v1:0", false), talk(hi + "," + image), "", sees},
		{"image in a result", path("mistral.ministral-3-8b-instruct", false), imageResult, "", sees},
		{"document", path("amazon.nova-micro-v1:0", false), talk(hi + "," + doc), "", "This model doesn't support the document field for user messages. Remove document and try again."},
		{"document in S3 as a result", path("us.amazon.nova-2-lite-v1:0", false), tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"document":{"name":"d","source":{"s3Location":{"uri":"s3://b/k"}}}}]}}`), "", saysTheModel + "Malformed input request: #/messages/2/content/0: extraneous key [toolResult] is not permitted, please reformat your input and try again."},
		{"video", "", talk(`{"video":{"format":"mp4","source":{"bytes":"AAAA"}}}`), "", "This model doesn't support the video field for user messages. Remove video and try again."},
		{"output", path("anthropic.claude-3-haiku-20240307-v1:0", false), `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{}"}}}}`, "", "This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again."},
		{"cache", path("mistral.mistral-large-2407-v1:0", false), caching, "AccessDeniedException", cache},
		{"cache of an old Claude", path("anthropic.claude-3-haiku-20240307-v1:0", false), caching, "AccessDeniedException", cache},
		{"maxTokens of an old Claude", path("anthropic.claude-3-haiku-20240307-v1:0", false), `"inferenceConfig":{"maxTokens":4097}`, "", "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."},
		{"too long for Claude", "", `"messages":[{"role":"user","content":[{"text":"` + long + `x"}]}]`, "", saysTheModel + "prompt is too long: 201250 tokens > 200000 maximum"},
		{"too long for Nova", path("amazon.nova-micro-v1:0", false), `"system":[{"text":"` + long + `x"}]`, "", "Input is too long for requested model."},
	})
}

const (
	think   = `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}},` + tools
	thought = `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"x"}}}`
)

func TestRefusesByClaude(t *testing.T) {
	opus := path("us.anthropic.claude-opus-4-6-v1", false)
	haiku := path("us.anthropic.claude-haiku-4-5-20251001-v1:0", false)
	thinking := func(budget, more string) string {
		return `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":` + budget + `}}` + more
	}
	schema := func(s string) string {
		return `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":` + s + `}}}}`
	}
	point := `{"cachePoint":{"type":"default"}}`
	begins := func(turn, with string) string {
		return saysTheModel + "messages." + turn + ".content.0.type: Expected `thinking` or `redacted_thinking`, but found `" + with +
			"`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of " + //nolint:misspell // theirs
			"`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, " +
			"disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
	}
	testRefusals(t, []refused{
		{"unknown field", "", `"additionalModelRequestFields":{"top_k":5,"frequency_penalty":1}`, "", saysTheModel + "frequency_penalty: Extra inputs are not permitted"},
		{"temperature and topP", haiku, `"inferenceConfig":{"temperature":0.5,"topP":0.5}`, "", saysTheModel + "`temperature` and `top_p` cannot both be specified for this model. Please use only one."},
		{"blank stop", "", `"inferenceConfig":{"stopSequences":["\n"]}`, "", saysTheModel + "stop_sequences: each stop sequence must contain non-whitespace"},
		{"little thought", "", thinking("1023", ""), "", saysTheModel + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{"more thought than tokens", "", thinking("2000", `,"inferenceConfig":{"maxTokens":2000}`), "", saysTheModel + "`max_tokens` must be greater than `thinking.budget_tokens`."},
		{"cool thought", "", thinking("2000", `,"inferenceConfig":{"temperature":0.5}`), "", saysTheModel + "`temperature` may only be set to 1 when thinking is enabled."},
		{"forced thought", "", thinking("2000", `,"toolConfig":{"toolChoice":{"any":{}},"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}`), "", saysTheModel + "Thinking may not be enabled when tool_choice forces tool use."},
		{"thought behind a call", "", think + talk(hi, use, result), "", begins("1", "tool_use")},
		{"thought behind a text and a call", "", think + talk(hi, `{"text":"so"},`+use, result), "", begins("1", "text")},
		{"thought behind the last call", "", think + talk(hi, thought+","+use, result, useB, resultB), "", begins("3", "tool_use")},
		{"five cache points", "", `"system":[{"text":"x"},` + point + `],` + talk(hi+strings.Repeat(","+point, 4)), "", saysTheModel + "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"begun with a blank", "", talk(hi, `{"text":"so "}`), "", saysTheModel + "messages: final assistant content cannot end with trailing whitespace"},
		{"begun", opus, talk(hi, `{"text":"so"}`), "", saysTheModel + "This model does not support assistant message prefill. The conversation must end with a user message."},
		{"open schema", haiku, schema(`"{\"type\":\"object\"}"`), "", saysTheModel + "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"},
		{"schema of nothing", haiku, schema(`"x"`), "", saysTheModel + "output_config.format.schema: Input should be a valid dictionary"},
	})
}

// TestTakesWhatTheServiceTakes: requests that look odd and are not.
func TestTakesWhatTheServiceTakes(t *testing.T) {
	s := start(t, nil)
	for name, r := range map[string]request{
		"members that nobody knows":  {body: `{"messages":[{"role":"user","content":[{"text":"hi","foo":1}],"bar":2}],"baz":3}`},
		"nulls":                      {body: `{"messages":[{"role":"user","content":[{"text":"hi","image":null}]}],"system":null,"toolConfig":null}`},
		"old Claude, both":           {path: path("anthropic.claude-3-5-sonnet-20240620-v1:0", false), body: `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"temperature":0.7,"topP":0.9,"stopSequences":[]}}`},
		"begun":                      {body: "{" + talk(hi, `{"text":"so"}`) + "}"},
		"a chain of tools":           {body: "{" + tools + talk(hi, use+","+useB, resultB+","+result+","+hi, useB, resultB) + "}"},
		"no result to speak of":      {body: "{" + tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[],"status":"error"}}`) + "}"},
		"the service's own id":       {path: path("moonshot.kimi-k2-thinking", false), body: "{" + tools + talk(hi, strings.ReplaceAll(use, `"a"`, `"functions.f:0"`), strings.ReplaceAll(result, `"a"`, `"functions.f:0"`)) + "}"},
		"a document to cite":         {body: "{" + talk(hi+`,{"document":{"format":"txt","name":"a_b (1) [x]-y","source":{"text":"x"},"citations":{"enabled":true}}}`) + "}"},
		"guarded text":               {path: path("amazon.titan-text-express-v1", false), body: "{" + talk(`{"guardContent":{"text":{"text":"x"}}}`) + "}"},
		"a thought in return":        {body: "{" + talk(hi, `{"reasoningContent":{"reasoningText":{"text":"","signature":"x"}}},{"text":"so"}`, hi) + "}"},
		"a thought behind a thought": {body: "{" + think + talk(hi, thought+","+use, result) + "}"},
		"behind a redacted thought":  {body: "{" + think + talk(hi, `{"reasoningContent":{"redactedContent":"YQ=="}},`+use, result) + "}"},
		"behind calls of long ago":   {body: "{" + think + talk(hi, use, result, `{"text":"so"}`, hi) + "}"},
		"adaptive behind a call":     {path: path("us.anthropic.claude-opus-4-6-v1", false), body: `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},` + tools + talk(hi, use, result) + "}"},
		"nobody's model":             {path: "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc/converse", body: "{" + tools + talk(hi+`,{"video":{"format":"mp4","source":{"s3Location":{"uri":"s3://b/k"}}}}`) + "}"},
		"a schema":                   {body: `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"x","schema":"{\"type\":\"object\",\"additionalProperties\":false}"}}}}}`},
		"a system tool":              {path: path("us.amazon.nova-2-lite-v1:0", false), body: `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"systemTool":{"name":"nova_grounding"}}],"toolChoice":{"any":{}}}}`},
	} {
		if got := r.to(t, s).Outcome(t); got.Status != 200 || got.Err != nil || !strings.HasPrefix(got.Body, `{"metrics"`) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}
