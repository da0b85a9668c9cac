package llm_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// one is a request of one message.
func one(role llm.Role, parts ...llm.Part) *llm.Request {
	return &llm.Request{Messages: []llm.Message{{Role: role, Parts: parts}}}
}

// after is a request whose second message follows a tool call with id c1.
func after(role llm.Role, parts ...llm.Part) *llm.Request {
	return &llm.Request{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "f"}}},
		{Role: role, Parts: parts},
	}}
}

// with is the smallest request, changed.
func with(change func(*llm.Request)) *llm.Request {
	r := ask()
	change(r)
	return r
}

type embedded struct{ llm.Text }

var badRequests = []struct {
	name string
	req  *llm.Request
	path string
}{
	{"no messages", &llm.Request{System: canary}, "messages"},
	{"no role", one("", llm.Text{Text: canary}), "messages[0].role"},
	{"unknown role", one(canary, llm.Text{Text: canary}), "messages[0].role"},
	{"system as a role", one("System", llm.Text{Text: canary}), "messages[0].role"},
	{"developer as a role", one("developer", llm.Text{Text: canary}), "messages[0].role"},
	{"no parts", one(llm.RoleUser), "messages[0].parts"},
	{"second message", &llm.Request{Messages: []llm.Message{llm.User(canary), {Role: llm.RoleUser}}}, "messages[1].parts"},
	{"only empty text", one(llm.RoleUser, llm.Text{}, llm.CachePoint{}), "messages[0].parts"},
	{"only a mark in a tool message", after(llm.RoleTool, llm.CachePoint{}), "messages[1].parts"},
	{"nil part", one(llm.RoleUser, llm.Text{Text: canary}, nil), "messages[0].parts[1]"},
	{"pointer part", one(llm.RoleUser, &llm.Text{Text: canary}), "messages[0].parts[0]"},
	{"nil pointer part", one(llm.RoleUser, (*llm.Media)(nil)), "messages[0].parts[0]"},
	{"a part type of one's own", one(llm.RoleUser, embedded{llm.Text{Text: canary}}), "messages[0].parts[0]"},
	{"text of a tool", after(llm.RoleTool, llm.Text{Text: canary}), "messages[1].parts[0]"},
	{"media of a tool", after(llm.RoleTool, llm.Media{MediaType: "image/png", URI: canary}), "messages[1].parts[0]"},
	{"media without type", one(llm.RoleUser, llm.Media{URI: canary}), "messages[0].parts[0].media_type"},
	{"media of a bad type", one(llm.RoleUser, llm.Media{MediaType: canary, URI: canary}), "messages[0].parts[0].media_type"},
	{"media of half a type", one(llm.RoleUser, llm.Media{MediaType: "image/", URI: canary}), "messages[0].parts[0].media_type"},
	{"media without content", one(llm.RoleUser, llm.Media{MediaType: "image/png", Name: canary}), "messages[0].parts[0]"},
	{"media with both", one(llm.RoleUser, llm.Media{MediaType: "image/png", URI: canary, Data: []byte(canary)}), "messages[0].parts[0]"},
	{"reasoning of a user", one(llm.RoleUser, llm.Reasoning{Text: canary}), "messages[0].parts[0]"},
	{"call of a user", one(llm.RoleUser, llm.ToolCall{ID: canary, Name: canary}), "messages[0].parts[0]"},
	{"call without id", one(llm.RoleAssistant, llm.ToolCall{Name: canary}), "messages[0].parts[0].id"},
	{"call without name", one(llm.RoleAssistant, llm.ToolCall{ID: canary}), "messages[0].parts[0].name"},
	{"result of a user", after(llm.RoleUser, llm.ToolResult{CallID: "c1"}), "messages[1].parts[0]"},
	{"result without id", after(llm.RoleTool, llm.ToolResult{Name: canary}), "messages[1].parts[0].call_id"},
	{"result of no call", after(llm.RoleTool, llm.ToolResult{CallID: canary}), "messages[1].parts[0].call_id"},
	{"call without a result at the end", one(llm.RoleAssistant, llm.Text{Text: canary}, llm.ToolCall{ID: canary, Name: "f"}), "messages[0].parts[1]"},
	{"call without a result in the middle", after(llm.RoleUser, llm.Text{Text: canary}), "messages[0].parts[0]"},
	{"one of two calls without a result", &llm.Request{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "f"}, llm.ToolCall{ID: "c2", Name: "f"}}},
		llm.ToolResults(llm.ToolResult{CallID: "c1"}), llm.User(canary),
	}}, "messages[0].parts[1]"},
	{"result too late", &llm.Request{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "f"}}},
		llm.User(canary), llm.ToolResults(llm.ToolResult{CallID: "c1"}),
	}}, "messages[0].parts[0]"},
	{"result first", one(llm.RoleTool, llm.ToolResult{CallID: canary}), "messages[0].parts[0].call_id"},
	{"result of a result", after(llm.RoleTool, llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.ToolResult{}}}), "messages[1].parts[0].parts[0]"},
	{"nil in a result", after(llm.RoleTool, llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.Text{}, nil}}), "messages[1].parts[0].parts[1]"},
	{"pointer in a result", after(llm.RoleTool, llm.ToolResult{CallID: "c1", Parts: llm.Parts{&llm.Text{Text: canary}}}), "messages[1].parts[0].parts[0]"},
	{"bad media in a result", after(llm.RoleTool, llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.Media{URI: canary}}}), "messages[1].parts[0].parts[0].media_type"},
	{"bad opaque in a result", after(llm.RoleTool, llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.Opaque{}}}), "messages[1].parts[0].parts[0].type"},
	{"opaque without type", one(llm.RoleUser, llm.Opaque{}), "messages[0].parts[0].type"},
	{"opaque of a known type", one(llm.RoleUser, llm.Opaque{Type: "media"}), "messages[0].parts[0].type"},
	{"opaque without JSON", one(llm.RoleUser, llm.Opaque{Type: "x", Data: []byte(canary)}), "messages[0].parts[0].data"},
	{"tool without name", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Description: canary}} }), "tools[0].name"},
	{"two tools of one name", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: canary}, {Name: canary}} }), "tools[1].name"},
	{"parameters cut", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`{"a`)}} }), "tools[0].parameters"},
	{"parameters a list", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`["` + canary + `"]`)}} }), "tools[0].parameters"},
	{"parameters null", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`null`)}} }), "tools[0].parameters"},
	{"unknown mode", with(func(r *llm.Request) { r.ToolChoice.Mode = canary }), "tool_choice.mode"},
	{"required without tools", with(func(r *llm.Request) { r.ToolChoice.Mode = llm.ToolRequired }), "tool_choice.mode"},
	{"named without tools", with(func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: canary} }), "tool_choice.mode"},
	{"named and unknown", with(func(r *llm.Request) {
		r.Tools = []llm.Tool{{Name: "f"}}
		r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: canary}
	}), "tool_choice.name"},
	{"named without a name", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f"}}; r.ToolChoice.Mode = llm.ToolNamed }), "tool_choice.name"},
	{"a name without the mode", with(func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f"}}; r.ToolChoice.Name = "f" }), "tool_choice.name"},
	{"output no JSON", with(func(r *llm.Request) { r.Output = &llm.Schema{JSON: []byte(canary)} }), "output.json"},
	{"output true", with(func(r *llm.Request) { r.Output = &llm.Schema{JSON: []byte(`true`)} }), "output.json"},
	{"max tokens", with(func(r *llm.Request) { r.MaxTokens = -1 }), "max_tokens"},
	{"temperature negative", with(func(r *llm.Request) { r.Temperature = new(-0.1) }), "temperature"},
	{"temperature NaN", with(func(r *llm.Request) { r.Temperature = new(math.NaN()) }), "temperature"},
	{"temperature infinite", with(func(r *llm.Request) { r.Temperature = new(math.Inf(1)) }), "temperature"},
	{"top_p negative", with(func(r *llm.Request) { r.TopP = new(-0.1) }), "top_p"},
	{"top_p above 1", with(func(r *llm.Request) { r.TopP = new(1.1) }), "top_p"},
	{"top_p NaN", with(func(r *llm.Request) { r.TopP = new(math.NaN()) }), "top_p"},
	{"stop empty", with(func(r *llm.Request) { r.Stop = []string{canary, ""} }), "stop[1]"},
	{"thinking negative", with(func(r *llm.Request) { r.Thinking.MaxTokens = -1 }), "thinking.max_tokens"},
	{"thinking both", with(func(r *llm.Request) { r.Thinking = llm.Thinking{Effort: "low", MaxTokens: 1} }), "thinking"},
	{"thinking unknown", with(func(r *llm.Request) { r.Thinking.Effort = canary }), "thinking.effort"},
	{"attempt", with(func(r *llm.Request) { r.Limits.Attempt = -1 }), "limits.attempt"},
	{"connect", with(func(r *llm.Request) { r.Limits.Connect = -1 }), "limits.connect"},
	{"first_content", with(func(r *llm.Request) { r.Limits.FirstContent = -1 }), "limits.first_content"},
	{"idle", with(func(r *llm.Request) { r.Limits.Idle = -1 }), "limits.idle"},
	{"total", with(func(r *llm.Request) { r.Limits.Total = -1 }), "limits.total"},
	{"tries", with(func(r *llm.Request) { r.Limits.Tries = -1 }), "limits.tries"},
	{"extra cut", with(func(r *llm.Request) {
		r.Extra = map[string]json.RawMessage{"zoo": []byte(canary), "azure": []byte(canary), "bedrock": []byte("{}")}
	}), "extra.azure"},
	{"extra empty", with(func(r *llm.Request) { r.Extra = map[string]json.RawMessage{"": nil} }), "extra."},
}

func TestValidationRefuses(t *testing.T) {
	t.Parallel()
	c := client(llm.GeneratorFunc(nil)) // it must not come so far
	for _, tt := range badRequests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.req.Operation = "triage"
			_, err := c.Generate(t.Context(), tt.req)
			var e *llm.Error
			var f *llm.FieldError
			if !errors.As(err, &e) || !errors.As(err, &f) {
				t.Fatalf("got %v, want an Error with a FieldError", err)
			}
			if e.Kind != llm.ErrInvalid || !errors.Is(err, llm.ErrInvalid) || !e.NotSent || e.Operation != "triage" {
				t.Errorf("got %+v", e)
			}
			if f.Field != tt.path || f.Problem == "" || f.Next == "" {
				t.Errorf("got %+v, want the field %s", f, tt.path)
			}
			if want := "llm: triage: invalid: " + tt.path + ": " + f.Problem; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, want %q at its beginning", err, want)
			}
			for _, s := range []string{err.Error(), mustJSON(t, e), e.Detail(), f.Error()} {
				noCanary(t, "the error", s)
				if strings.ContainsAny(s, "*\n") || strings.Contains(s, "llm.") || strings.Contains(s, "0x") {
					t.Errorf("%q names a Go type", s)
				}
			}
		})
	}
}

