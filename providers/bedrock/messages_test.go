package bedrock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// from is a message of an assistant.
func from(model string, parts ...llm.Part) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant, Parts: parts}
	if model != "" {
		m.From = llm.ModelRef{Provider: "bedrock", Model: model}
	}
	return m
}

func callTo(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func result(id, text string) llm.ToolResult {
	return llm.ToolResult{CallID: id, Parts: llm.Parts{llm.Text{Text: text}}}
}

func TestMessagesAlternateAndBeginWithTheUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		messages []llm.Message
		want     string
		warnings string
	}{
		"two of the user": {
			[]llm.Message{llm.User("a"), llm.User("b")},
			`[{"role":"user","content":[{"text":"a"},{"text":"b"}]}]`, "",
		},
		"results, then the user": {
			[]llm.Message{
				llm.User("hi"), from("", callTo("c1", "f", "{}"), callTo("c2", "f", `{"n":1}`)),
				llm.ToolResults(result("c2", "r2")), llm.User("go on"), llm.ToolResults(result("c1", "r1")),
			},
			`[{"role":"user","content":[{"text":"hi"}]},
			{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}},{"toolUse":{"toolUseId":"c2","name":"f","input":{"n":1}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"r1"}]}},{"toolResult":{"toolUseId":"c2","content":[{"text":"r2"}]}},{"text":"go on"}]}]`, "changed tools",
		},
		"an assistant first": {
			[]llm.Message{from("", llm.Text{Text: "hello"}), llm.User("hi")},
			`[{"role":"user","content":[{"text":"(The conversation begins.)"}]},{"role":"assistant","content":[{"text":"hello"}]},{"role":"user","content":[{"text":"hi"}]}]`, "changed messages",
		},
		"blank texts": {
			[]llm.Message{llm.User("hi"), from("", llm.Text{Text: " \n"}), {Role: llm.RoleUser, Parts: llm.Parts{llm.Text{}, llm.Text{Text: "there"}}}},
			`[{"role":"user","content":[{"text":"hi"},{"text":"there"}]}]`, "",
		},
		"a turn to continue": {
			[]llm.Message{llm.User("hi"), from("", llm.Text{Text: "I am \n"})},
			`[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"I am"}]}]`, "",
		},
	} {
		got, warnings := sent(t, &llm.Request{Messages: c.messages})
		wantJSON(t, name, got.Body["messages"], c.want)
		if codes(warnings) != c.warnings {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}

func TestSomeModelsTakeResultsOnlyInATurnOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"us.meta.llama3-3-70b-instruct-v1:0", "mistral.mistral-large-2407-v1:0", "us.writer.palmyra-x4-v1:0"} {
		got, warnings := sent(t, &llm.Request{Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
			llm.User("hi"), from("", callTo("c1", "f", "")), llm.ToolResults(result("c1", "r")), llm.User("go on"),
		}}, model(id))
		wantJSON(t, id, got.Body["messages"].([]any)[2:], `[
			{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"r"}]}}]},
			{"role":"assistant","content":[{"text":"I have the results."}]},
			{"role":"user","content":[{"text":"go on"}]}]`)
		if codes(warnings) != "changed messages" {
			t.Errorf("%s: %v", id, warnings)
		}
	}
}

func TestMediaOfAnAssistantIsLeftOut(t *testing.T) {
	t.Parallel()
	got, warnings := sent(t, &llm.Request{Messages: []llm.Message{
		llm.User("draw"), from(claude, llm.Media{MediaType: "image/png", Data: []byte("x")}, llm.Text{Text: "here"}), llm.User("thanks"),
	}})
	wantJSON(t, "the answer", got.Body["messages"].([]any)[1], `{"role":"assistant","content":[{"text":"here"}]}`)
	if codes(warnings) != "dropped messages[1].parts[0]" {
		t.Errorf("%v", warnings)
	}
}

