package vertex_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// sent makes a call and returns the body and the warnings.
func sent(t *testing.T, req *llm.Request, change ...func(*vertex.Options)) (seen, []llm.Warning) {
	t.Helper()
	s := serve(t, reply(200, ok))
	resp, err := unary(t, s.provider(t, change...), req)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return s.Last(t), resp.Warnings
}

// wantBody compares a whole body.
func wantBody(t *testing.T, got seen, want string) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(want), &v); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Body, v) {
		t.Errorf("sent\n%s\nwant\n%s", got.Raw, want)
	}
}

func geminiAPI(o *vertex.Options) { o.Project, o.Location = "", "" }

func TestASmallRequest(t *testing.T) {
	t.Parallel()
	got, warnings := sent(t, hello())
	wantBody(t, got, `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`)
	if len(warnings) > 0 || got.Path != "/v1beta1/projects/p1/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent" {
		t.Errorf("%s, %v", got.Path, warnings)
	}
}

func TestAFullRequest(t *testing.T) {
	t.Parallel()
	req := &llm.Request{
		System: "Be <brief>.", Messages: []llm.Message{llm.User("hello")}, MaxTokens: 9, Temperature: new(0.0), TopP: new(0.1),
		Stop: []string{"x"}, Seed: new(int64(7)), Thinking: llm.Thinking{MaxTokens: 100}, Metadata: map[string]string{"team": "a-1"},
		Output: &llm.Schema{Name: "n", JSON: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"const":1}}}`)},
		Tools: []llm.Tool{
			{Name: "weather", Description: "d", Parameters: json.RawMessage(`{"$schema":"s","type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}`)},
			{Name: "3 times"},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "weather", Single: true},
	}
	err := vertex.Extra{
		SafetySettings:   []vertex.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE"}},
		CachedContent:    "123",
		GenerationConfig: map[string]any{"topK": 3},
		Tools:            []json.RawMessage{json.RawMessage(`{"googleSearch":{}}`)},
		ToolConfig:       map[string]any{"includeServerSideToolInvocations": true},
		ModelArmor:       &vertex.ModelArmor{PromptTemplate: "t"},
		Fields:           map[string]json.RawMessage{"serviceTier": json.RawMessage(`"flex"`)},
	}.Set(req)
	if err != nil {
		t.Fatal(err)
	}
	got, warnings := sent(t, req)
	wantBody(t, got, `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],
		"systemInstruction":{"role":"user","parts":[{"text":"Be <brief>."}]},
		"generationConfig":{"temperature":0,"topP":0.1,"maxOutputTokens":9,"stopSequences":["x"],"seed":7,"topK":3,
			"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"enum":[1]}}},
			"thinkingConfig":{"includeThoughts":true,"thinkingBudget":100}},
		"tools":[{"functionDeclarations":[{"name":"weather","description":"d","parametersJsonSchema":{"type":"object","properties":{"n":{"type":"integer"}}}},
			{"name":"_3_times_fed2493f"}]},{"googleSearch":{}}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["weather"]},"includeServerSideToolInvocations":true},
		"labels":{"team":"a-1"},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],
		"cachedContent":"projects/p1/locations/us-central1/cachedContents/123","modelArmorConfig":{"promptTemplateName":"t"},"serviceTier":"flex"}`)
	var fields []string
	for _, w := range warnings {
		fields = append(fields, w.Code+" "+w.Field)
	}
	if want := []string{"dropped tools[0].parameters", "dropped tool_choice.single"}; !reflect.DeepEqual(fields, want) {
		t.Errorf("warnings %q", fields)
	}
	if !strings.Contains(got.Raw, `{"z":{"type":"string"},"a":{"enum":[1]}}`) || !strings.Contains(got.Raw, "<brief>") {
		t.Errorf("order or letters were changed: %s", got.Raw)
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model, effort, config string
		warned                bool
	}{
		{"gemini-3-pro-preview", "low", `{"includeThoughts":true,"thinkingLevel":"LOW"}`, false},
		{"gemini-3.1-flash-lite", "none", `{"thinkingLevel":"MINIMAL"}`, true},
		{"gemini-3-pro-preview", "none", `{"thinkingLevel":"LOW"}`, true},
		{"gemini-flash-latest", "high", `{"includeThoughts":true,"thinkingLevel":"HIGH"}`, false},
		{"gemini-2.5-flash", "none", `{"thinkingBudget":0}`, false},
		{"gemini-2.5-pro", "none", `{"thinkingBudget":128}`, true},
		{"gemini-2.5-pro", "medium", `{"includeThoughts":true,"thinkingBudget":8192}`, true},
	} {
		req := hello()
		req.Thinking.Effort = test.effort
		got, warnings := sent(t, req, model(test.model))
		wantBody(t, got, `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"thinkingConfig":`+test.config+`}}`)
		if test.warned != (len(warnings) == 1) {
			t.Errorf("%s %s: %v", test.model, test.effort, warnings)
		}
	}
}

