package azure_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

const closed = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

func TestToolsAreSentWithTheirChoice(t *testing.T) {
	t.Parallel()
	open := `{"type":"object","properties":{"city":{"type":"string"}}}`
	for choice, members := range map[llm.ToolChoice]map[string]string{
		{}:                                     {"tool_choice": "", "parallel_tool_calls": ""},
		{Mode: llm.ToolNone}:                   {"tool_choice": `"none"`},
		{Mode: llm.ToolRequired, Single: true}: {"tool_choice": `"required"`, "parallel_tool_calls": "false"},
		{Mode: llm.ToolNamed, Name: "f"}:       {"tool_choice": `{"type":"function","function":{"name":"f"}}`},
	} {
		req := hello()
		req.Tools = []llm.Tool{
			{Name: "f", Description: "d", Parameters: json.RawMessage(closed)},
			{Name: "g", Parameters: json.RawMessage(closed), Lenient: true},
			{Name: "h", Parameters: json.RawMessage(open)},
			{Name: "i"},
		}
		req.ToolChoice = choice
		got, resp := sent(t, req)
		members["tools"] = `[
			{"type":"function","function":{"name":"f","description":"d","parameters":` + closed + `,"strict":true}},
			{"type":"function","function":{"name":"g","parameters":` + closed + `}},
			{"type":"function","function":{"name":"h","parameters":` + open + `}},
			{"type":"function","function":{"name":"i","parameters":{"type":"object","properties":{}}}}]`
		want(t, got, members)
		if len(resp.Warnings) > 0 {
			t.Errorf("warnings: %v", resp.Warnings)
		}
	}
}

func TestWithoutToolsThereIsNoToolChoice(t *testing.T) {
	t.Parallel()
	req := hello()
	req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNone, Single: true}
	got, _ := sent(t, req)
	want(t, got, map[string]string{"tool_choice": "", "parallel_tool_calls": "", "tools": ""})
}

func TestOutputIsAskedForAsASchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema llm.Schema
		want   string
	}{
		"any object": {llm.Schema{}, `{"type":"json_object"}`},
		"strict":     {llm.Schema{JSON: json.RawMessage(closed)}, `{"type":"json_schema","json_schema":{"name":"output","schema":` + closed + `,"strict":true}}`},
		"lenient": {
			llm.Schema{Name: "n", Description: "d", JSON: json.RawMessage(closed), Lenient: true},
			`{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":` + closed + `}}`,
		},
		"not fit for strict": {llm.Schema{Name: "n", JSON: json.RawMessage(`{"type":"object"}`)}, `{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`},
	} {
		req := hello()
		req.Output = &c.schema
		got, _ := sent(t, req)
		t.Log(name)
		want(t, got, map[string]string{"response_format": c.want})
	}
}

