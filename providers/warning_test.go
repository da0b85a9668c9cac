package providers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// What another model wrote for itself is left out, and one Warning of the answer says so, however much there was.
func TestWhatIsLeftOutOfAConversationIsAWarning(t *testing.T) {
	t.Parallel()
	strange := llm.ModelRef{Provider: "strange", Model: "m"}
	thought := llm.Reasoning{Text: "hm", Signature: []byte("sig")}
	for name, c := range map[string]struct {
		part llm.Part
		user bool // a part of the user's
		none string
	}{
		"reasoning":              {part: thought},
		"signature of a text":    {part: llm.Text{Text: "x", Signature: []byte("sig")}},
		"opaque":                 {part: llm.Opaque{Type: "strange_part", Data: json.RawMessage(`{"a":1}`)}},
		"opaque of another":      {part: llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"eA=="}}`)}},
		"opaque of yet another":  {part: llm.Opaque{Type: vertex.PartType, Data: json.RawMessage(`{"executableCode":{"code":"x","language":"PYTHON"}}`)}},
		"opaque from the user":   {part: llm.Opaque{Type: "strange_part", Data: json.RawMessage(`{"a":1}`)}, user: true},
		"nothing, a plain text":  {part: llm.Text{Text: "x"}, none: "all"},
		"nothing, a cache point": {part: llm.CachePoint{}, none: "all"},
	} {
		for _, model := range []string{
			"azure gpt-4o", "bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0", "vertex gemini-3.5-flash", "vertexai gemini-3.5-flash",
		} {
			t.Run(name+"/"+model, func(t *testing.T) {
				t.Parallel()
				history := llm.Message{Role: llm.RoleAssistant, From: strange, Parts: llm.Parts{llm.Text{Text: "hello"}, c.part, c.part}}
				if c.user {
					history = llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "hello"}, c.part, c.part}}
				}
				resp, err := strictCloud(t, model).Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi"), history, history, llm.User("go on")}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := 1
				if c.none == "all" {
					want = 0
				}
				got := warnings(resp, "messages")
				if len(got) != want || len(resp.Warnings) != want || want == 1 && got[0].Code != "dropped" {
					t.Errorf("%+v", resp.Warnings)
				}
			})
		}
	}
}

func warnings(r *llm.Response, field string) (all []llm.Warning) {
	for _, w := range r.Warnings {
		if strings.HasPrefix(w.Field, field) {
			all = append(all, w)
		}
	}
	return all
}

// What a model wrote itself is no news to it.
func TestAConversationAtHomeHasNoWarnings(t *testing.T) {
	t.Parallel()
	for _, home := range crossings {
		t.Run(home.name, func(t *testing.T) {
			t.Parallel()
			begin, _ := answerOf(home, "HOMEWARD")
			g, _ := home.open(t, begin, cloud.Turn{Step: llmtest.Text("done")})
			var j journey
			req := &llm.Request{Messages: []llm.Message{llm.User("go")}, Tools: crossTools}
			resp := j.answered(t, g, req)
			req.Messages = append(req.Messages, resp.Message)
			req.Messages = append(req.Messages, j.results(resp.Message)...)
			if resp = j.answered(t, g, req); len(resp.Warnings) > 0 {
				t.Errorf("%+v", resp.Warnings)
			}
		})
	}
}
