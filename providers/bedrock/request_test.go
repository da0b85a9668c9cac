package bedrock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestAWholeRequest(t *testing.T) {
	t.Parallel()
	req := &llm.Request{
		System: "Be <brief> & kind.", MaxTokens: 100, Temperature: new(0.0), Stop: []string{"END"},
		Metadata: map[string]string{"run": "7", "team": "a b"}, CachePrefix: true,
		Tools: []llm.Tool{
			{Name: "f", Description: "does", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)},
			{Name: "g.h/i"},
			{Name: "k", Parameters: json.RawMessage(`{"properties":{}}`)},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "g.h/i"},
		Output:     &llm.Schema{Name: "the answer", Description: "d", JSON: json.RawMessage(`{"type":"object","additionalProperties":false}`)},
		Messages:   []llm.Message{llm.User("hi")},
	}
	got, warnings := sent(t, req)
	if got.Path != "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse" || len(warnings) != 0 {
		t.Errorf("%s, %v", got.Path, warnings)
	}
	const want = `{"messages":[{"role":"user","content":[{"text":"hi"}]}],` +
		`"system":[{"text":"Be <brief> & kind."},{"cachePoint":{"type":"default"}}],` +
		`"inferenceConfig":{"maxTokens":100,"temperature":0,"stopSequences":["END"]},` +
		`"toolConfig":{"tools":[` +
		`{"toolSpec":{"name":"f","description":"does","inputSchema":{"json":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}}}},` +
		`{"toolSpec":{"name":"g_h_i_64eeafbc","inputSchema":{"json":{"type":"object","properties":{}}}}},` +
		`{"toolSpec":{"name":"k","inputSchema":{"json":{"properties":{},"type":"object"}}}},` +
		`{"cachePoint":{"type":"default"}}],"toolChoice":{"tool":{"name":"g_h_i_64eeafbc"}}},` +
		`"requestMetadata":{"run":"7","team":"a b"},` +
		`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"the_answer_a7c9985d","description":"d","schema":"{\"type\":\"object\",\"additionalProperties\":false}"}}}}}`
	if got.Raw != want {
		t.Errorf("want\n%s\ngot\n%s", want, got.Raw)
	}
}