func TestToolNamesThatDoNotFitAreMappedThereAndBack(t *testing.T) {
	t.Parallel()
	names := []string{"files.read", "files:read", "файл", strings.Repeat("x", 65), strings.Repeat("x", 66), "fine_name-1"}
	req := hello()
	for _, n := range names {
		req.Tools = append(req.Tools, llm.Tool{Name: n})
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c-" + n, Name: n}}},
			llm.ToolResults(llm.ToolResult{CallID: "c-" + n}))
	}
	req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: names[0]}
	got, _ := sent(t, req)
	fits := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	var wire []string
	for i, tool := range got.Body["tools"].([]any) {
		name := tool.(map[string]any)["function"].(map[string]any)["name"].(string)
		if !fits.MatchString(name) || strings.Count(strings.Join(wire, " ")+" ", name+" ") > 0 {
			t.Errorf("%s became %s", names[i], name)
		}
		wire = append(wire, name)
		call := got.Body["messages"].([]any)[1+2*i].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)
		if f := call["function"].(map[string]any); f["name"] != name {
			t.Errorf("%s is %s in tools and %s in the history", names[i], name, f["name"])
		}
		result := got.Body["messages"].([]any)[2+2*i].(map[string]any)
		if id := call["id"].(string); id != result["tool_call_id"] || len(id) > 40 {
			t.Errorf("the id of %s became %s and %s", names[i], id, result["tool_call_id"])
		}
	}
	want(t, got, map[string]string{"tool_choice": `{"type":"function","function":{"name":"` + wire[0] + `"}}`})

	s := serve(t, reply(200, message(`{"tool_calls":[{"id":"1","function":{"name":"`+wire[2]+`","arguments":"{}"}},`+
		`{"id":"2","function":{"name":"other","arguments":"{}"}}]}`, `"tool_calls"`)))
	resp, err := unary(t, s.provider(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if calls := resp.Message.ToolCalls(); calls[0].Name != names[2] || calls[1].Name != "other" {
		t.Errorf("calls came back as %v", calls)
	}
}

func TestSettingsWithoutAPlaceAreAWarning(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Metadata = map[string]string{"run": "7"}
	req.Thinking.MaxTokens = 1000
	got, resp := sent(t, req)
	want(t, got, map[string]string{"metadata": "", "reasoning_effort": `"low"`})
	if len(resp.Warnings) != 2 || resp.Warnings[0].Field != "thinking.max_tokens" || resp.Warnings[1].Field != "metadata" {
		t.Errorf("warnings: %+v", resp.Warnings)
	}
	for tokens, effort := range map[int]string{10000: `"medium"`, 30000: `"high"`} {
		req.Thinking.MaxTokens = tokens
		got, _ = sent(t, req)
		want(t, got, map[string]string{"reasoning_effort": effort})
	}
}

func TestExtraGoesIntoTheBody(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Metadata, req.MaxTokens, req.Thinking.Effort = map[string]string{"run": "7"}, 10, "none"
	err := azure.Extra{
		DataSources: json.RawMessage(`[{"type":"azure_search"}]`), PromptCacheKey: "k", Modalities: []string{"text", "audio"},
		ServiceTier: "flex", Verbosity: "low", User: "u", LogProbs: true, TopLogProbs: 2, Store: true,
		FrequencyPenalty: new(0.0),
		Fields: map[string]json.RawMessage{
			"top_k": json.RawMessage("40"), "max_completion_tokens": json.RawMessage("null"), "verbosity": json.RawMessage(`"high"`),
		},
	}.Set(req)
	if err != nil {
		t.Fatal(err)
	}
	got, resp := sent(t, req)
	want(t, got, map[string]string{
		"data_sources": `[{"type":"azure_search"}]`, "prompt_cache_key": `"k"`, "modalities": `["text","audio"]`,
		"service_tier": `"flex"`, "verbosity": `"high"`, "user": `"u"`, "logprobs": "true", "top_logprobs": "2",
		"store": "true", "frequency_penalty": "0", "presence_penalty": "", "top_k": "40", "max_completion_tokens": "",
		"metadata": `{"run":"7"}`, "reasoning_effort": `"none"`, "model": `"m"`,
		"messages": `[{"role":"user","content":"hello"}]`,
	})
	if len(resp.Warnings) > 0 {
		t.Errorf("warnings: %v", resp.Warnings)
	}
}

func TestExtraOfARequestLeavesOtherRequestsAlone(t *testing.T) {
	t.Parallel()
	shared := hello()
	if err := (azure.Extra{User: "a"}).Set(shared); err != nil {
		t.Fatal(err)
	}
	copied := *shared
	if err := (azure.Extra{User: "b"}).Set(&copied); err != nil {
		t.Fatal(err)
	}
	got, _ := sent(t, shared)
	want(t, got, map[string]string{"user": `"a"`})
}

func TestExtraCannotReplaceTheRequest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages", "model", "stream"} {
		e := azure.Extra{Fields: map[string]json.RawMessage{name: json.RawMessage("1")}}
		badField(t, e.Set(hello()), llm.ErrInvalid, "extra.azure."+name)
		req := hello()
		req.Extra = map[string]json.RawMessage{"azure": json.RawMessage(`{"` + name + `":1}`)}
		_, err := unary(t, serve(t, reply(200, ok)).provider(t), req)
		badField(t, err, llm.ErrInvalid, "extra.azure."+name)
	}
	badField(t, azure.Extra{Audio: json.RawMessage("{secret")}.Set(hello()), llm.ErrInvalid, "extra.azure", "secret")
	req := hello()
	req.Extra = map[string]json.RawMessage{"azure": json.RawMessage(`"secret"`)}
	_, err := unary(t, serve(t, reply(200, ok)).provider(t), req)
	badField(t, err, llm.ErrInvalid, "extra.azure", "secret")
}

