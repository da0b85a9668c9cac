package azure_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// sent returns the body that a request becomes at an OpenAI-compatible server.
func sent(t *testing.T, req *llm.Request, change ...func(*azure.CompatibleOptions)) (seen, *llm.Response) {
	t.Helper()
	s := serve(t, reply(200, ok))
	resp, err := unary(t, s.provider(t, change...), req)
	if err != nil {
		t.Fatalf("want an answer, got %v", err)
	}
	return s.Last(t), resp
}

// member is a member of the body as JSON.
func member(s seen, name string) string {
	b, _ := json.Marshal(s.Body[name])
	return string(b)
}

func want(t *testing.T, got seen, members map[string]string) {
	t.Helper()
	for name, value := range members {
		var w any
		if value != "" {
			if err := json.Unmarshal([]byte(value), &w); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !reflect.DeepEqual(got.Body[name], w) {
			t.Errorf("%s: want %s, got %s", name, value, member(got, name))
		}
	}
}

func TestAPlainRequestHasNothingThatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	got, _ := sent(t, hello())
	if want := `{"messages":[{"role":"user","content":"hello"}],"model":"m"}`; got.Raw != want {
		t.Errorf("want %s, got %s", want, got.Raw)
	}
}

func TestNumbersArriveAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	for number, text := range map[float64]string{0: "0", 0.7: "0.7", 0.1: "0.1", 1: "1", 1.3: "1.3"} {
		req := hello()
		req.Temperature, req.TopP, req.Seed, req.MaxTokens = new(number), new(min(number, 1)), new(int64(1)<<53+1), 100
		got, _ := sent(t, req)
		for _, w := range []string{`"temperature":` + text + `,`, `"top_p":`, `"seed":9007199254740993`, `"max_completion_tokens":100`} {
			if !strings.Contains(got.Raw, w) {
				t.Errorf("%v: want %s in %s", number, w, got.Raw)
			}
		}
	}
}

func TestTextArrivesByteForByte(t *testing.T) {
	t.Parallel()
	const prompt = "<b>&amp; \"quoted\"\u2028 'Grüße' 😄\x00\t\n"
	req := hello()
	req.System, req.Messages[0] = prompt, llm.User(prompt)
	got, _ := sent(t, req)
	for _, m := range got.Body["messages"].([]any) {
		if content := m.(map[string]any)["content"]; content != prompt {
			t.Errorf("want %q, got %q", prompt, content)
		}
	}
	if !strings.Contains(got.Raw, "<b>") {
		t.Errorf("the prompt grew: %s", got.Raw)
	}
}

func TestMessagesKeepTheirContentAndOrder(t *testing.T) {
	t.Parallel()
	req := &llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			llm.User("hi"),
			{Role: llm.RoleAssistant, Parts: llm.Parts{
				llm.Reasoning{Text: "hm", Signature: []byte("s")},
				llm.Text{Text: "Let me see.", Signature: []byte("s")},
				llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"a":1}`, Signature: []byte("s")},
				llm.ToolCall{ID: "c2", Name: "g"},
			}},
			llm.ToolResults(
				llm.ToolResult{CallID: "c1", Name: "f", Parts: llm.Parts{llm.Text{Text: "one"}}},
				llm.ToolResult{CallID: "c2", Name: "g", IsError: true, Parts: llm.Parts{llm.Text{Text: "no"}, llm.Text{Text: "way"}}},
			),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c3", Name: "g"}}},
			llm.ToolResults(llm.ToolResult{CallID: "c3"}),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Reasoning{Text: "hm"}, llm.Opaque{Type: "another.block"}, llm.Text{}}},
			{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "a"}, llm.CachePoint{}, llm.Text{Text: "b"}, llm.Text{}}},
		},
	}
	got, _ := sent(t, req)
	want(t, got, map[string]string{"messages": `[
		{"role":"system","content":"Be brief."},
		{"role":"user","content":"hi"},
		{"role":"assistant","content":"Let me see.","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
			{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"one"},
		{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"g","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c3","content":""},
		{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`})
	if strings.Count(got.Raw, `"content":`) != 8 {
		t.Errorf("a message without content: %s", got.Raw)
	}
}

func TestMediaTravelsInTheFormOfItsType(t *testing.T) {
	t.Parallel()
	req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{
		llm.Text{Text: "what is this?"},
		llm.Media{MediaType: "image/png", Data: []byte("png")},
		llm.Media{MediaType: "image/jpeg", URI: "https://example.com/a.jpg"},
		llm.Media{MediaType: "audio/wav", Data: []byte("wav")},
		llm.Media{MediaType: "audio/mpeg", Data: []byte("mp3")},
		llm.Media{MediaType: "application/pdf", Name: "a.pdf", Data: []byte("pdf")},
		llm.Media{MediaType: "application/pdf", Data: []byte("pdf")},
		llm.Media{MediaType: "text/csv; charset=utf-8", Name: "a.csv", Data: []byte("a,b")},
	}}}}
	got, _ := sent(t, req)
	want(t, got, map[string]string{"messages": `[{"role":"user","content":[
		{"type":"text","text":"what is this?"},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
		{"type":"image_url","image_url":{"url":"https://example.com/a.jpg"}},
		{"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}},
		{"type":"input_audio","input_audio":{"data":"bXAz","format":"mp3"}},
		{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}},
		{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,cGRm"}},
		{"type":"text","text":"a,b"}]}]`})
}

func TestWhatTheWireCannotCarryIsUnsupportedByName(t *testing.T) {
	t.Parallel()
	user := func(m llm.Media) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "hi"}, m}}}}
	}
	history := func(role llm.Role, p llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: role, Parts: llm.Parts{p}}}}
	}
	picture := llm.Media{MediaType: "image/png", Data: []byte("png")}
	for name, c := range map[string]struct {
		field string
		req   *llm.Request
	}{
		"video":              {"messages[0].parts[1].media_type", user(llm.Media{MediaType: "video/mp4", Data: []byte("x")})},
		"flac":               {"messages[0].parts[1].media_type", user(llm.Media{MediaType: "audio/flac", Data: []byte("x")})},
		"word":               {"messages[0].parts[1].media_type", user(llm.Media{MediaType: "application/msword", Data: []byte("x")})},
		"audio by address":   {"messages[0].parts[1].uri", user(llm.Media{MediaType: "audio/wav", URI: "https://x/a"})},
		"PDF by address":     {"messages[0].parts[1].uri", user(llm.Media{MediaType: "application/pdf", URI: "https://x/a"})},
		"image in a bucket":  {"messages[0].parts[1].uri", user(llm.Media{MediaType: "image/png", URI: "gs://bucket/a"})},
		"assistant's image":  {"messages[0].parts[0]", history(llm.RoleAssistant, picture)},
		"image as a result":  {"messages[0].parts[0].parts[0]", history(llm.RoleTool, llm.ToolResult{CallID: "c", Parts: llm.Parts{picture}})},
		"five stops (Azure)": {"stop", &llm.Request{Messages: hello().Messages, Stop: []string{"a", "b", "c", "d", "e"}}},
	} {
		s := serve(t, reply(200, ok))
		_, err := unary(t, keep(t)(azure.New(&azure.Options{Endpoint: s.URL, Deployment: "d", Key: "k"})), c.req)
		badField(t, err, llm.ErrUnsupported, c.field)
		if len(s.Requests()) > 0 {
			t.Errorf("%s: something was sent", name)
		}
	}
}