func TestNamesOfToolsAreMappedBack(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Tools = []llm.Tool{{Name: "a.b"}}
	var name string
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	if _, err := unary(t, p, req); err != nil {
		t.Fatal(err)
	}
	name = s.Last(t).Body["toolConfig"].(map[string]any)["tools"].([]any)[0].(map[string]any)["toolSpec"].(map[string]any)["name"].(string)
	resp, err := unary(t, serve(t, reply(200, answer(`{"toolUse":{"toolUseId":"u1","name":"`+name+`","input":{}}}`, "tool_use"))).provider(t), req)
	if err != nil || resp.Message.ToolCalls()[0].Name != "a.b" {
		t.Errorf("%v, %+v", err, resp)
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	history := []llm.Message{
		llm.User("hi"),
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "old", Arguments: "{}"}}},
		llm.ToolResults(llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.Text{Text: "r"}}}),
	}
	const spec = `{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}`
	const old = `{"toolSpec":{"name":"old","inputSchema":{"json":{"type":"object","properties":{}}}}}`
	for name, c := range map[string]struct {
		mode     llm.ToolMode
		tools    []llm.Tool
		messages []llm.Message
		want     string
		warnings string
	}{
		"auto":                        {"", []llm.Tool{{Name: "f"}}, hello().Messages, `{"tools":[` + spec + `]}`, ""},
		"required":                    {llm.ToolRequired, []llm.Tool{{Name: "f"}}, hello().Messages, `{"tools":[` + spec + `],"toolChoice":{"any":{}}}`, ""},
		"none":                        {llm.ToolNone, []llm.Tool{{Name: "f"}}, hello().Messages, `null`, ""},
		"none with calls before":      {llm.ToolNone, []llm.Tool{{Name: "f"}}, history, `{"tools":[` + spec + `]}`, "changed tool_choice.mode"},
		"no tools, with calls before": {"", nil, history, `{"tools":[` + old + `]}`, "changed tools"},
	} {
		req := &llm.Request{Tools: c.tools, ToolChoice: llm.ToolChoice{Mode: c.mode}, Messages: c.messages}
		got, warnings := sent(t, req)
		wantJSON(t, name, got.Body["toolConfig"], c.want)
		if codes(warnings) != c.warnings {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}

func TestWhatConverseCannotCarry(t *testing.T) {
	t.Parallel()
	p := serve(t, reply(200, ok)).provider(t)
	for name, c := range map[string]struct {
		change func(*llm.Request)
		kind   llm.Kind
		field  string
	}{
		"seed": {func(r *llm.Request) { r.Seed = new(int64(7)) }, llm.ErrUnsupported, "seed"},
		"an image": {func(r *llm.Request) {
			r.Messages[0].Parts[0] = llm.Media{MediaType: "image/tiff", Data: []byte("secret")}
		}, llm.ErrUnsupported, "messages[0].parts[0].media_type"},
		"a link": {func(r *llm.Request) {
			r.Messages[0].Parts[0] = llm.Media{MediaType: "image/png", URI: "https://secret"}
		}, llm.ErrUnsupported, "messages[0].parts[0].uri"},
		"no words":  {func(r *llm.Request) { r.Messages[0].Parts[0] = llm.Text{Text: " \n"} }, llm.ErrInvalid, "messages"},
		"bad extra": {func(r *llm.Request) { r.Extra = map[string]json.RawMessage{"bedrock": json.RawMessage(`["secret"]`)} }, llm.ErrInvalid, "extra.bedrock"},
		"reserved": {func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"bedrock": json.RawMessage(`{"messages":["secret"]}`)}
		}, llm.ErrInvalid, "extra.bedrock.messages"},
		"citations": {func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"bedrock": json.RawMessage(`{"citations":"secret"}`)}
		}, llm.ErrInvalid, "extra.bedrock.citations"},
		"audio in a result": {func(r *llm.Request) {
			r.Messages = append(r.Messages,
				llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c", Name: "f"}}},
				llm.ToolResults(llm.ToolResult{CallID: "c", Parts: llm.Parts{llm.Media{MediaType: "audio/wav", Data: []byte("secret")}}}))
		}, llm.ErrUnsupported, "messages[2].parts[0].parts[0]"},
	} {
		req := hello()
		c.change(req)
		_, err := unary(t, p, req)
		t.Log(name)
		badField(t, err, c.kind, c.field, "secret")
	}
	_, err := p.Generate(t.Context(), nil, nil)
	badField(t, err, llm.ErrInvalid, "request")
}