func TestParametersFillWhatARequestLeavesOpen(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Temperature = new(0.1)
	if err := (azure.Extra{User: "mine"}).Set(req); err != nil {
		t.Fatal(err)
	}
	got, _ := sent(t, req, func(o *azure.CompatibleOptions) {
		o.Parameters = map[string]any{"temperature": 0.9, "top_p": 0.5, "user": "theirs", "top_k": 40}
	})
	want(t, got, map[string]string{"temperature": "0.1", "top_p": "0.5", "user": `"mine"`, "top_k": "40"})
	s := serve(t, events(text("hi"), stop(), done))
	p := s.provider(t, func(o *azure.CompatibleOptions) { o.Parameters = map[string]any{"stream_options": nil} })
	if _, _, err := stream(t, p, hello()); err != nil {
		t.Fatal(err)
	}
	want(t, s.Last(t), map[string]string{"stream_options": "", "stream": "true"})
}

func TestAnOldAPIVersionGetsWhatItKnows(t *testing.T) {
	t.Parallel()
	for version, c := range map[string]struct {
		models   bool
		members  map[string]string
		warnings int
	}{
		"2024-02-01":         {false, map[string]string{"max_tokens": "9", "max_completion_tokens": "", "stream_options": "", "parallel_tool_calls": ""}, 1},
		"2024-10-21":         {false, map[string]string{"max_tokens": "", "max_completion_tokens": "9", "stream_options": `{"include_usage":true}`, "parallel_tool_calls": "false"}, 0},
		"2025-04-01-preview": {false, map[string]string{"max_tokens": "", "max_completion_tokens": "9", "parallel_tool_calls": "false"}, 0},
		"":                   {false, map[string]string{"max_completion_tokens": "9", "stream_options": `{"include_usage":true}`}, 0},
		"2024-05-01-preview": {true, map[string]string{"max_tokens": "9", "max_completion_tokens": "", "stream_options": `{"include_usage":true}`}, 1},
	} {
		s := serve(t, events(text("hi"), stop(), done))
		o := &azure.Options{Endpoint: s.URL, Deployment: "d", APIVersion: version, Key: "k"}
		if c.models {
			o.Endpoint += "/models"
		}
		req := hello()
		req.MaxTokens, req.ToolChoice.Single = 9, true
		req.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(closed)}}
		_, resp, err := stream(t, keep(t)(azure.New(o)), req)
		if err != nil {
			t.Fatal(err)
		}
		want(t, s.Last(t), c.members)
		strict := version == "" || version > "2024-08" && !c.models
		if got := strings.Contains(s.Last(t).Raw, `"strict":true`); got != strict || len(resp.Warnings) != c.warnings {
			t.Errorf("%q: strict %v, warnings %v", version, got, resp.Warnings)
		}
	}
	req := hello()
	req.Output = &llm.Schema{JSON: json.RawMessage(closed)}
	_, err := unary(t, keep(t)(azure.New(&azure.Options{Endpoint: "http://localhost", Deployment: "d", APIVersion: "2024-02-01", Key: "k"})), req)
	badField(t, err, llm.ErrUnsupported, "output.json")
}

func TestANilRequestIsInvalid(t *testing.T) {
	t.Parallel()
	_, err := unary(t, serve(t, reply(200, ok)).provider(t), nil)
	badField(t, err, llm.ErrInvalid, "request")
}

// The service refuses JSON without a schema unless the prompt names it: then the request is mended and the
// answer says so.
func TestAnyObjectAlwaysNamesJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		system, prompt, want string
		warnings             int
	}{
		{"", "give me a list", `[{"role":"system","content":"Answer with a JSON object."},{"role":"user","content":"give me a list"}]`, 1},
		{"Be short.", "give me a list", `[{"role":"system","content":"Be short.\n\nAnswer with a JSON object."},{"role":"user","content":"give me a list"}]`, 1},
		{"", "as Json, please", `[{"role":"user","content":"as Json, please"}]`, 0},
		{"JSON only", "hello", `[{"role":"system","content":"JSON only"},{"role":"user","content":"hello"}]`, 0},
	}
	for _, tt := range tests {
		got, resp := sent(t, &llm.Request{System: tt.system, Messages: []llm.Message{llm.User(tt.prompt)}, Output: &llm.Schema{}})
		want(t, got, map[string]string{"messages": tt.want})
		if len(resp.Warnings) != tt.warnings {
			t.Errorf("%q, %q: warnings %+v", tt.system, tt.prompt, resp.Warnings)
		}
	}
}