// turn is a conversation with calls, which from wrote.
func turn(from llm.ModelRef) *llm.Request {
	return &llm.Request{Messages: []llm.Message{
		llm.User("go"),
		{Role: llm.RoleAssistant, From: from, Parts: llm.Parts{
			llm.Reasoning{Text: "hm", Signature: []byte{1}},
			llm.Reasoning{Text: "unsigned"},
			llm.Text{Text: "see", Signature: []byte{2}},
			llm.ToolCall{ID: "a", Name: "f", Arguments: `{"n":9007199254740993}`, Signature: []byte{3}},
			llm.ToolCall{ID: "vertex-call-b", Name: "g"},
			llm.Opaque{Type: vertex.PartType, Data: json.RawMessage(`{"executableCode":{"code":"1"}}`)},
			llm.Opaque{Type: vertex.GroundingType, Data: json.RawMessage(`{}`)},
			llm.Opaque{Type: "openai_refusal", Data: json.RawMessage(`"no"`)},
		}},
		llm.ToolResults(llm.ToolResult{CallID: "vertex-call-b", Parts: llm.Parts{llm.Text{Text: "two"}}, IsError: true}),
		llm.ToolResults(llm.ToolResult{CallID: "a", Parts: llm.Parts{
			llm.Text{Text: `{"r":1}`}, llm.Media{MediaType: "image/png", Data: []byte{7}},
		}}),
	}}
}

func TestWhatGoesBackToItsMaker(t *testing.T) {
	t.Parallel()
	const results = `{"role":"user","parts":[
		{"functionResponse":{ID"name":"f","response":{"r":1},"parts":[{"inlineData":{"mimeType":"image/png","data":"Bw=="}}]}},
		{"functionResponse":{"name":"g","response":{"error":"two"}}}]}`
	const skip = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
	full := `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[
		{"text":"hm","thought":true,"thoughtSignature":"AQ=="},{"text":"see","thoughtSignature":"Ag=="},
		{"functionCall":{"id":"a","name":"f","args":{"n":9007199254740993}},"thoughtSignature":"Aw=="},
		{"functionCall":{"name":"g","args":{}}},{"executableCode":{"code":"1"}}]},` + strings.Replace(results, "ID", `"id":"a",`, 1) + `]}`
	foreign := `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"see"},
		{"functionCall":{IDC"name":"f","args":{"n":9007199254740993}}SIG},{"functionCall":{"name":"g","args":{}}}]},` + results + `]}`
	fill := func(s, id, signature string) string {
		return strings.NewReplacer("IDC", id, "ID", id, "SIG", signature).Replace(s)
	}
	ref := func(provider, name string) llm.ModelRef { return llm.ModelRef{Provider: provider, Model: name} }
	for name, test := range map[string]struct {
		from        llm.ModelRef
		model, want string
	}{
		"itself":                  {ref("vertex", "gemini-2.5-flash"), "gemini-2.5-flash", full},
		"its generation":          {ref("vertex", "gemini-3-flash-preview"), "gemini-3.1-pro-preview", full},
		"an older one":            {ref("vertex", "gemini-2.5-flash"), "gemini-3-pro-preview", fill(foreign, `"id":"a",`, `,"thoughtSignature":"`+skip+`"`)},
		"another":                 {ref("azure", "gpt-4o"), "gemini-2.5-flash", fill(foreign, "", "")},
		"another, to Gemini 3":    {ref("azure", "gpt-4o"), "gemini-3-pro-preview", fill(foreign, "", `,"thoughtSignature":"`+skip+`"`)},
		"nobody knows":            {llm.ModelRef{}, "gemini-2.5-flash", fill(foreign, "", "")},
		"the same name elsewhere": {ref("openai", "gemini-2.5-flash"), "gemini-2.5-flash", fill(foreign, "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := sent(t, turn(test.from), model(test.model))
			wantBody(t, got, test.want)
			if !strings.Contains(got.Raw, "9007199254740993") {
				t.Errorf("the number changed: %s", got.Raw)
			}
		})
	}
}

func TestResultsOfTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": `{"output":"plain"}`, "": `{"output":""}`, `{"a":1}`: `{"a":1}`, `[1]`: `{"output":"[1]"}`, `{"a":`: `{"output":"{\"a\":"}`,
	} {
		req := hello()
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "a", Name: "f", Arguments: `{"half":`}}},
			llm.ToolResults(llm.ToolResult{CallID: "a", Parts: llm.Parts{llm.Text{Text: text}}}))
		got, _ := sent(t, req)
		if !strings.Contains(got.Raw, `"response":`+want) || !strings.Contains(got.Raw, `"args":{"arguments":"{\"half\":"}`) {
			t.Errorf("%q: %s", text, got.Raw)
		}
	}
}

func TestMedia(t *testing.T) {
	t.Parallel()
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Parts: llm.Parts{
			llm.Text{Text: ""},
			llm.Media{MediaType: "image/png", Data: []byte{1}},
			llm.Media{MediaType: "application/pdf", URI: "gs://b/o.pdf"},
			llm.CachePoint{},
			llm.Text{Text: "x"},
		}},
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Media{MediaType: "image/png", Data: []byte{2}}}},
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{}}},
	}}
	got, _ := sent(t, req)
	wantBody(t, got, `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AQ=="}},
		{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/o.pdf"}},{"text":"x"}]},
		{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"Ag=="}}]}]}`)
}

func TestMetadataBecomesLabelsIfItFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key, value string
		change     func(*vertex.Options)
	}{
		{"Team", "a", model("m")}, {"team", "A b", model("m")}, {"1team", "a", model("m")}, {"team", "a", geminiAPI},
	} {
		req := hello()
		req.Metadata = map[string]string{test.key: test.value}
		got, warnings := sent(t, req, test.change)
		if got.Body["labels"] != nil || len(warnings) != 1 || warnings[0].Field != "metadata" {
			t.Errorf("%s: %s %v", test.key, got.Raw, warnings)
		}
	}
}

func TestParametersFillWhatARequestLeavesOpen(t *testing.T) {
	t.Parallel()
	parameters := func(o *vertex.Options) {
		o.Parameters = map[string]any{"generationConfig": map[string]any{"topK": 5, "temperature": 1}, "serviceTier": "flex"}
	}
	req := hello()
	req.Temperature = new(0.0)
	if err := (vertex.Extra{Fields: map[string]json.RawMessage{"serviceTier": json.RawMessage("null")}}).Set(req); err != nil {
		t.Fatal(err)
	}
	got, _ := sent(t, req, parameters)
	wantBody(t, got, `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"topK":5,"temperature":0}}`)
}

func TestWhatTheWireCannotCarry(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	for field, change := range map[string]func(*llm.Request){
		"stop": func(r *llm.Request) { r.Stop = []string{"1", "2", "3", "4", "5", "6"} },
		"seed": func(r *llm.Request) { r.Seed = new(int64(1) << 40) },
		"messages[0].parts[0].uri": func(r *llm.Request) {
			r.Messages[0].Parts = llm.Parts{llm.Media{MediaType: "image/png", URI: "data:image/png;base64,AA"}}
		},
		"extra.vertex.toolConfig.functionCallingConfig.streamFunctionCallArguments": func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"vertex": json.RawMessage(`{"toolConfig":{"functionCallingConfig":{"streamFunctionCallArguments":true}}}`)}
		},
	} {
		req := hello()
		change(req)
		_, err := unary(t, p, req)
		badField(t, err, llm.ErrUnsupported, field, "image/png;")
	}
	for field, raw := range map[string]string{"extra.vertex": `[1]`, "extra.vertex.contents": `{"contents":[]}`, "extra.vertex.model": `{"model":"m"}`} {
		req := hello()
		req.Extra = map[string]json.RawMessage{"vertex": json.RawMessage(raw)}
		_, err := unary(t, p, req)
		badField(t, err, llm.ErrInvalid, field)
	}
	_, err := p.Generate(t.Context(), nil, nil)
	badField(t, err, llm.ErrInvalid, "request")
	badField(t, vertex.Extra{Tools: []json.RawMessage{json.RawMessage("{")}}.Set(hello()), llm.ErrInvalid, "extra.vertex")
	if len(s.Requests()) > 0 {
		t.Error("something was sent")
	}
}

func TestNamesOfToolsComeBack(t *testing.T) {
	t.Parallel()
	const long = "a tool with a name that has blanks and is far longer than the sixty-four letters of the wire"
	req := hello()
	req.Tools = []llm.Tool{{Name: long}, {Name: "fine_1.a:b-c"}, {Name: "not fine.a:b"}}
	got, _ := sent(t, req)
	list := got.Body["tools"].([]any)[0].(map[string]any)["functionDeclarations"].([]any)
	name := list[0].(map[string]any)["name"].(string)
	if len(name) > 64 || list[1].(map[string]any)["name"] != "fine_1.a:b-c" {
		t.Errorf("names %v", list)
	}
	if other := list[2].(map[string]any)["name"].(string); strings.ContainsAny(other, " .:") {
		t.Errorf("replaced by %s", other)
	}
	s := serve(t, reply(200, counted(chunk(`{"functionCall":{"name":"`+name+`"}}`, "STOP"))))
	resp, err := unary(t, s.provider(t), req)
	if err != nil || resp.Message.ToolCalls()[0].Name != long {
		t.Errorf("%+v, %v", resp, err)
	}
}