func TestExtra(t *testing.T) {
	t.Parallel()
	req := hello()
	extra := bedrock.Extra{
		ServiceTier: "flex", Latency: "optimized", Guardrail: &bedrock.Guardrail{ID: "g", Version: "1", Trace: "enabled", Mode: "async"},
		ModelFields: map[string]any{"top_k": 40}, ResponseFields: []string{"/stop"}, PromptVariables: map[string]string{"x": "y"},
		Fields: map[string]json.RawMessage{"toolConfig": json.RawMessage(`{"tools":[{"systemTool":{"name":"s"}}]}`), "beta": json.RawMessage(`[1]`)},
	}
	if err := extra.Set(req); err != nil {
		t.Fatal(err)
	}
	const common = `"messages":[{"content":[{"text":"hello"}],"role":"user"}],"performanceConfig":{"latency":"optimized"},` +
		`"serviceTier":{"type":"flex"},"additionalModelRequestFields":{"beta":[1],"top_k":40,"min_p":0.1},` +
		`"additionalModelResponseFieldPaths":["/stop"],"promptVariables":{"x":{"text":"y"}},"toolConfig":{"tools":[{"systemTool":{"name":"s"}}]}`
	parameters := func(o *bedrock.Options) { o.Parameters = map[string]any{"top_k": 1, "min_p": 0.1} }
	got, _ := sent(t, req, parameters)
	wantJSON(t, "the body", got.Body, `{`+common+`,"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","trace":"enabled"}}`)
	s := serve(t, events(text(0, "hi"), stop("end_turn"), metadata()))
	if _, _, err := stream(t, s.provider(t, parameters), req); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, "a stream", s.Last(t).Body, `{`+common+`,"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","trace":"enabled","streamProcessingMode":"async"}}`)
	for name, e := range map[string]bedrock.Extra{
		"a guardrail without a version": {Guardrail: &bedrock.Guardrail{ID: "g"}},
		"messages":                      {Fields: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}},
		"no JSON":                       {Fields: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
		"a value that is no JSON":       {ModelFields: map[string]any{"f": func() {}}},
	} {
		if err := e.Set(hello()); llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnExtraPatchesTheBody(t *testing.T) {
	t.Parallel()
	req := hello()
	req.MaxTokens, req.Extra = 10, map[string]json.RawMessage{"bedrock": json.RawMessage(
		`{"top_k":40,"inferenceConfig":{"maxTokens":null,"x":12345678901234567890},"requestMetadata":{"a":"b"},"system":[]}`)}
	got, _ := sent(t, req)
	const want = `{"additionalModelRequestFields":{"top_k":40},"inferenceConfig":{"x":12345678901234567890},` +
		`"messages":[{"role":"user","content":[{"text":"hello"}]}],"requestMetadata":{"a":"b"},"system":[]}`
	if got.Raw != want {
		t.Errorf("want\n%s\ngot\n%s", want, got.Raw)
	}
}

func TestTheGuardrailOfTheOptions(t *testing.T) {
	t.Parallel()
	guard := func(o *bedrock.Options) { o.Guardrail = &bedrock.Guardrail{ID: "g", Version: "DRAFT", Mode: "sync"} }
	req := hello()
	req.Messages[0].Parts = append(req.Messages[0].Parts, bedrock.GuardText("the capital", "query"))
	got, _ := sent(t, req, guard)
	wantJSON(t, "the guardrail", got.Body["guardrailConfig"], `{"guardrailIdentifier":"g","guardrailVersion":"DRAFT"}`)
	wantJSON(t, "the content", got.Body["messages"].([]any)[0],
		`{"role":"user","content":[{"text":"hello"},{"guardContent":{"text":{"text":"the capital","qualifiers":["query"]}}}]}`)
}

func TestMetadataThatDoesNotFitIsDropped(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Metadata = map[string]string{"a": "b", "c": "ü", "": "x", "d": strings.Repeat("x", 257)}
	got, warnings := sent(t, req)
	wantJSON(t, "metadata", got.Body["requestMetadata"], `{"a":"b"}`)
	if codes(warnings) != "dropped metadata" {
		t.Errorf("%v", warnings)
	}
}

func TestThinkingByFamily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model    string
		thinking llm.Thinking
		want     string // additionalModelRequestFields
		output   string
		warnings string
	}{
		{claude, llm.Thinking{Effort: "none"}, `null`, `null`, ""},
		{claude, llm.Thinking{Effort: "low"}, `{"thinking":{"type":"enabled","budget_tokens":4096}}`, `null`, ""},
		{claude, llm.Thinking{MaxTokens: 10}, `{"thinking":{"type":"enabled","budget_tokens":1024}}`, `null`, "changed thinking"},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", llm.Thinking{MaxTokens: 2000}, `{"thinking":{"type":"enabled","budget_tokens":2000}}`, `null`, ""},
		{"anthropic.claude-3-haiku-20240307-v1:0", llm.Thinking{Effort: "high"}, `null`, `null`, "dropped thinking"},
		{"global.anthropic.claude-opus-4-6-v1", llm.Thinking{Effort: "high"}, `{"thinking":{"type":"adaptive"}}`, `{"effort":"high"}`, ""},
		{"global.anthropic.claude-opus-4-6-v1", llm.Thinking{MaxTokens: 3000}, `{"thinking":{"type":"enabled","budget_tokens":3000}}`, `null`, ""},
		{"anthropic.claude-sonnet-5", llm.Thinking{MaxTokens: 30000}, `{"thinking":{"type":"adaptive"}}`, `{"effort":"high"}`, "changed thinking.max_tokens"},
		{"us.amazon.nova-2-lite-v1:0", llm.Thinking{Effort: "medium"}, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}`, `null`, ""},
		{"us.amazon.nova-2-lite-v1:0", llm.Thinking{Effort: "none"}, `{"reasoningConfig":{"type":"disabled"}}`, `null`, ""},
		{"us.amazon.nova-2-lite-v1:0", llm.Thinking{MaxTokens: 10000}, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}`, `null`, "changed thinking.max_tokens"},
		{"openai.gpt-oss-120b-1:0", llm.Thinking{Effort: "high"}, `{"reasoning_effort":"high"}`, `null`, ""},
		{"openai.gpt-oss-120b-1:0", llm.Thinking{Effort: "none"}, `{"reasoning_effort":"low"}`, `null`, "changed thinking.effort"},
		{"qwen.qwen3-32b-v1:0", llm.Thinking{Effort: "high"}, `{"reasoning_config":"high"}`, `null`, ""},
		{"qwen.qwen3-32b-v1:0", llm.Thinking{Effort: "none"}, `null`, `null`, ""},
		{"us.deepseek.r1-v1:0", llm.Thinking{Effort: "high"}, `null`, `null`, "dropped thinking"},
		{"amazon.titan-text-lite-v1", llm.Thinking{Effort: "high"}, `null`, `null`, "dropped thinking"},
		{"amazon.titan-text-lite-v1", llm.Thinking{Effort: "none"}, `null`, `null`, ""},
	} {
		req := hello()
		req.Thinking = c.thinking
		got, warnings := sent(t, req, model(c.model))
		what := c.model + " " + c.thinking.Effort
		wantJSON(t, what, got.Body["additionalModelRequestFields"], c.want)
		wantJSON(t, what, got.Body["outputConfig"], c.output)
		if codes(warnings) != c.warnings {
			t.Errorf("%s: %v", what, warnings)
		}
	}
}