func TestResultsOfTools(t *testing.T) {
	t.Parallel()
	png := llm.Media{MediaType: "image/png", Data: []byte("png")}
	raw := llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"json":{"n":12345678901234567890}}`)}
	messages := []llm.Message{
		llm.User("hi"), from("", callTo("c1", "f", ""), callTo("c2", "f", ""), callTo("c3", "f", "")),
		llm.ToolResults(
			llm.ToolResult{CallID: "c1", IsError: true, Parts: llm.Parts{llm.Text{Text: "no"}}},
			llm.ToolResult{CallID: "c2", Parts: llm.Parts{llm.Text{Text: " "}}},
			llm.ToolResult{CallID: "c3", Parts: llm.Parts{llm.Text{Text: "see"}, png, raw, llm.Opaque{Type: "other", Data: json.RawMessage(`{}`)}}},
		),
	}
	const tail = `{"toolResult":{"toolUseId":"c2","content":[{"text":"(no output)"}]}},` +
		`{"toolResult":{"toolUseId":"c3","content":[{"text":"see"},{"image":{"format":"png","source":{"bytes":"cG5n"}}},{"json":{"n":12345678901234567890}}]}}`
	for name, want := range map[string]string{
		claude:              `{"toolResult":{"toolUseId":"c1","content":[{"text":"no"}],"status":"error"}},` + tail,
		"qwen.qwen3-32b":    `{"toolResult":{"toolUseId":"c1","content":[{"text":"Error:"},{"text":"no"}]}},` + tail,
		"deepseek.v3-v1:0":  `{"toolResult":{"toolUseId":"c1","content":[{"text":"Error:"},{"text":"no"}]}},` + tail,
		"amazon.nova-micro": `{"toolResult":{"toolUseId":"c1","content":[{"text":"no"}],"status":"error"}},` + tail,
	} {
		got, _ := sent(t, &llm.Request{Messages: messages}, model(name))
		if !strings.Contains(got.Raw, `{"role":"user","content":[`+want+`]}`) {
			t.Errorf("%s: want %s\nin %s", name, want, got.Raw)
		}
	}
}

func TestArgumentsAreAnObjectWhateverTheModelWrote(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		``: `{}`, ` `: `{}`, `{"n":12345678901234567890}`: `{"n":12345678901234567890}`, ` {"a": 1}`: `{"a":1}`,
		`{"a`: `{"arguments":"{\"a"}`, `[1]`: `{"arguments":[1]}`, `"x"`: `{"arguments":"x"}`, `null`: `{"arguments":null}`, `no`: `{"arguments":"no"}`,
	} {
		req := &llm.Request{Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
			llm.User("hi"), from("", callTo("c1", "f", arguments)), llm.ToolResults(result("c1", "r")),
		}}
		got, warnings := sent(t, req)
		if !strings.Contains(got.Raw, `"input":`+want+`}`) {
			t.Errorf("%q: want %s\nin %s", arguments, want, got.Raw)
		}
		if (codes(warnings) == "changed messages[1].parts[0].arguments") != strings.HasPrefix(want, `{"arguments"`) {
			t.Errorf("%q: %v", arguments, warnings)
		}
	}
}

func TestIDsOfOthersAreReplacedAndOurOwnAreNot(t *testing.T) {
	t.Parallel()
	const id = "functions.f:0"
	for model, same := range map[string]bool{"": false, claude: true} {
		req := &llm.Request{Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
			llm.User("hi"), from(model, callTo(id, "f", "")), llm.ToolResults(result(id, "r")),
		}}
		got, _ := sent(t, req)
		messages := got.Body["messages"].([]any)
		content := func(i int, name string) string {
			block := messages[i].(map[string]any)["content"].([]any)[0].(map[string]any)
			return block[name].(map[string]any)["toolUseId"].(string)
		}
		use, res := content(1, "toolUse"), content(2, "toolResult")
		if use != res || (use == id) != same || len(use) > 64 {
			t.Errorf("from %q: %s and %s", model, use, res)
		}
	}
}

func TestProofsGoBackToTheirFamilyOnly(t *testing.T) {
	t.Parallel()
	redacted := llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"YWI="}}`)}
	thought := llm.Reasoning{Text: "Hm.", Signature: []byte("sig")}
	const both = `[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},{"reasoningContent":{"redactedContent":"YWI="}},{"text":"hi"}]`
	const neither = `[{"text":"hi"}]`
	for name, c := range map[string]struct {
		by   llm.ModelRef
		want string
	}{
		"the same model":      {llm.ModelRef{Provider: "bedrock", Model: claude}, both},
		"another of the make": {llm.ModelRef{Provider: "bedrock", Model: "anthropic.claude-opus-4-6-v1"}, both},
		"another make":        {llm.ModelRef{Provider: "bedrock", Model: "qwen.qwen3-32b-v1:0"}, neither},
		"another provider":    {llm.ModelRef{Provider: "vertex", Model: claude}, neither},
		"nobody knows":        {llm.ModelRef{}, neither},
	} {
		m := llm.Message{Role: llm.RoleAssistant, From: c.by, Parts: llm.Parts{
			thought,
			llm.Reasoning{Text: "unsigned"},
			redacted,
			llm.Opaque{Type: "other", Data: json.RawMessage(`{}`)},
			llm.Text{Text: "hi"},
			llm.Opaque{Type: bedrock.CitationsType, Data: json.RawMessage(`[]`)},
		}}
		got, _ := sent(t, &llm.Request{Messages: []llm.Message{llm.User("a"), m, llm.User("b")}})
		wantJSON(t, name, got.Body["messages"].([]any)[1].(map[string]any)["content"], c.want)
	}
}