// A rule without a row would be a rule that nobody has seen fail.
func TestEveryRuleHasARow(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, tt := range badRequests {
		paths = append(paths, tt.path)
	}
	for _, field := range []string{
		"messages", ".role", ".parts", ".media_type", ".id", ".name", ".call_id", ".type", ".data", ".parameters",
		"tool_choice.mode", "tool_choice.name", "output.json", "max_tokens", "temperature", "top_p", "thinking",
		"thinking.max_tokens", "thinking.effort", "stop[1]", "limits.attempt", "limits.tries", "extra.azure",
	} {
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, field) }) {
			t.Errorf("no row for %s", field)
		}
	}
}

func TestValidationPasses(t *testing.T) {
	t.Parallel()
	image := llm.Media{MediaType: "image/png", Data: []byte{1}}
	full := request
	full.Messages = []llm.Message{
		llm.User("hi"),
		{Role: llm.RoleAssistant, Parts: llm.Parts{allParts[3], allParts[4]}},
		llm.ToolResults(llm.ToolResult{CallID: "c1"}),
	}
	full.Thinking = llm.Thinking{MaxTokens: 1024}
	tests := map[string]*llm.Request{
		"smallest":             ask(),
		"everything":           &full,
		"text and media":       one(llm.RoleUser, llm.Text{Text: "see"}, image, llm.CachePoint{}),
		"media alone":          one(llm.RoleUser, llm.Media{MediaType: "application/pdf", URI: "gs://b/o"}),
		"opaque":               one(llm.RoleUser, llm.Opaque{Type: "x"}),
		"two users in a row":   {Messages: []llm.Message{llm.User("a"), llm.User("b")}},
		"empty and other text": one(llm.RoleUser, llm.Text{}, llm.Text{Text: "a"}),
		"empty assistant text": {Messages: []llm.Message{llm.User("a"), {Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{}}}, llm.User("b")}},
		"assistant first":      one(llm.RoleAssistant, llm.Text{Text: "welcome"}),
		"assistant last":       {Messages: []llm.Message{llm.User("a"), {Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "{"}}}}},
		"image of an assistant": {Messages: []llm.Message{
			llm.User("draw"), {Role: llm.RoleAssistant, Parts: llm.Parts{llm.Reasoning{}, image}},
		}},
		"tools": {Messages: []llm.Message{
			llm.User("a"),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "1", Name: "f"}, llm.ToolCall{ID: "2", Name: "g"}}},
			llm.ToolResults(llm.ToolResult{CallID: "2", Parts: llm.Parts{llm.Text{Text: "r"}, image, llm.Opaque{Type: "x"}}}, llm.ToolResult{CallID: "1", IsError: true}),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "done"}}},
		}},
		"cache point behind results": after(llm.RoleTool, llm.ToolResult{CallID: "c1"}, llm.CachePoint{}),
		"results in two messages": {Messages: []llm.Message{
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "1", Name: "f"}, llm.ToolCall{ID: "2", Name: "f"}}},
			llm.ToolResults(llm.ToolResult{CallID: "1"}), llm.ToolResults(llm.ToolResult{CallID: "2"}),
		}},
		"cut arguments in the history": {Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a`}}}, llm.ToolResults(llm.ToolResult{CallID: "1"})}},
		"named tool": with(func(r *llm.Request) {
			r.Tools = []llm.Tool{{Name: "f"}, {Name: "g", Parameters: []byte(" {} ")}}
			r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: "g", Single: true}
		}),
		"no tool is called": with(func(r *llm.Request) { r.ToolChoice.Mode = llm.ToolNone }),
		"any object":        with(func(r *llm.Request) { r.Output = new(llm.Schema) }),
		"temperature 0":     with(func(r *llm.Request) { r.Temperature, r.TopP = new(0.0), new(1.0) }),
		"thinking off":      with(func(r *llm.Request) { r.Thinking.Effort = "none" }),
		"limits":            with(func(r *llm.Request) { r.Limits = llm.Limits{Attempt: time.Hour, Tries: 100} }),
		"unknown extra":     with(func(r *llm.Request) { r.Extra = map[string]json.RawMessage{"nobody": []byte("null")} }),
		"empty everything": with(func(r *llm.Request) {
			r.Tools, r.Stop, r.Metadata = []llm.Tool{}, []string{}, map[string]string{}
			r.Extra = map[string]json.RawMessage{}
		}),
	}
	for name, req := range tests {
		before := mustJSON(t, req)
		if _, err := client(script(nil, text("ok"))).Generate(t.Context(), req); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := mustJSON(t, req); after != before {
			t.Errorf("%s: the request was changed: %s", name, after)
		}
	}
}