func TestWhatDoesNotGoWithThinking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model    string
		change   func(*llm.Request)
		want     string // inferenceConfig
		fields   string
		warnings string
	}{
		"temperature":         {claude, func(r *llm.Request) { r.Temperature, r.TopP = new(0.0), new(0.5) }, `null`, `{"thinking":{"type":"enabled","budget_tokens":32768}}`, "dropped temperature, dropped top_p"},
		"a temperature of 1":  {claude, func(r *llm.Request) { r.Temperature = new(1.0) }, `{"temperature":1}`, `{"thinking":{"type":"enabled","budget_tokens":32768}}`, ""},
		"few tokens":          {claude, func(r *llm.Request) { r.MaxTokens = 4000 }, `{"maxTokens":4000}`, `{"thinking":{"type":"enabled","budget_tokens":2000}}`, "changed thinking"},
		"too few tokens":      {claude, func(r *llm.Request) { r.MaxTokens = 1000 }, `{"maxTokens":1000}`, `null`, "dropped thinking"},
		"a call that it must": {claude, func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f"}}; r.ToolChoice.Mode = llm.ToolRequired }, `null`, `null`, "dropped thinking"},
		"Nova":                {"amazon.nova-2-pro-v1:0", func(r *llm.Request) { r.Temperature, r.MaxTokens = new(0.0), 10 }, `null`, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}`, "dropped max_tokens, dropped temperature"},
	} {
		req := hello()
		req.Thinking.Effort = "high"
		c.change(req)
		got, warnings := sent(t, req, model(c.model))
		wantJSON(t, name, got.Body["inferenceConfig"], c.want)
		wantJSON(t, name, got.Body["additionalModelRequestFields"], c.fields)
		if codes(warnings) != c.warnings {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}