func TestCachePoints(t *testing.T) {
	t.Parallel()
	marked := func(text string) llm.Message {
		return llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.CachePoint{}, llm.Text{Text: text}, llm.CachePoint{}}}
	}
	req := &llm.Request{System: "s", CachePrefix: true, Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
		marked("a"), from("", llm.Text{Text: "b"}), marked("c"), from("", llm.Text{Text: "d"}), marked("e"),
	}}
	const none, some = "dropped messages[0].parts[0]", "dropped messages"
	for name, want := range map[string]int{
		claude: 4, "amazon.nova-pro-v1:0": 4, "anthropic.claude-3-haiku-20240307-v1:0": 0, "qwen.qwen3-32b-v1:0": 0,
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc": 0,
	} {
		got, warnings := sent(t, req, model(name))
		said := none
		if want > 0 {
			said = map[bool]string{true: some}[name == claude] // Nova has no mark behind the tools, so all fit
		}
		if codes(warnings) != said {
			t.Errorf("%s: %v, want %s", name, warnings, said)
		}
		if n := strings.Count(got.Raw, `"cachePoint"`); n != want {
			t.Errorf("%s: %d cache points, want %d: %s", name, n, want, got.Raw)
		}
		if strings.Contains(got.Raw, `"content":[{"cachePoint"`) || want > 0 && !strings.HasSuffix(strings.SplitN(got.Raw, `],"system"`, 2)[0], `{"text":"e"},{"cachePoint":{"type":"default"}}]}`) {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	family := func(o *bedrock.Options) {
		o.Model, o.Family = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "anthropic"
	}
	if got, _ := sent(t, req, family); strings.Count(got.Raw, `"cachePoint"`) != 4 {
		t.Errorf("with the family: %s", got.Raw)
	}
}

func TestMedia(t *testing.T) {
	t.Parallel()
	data := []byte("x")
	for _, c := range []struct {
		media llm.Media
		want  string
		said  string
	}{
		{llm.Media{MediaType: "image/jpeg", Data: data}, `{"image":{"format":"jpeg","source":{"bytes":"eA=="}}}`, ""},
		{llm.Media{MediaType: "IMAGE/WebP", Data: data}, `{"image":{"format":"webp","source":{"bytes":"eA=="}}}`, ""},
		{llm.Media{MediaType: "image/gif", URI: "s3://b/k"}, `{"image":{"format":"gif","source":{"s3Location":{"uri":"s3://b/k"}}}}`, ""},
		{llm.Media{MediaType: "video/mp4", URI: "s3://b/k"}, `{"video":{"format":"mp4","source":{"s3Location":{"uri":"s3://b/k"}}}}`, ""},
		{llm.Media{MediaType: "audio/mpeg", Data: data}, `{"audio":{"format":"mp3","source":{"bytes":"eA=="}}}`, ""},
		{llm.Media{MediaType: "application/pdf", Name: "Q3_report (final).pdf", Data: data}, `{"document":{"name":"Q3 report (final) pdf","format":"pdf","source":{"bytes":"eA=="}}}`, "changed messages[0].parts[1].name"},
		{llm.Media{MediaType: "text/csv; charset=utf-8", Data: data}, `{"document":{"name":"document","format":"csv","source":{"bytes":"eA=="}}}`, ""},
		{llm.Media{MediaType: "text/x-go", Name: "…", Data: data}, `{"document":{"name":"document","format":"txt","source":{"bytes":"eA=="}}}`, "changed messages[0].parts[1].name"},
		{llm.Media{MediaType: "application/pdf", URI: "s3://b/dir/a.pdf"}, `{"document":{"name":"a pdf","format":"pdf","source":{"s3Location":{"uri":"s3://b/dir/a.pdf"}}}}`, ""},
	} {
		req := hello()
		req.Messages[0].Parts = append(req.Messages[0].Parts, c.media)
		got, warnings := sent(t, req)
		wantJSON(t, c.media.MediaType, got.Body["messages"].([]any)[0].(map[string]any)["content"].([]any)[1], c.want)
		if codes(warnings) != c.said {
			t.Errorf("%v", warnings)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	doc := llm.Media{MediaType: "text/plain", Name: "facts", Data: []byte("so")}
	req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{doc, doc, llm.Media{MediaType: "application/pdf", Name: "FACTS", Data: []byte("x")}}}}}
	if err := (bedrock.Extra{Citations: true}).Set(req); err != nil {
		t.Fatal(err)
	}
	got, warnings := sent(t, req)
	wantJSON(t, "documents", got.Body["messages"].([]any)[0].(map[string]any)["content"], `[
		{"document":{"name":"facts","format":"txt","source":{"text":"so"},"citations":{"enabled":true}}},
		{"document":{"name":"facts (2)","format":"txt","source":{"text":"so"},"citations":{"enabled":true}}},
		{"document":{"name":"FACTS (3)","format":"pdf","source":{"bytes":"eA=="},"citations":{"enabled":true}}},
		{"text":"See the attached document."}]`)
	if codes(warnings) != "changed messages[0].parts[1].name, changed messages" { // once, though two names are changed
		t.Errorf("%v", warnings)
	}
}

// What a model cannot cache is said once, whatever asked for it.
func TestACacheThatIsNotThere(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "f"}}
	for _, c := range []struct {
		model string
		req   llm.Request
		want  string
	}{
		{claude, llm.Request{CachePrefix: true, System: "s"}, ""},
		{claude, llm.Request{CachePrefix: true, Tools: tools}, ""},
		{"amazon.nova-pro-v1:0", llm.Request{CachePrefix: true, System: "s", Tools: tools}, ""},
		{"amazon.nova-pro-v1:0", llm.Request{CachePrefix: true, Tools: tools}, "dropped cache_prefix"},
		{"qwen.qwen3-32b-v1:0", llm.Request{CachePrefix: true, System: "s"}, "dropped cache_prefix"},
		{"qwen.qwen3-32b-v1:0", llm.Request{System: "s"}, ""},
	} {
		c.req.Messages = hello().Messages
		if _, warnings := sent(t, &c.req, model(c.model)); codes(warnings) != c.want {
			t.Errorf("%s: %v, want %s", c.model, warnings, c.want)
		}
	}
}
