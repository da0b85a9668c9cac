package azure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
)

func TestARequestOverItsBoundIsRefusedBeforeItIsEncoded(t *testing.T) { //nolint:paralleltest // it measures memory
	p := canned(t, 200, "application/json", []byte(ok))
	long, raw := strings.Repeat("x", 64*mib+1), bytes.Repeat([]byte{'1'}, 48*mib+3)
	part := func(parts ...llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{llm.User("a"), {Role: llm.RoleUser, Parts: parts}}}
	}
	result := part(llm.ToolResult{CallID: "t", Parts: llm.Parts{llm.Text{Text: long}}})
	result.Messages[1].Role = llm.RoleTool
	for field, req := range map[string]*llm.Request{
		"system":               {System: long, Messages: hello().Messages},
		"messages[1].parts[0]": part(llm.Text{Text: long}),
		"messages[1].parts[1]": part(llm.Text{Text: long[:32*mib]}, llm.Text{Text: long[:32*mib]}),
		"messages[1].parts[2]": part(llm.Text{}, llm.Text{}, llm.Media{MediaType: "image/png", Data: raw}),
		"tools":                {Messages: hello().Messages, Tools: []llm.Tool{{Name: "f", Parameters: raw[:32*mib]}, {Name: "g", Description: long[:32*mib]}}},
		"output.json":          {Messages: hello().Messages, Output: &llm.Schema{JSON: json.RawMessage(long)}},
		"extra.azure":          {Messages: hello().Messages, Extra: map[string]json.RawMessage{"azure": json.RawMessage(long)}},
	} {
		if n := allocated(func() {
			_, err := unary(t, p, req)
			badField(t, err, llm.ErrUnsupported, field, "xxxx", "1111")
		}); n > 1 && !raceEnabled {
			t.Errorf("%s: %d MiB were allocated", field, n)
		}
	}
	_, err := unary(t, p, result)
	badField(t, err, llm.ErrUnsupported, "messages[1].parts[0]")
}

func TestALongPromptIsCopiedAFewTimes(t *testing.T) { //nolint:paralleltest // it measures memory
	p := canned(t, 200, "application/json", []byte(ok))
	req := &llm.Request{Messages: []llm.Message{llm.User(strings.Repeat("<a b>", 8*mib/5))}, Output: &llm.Schema{}}
	req.Extra = map[string]json.RawMessage{"azure": json.RawMessage(`{"user":"u"}`)}
	if n := allocated(func() {
		if _, err := unary(t, p, req); err != nil {
			t.Fatal(err)
		}
	}); n > 40 && !raceEnabled {
		t.Errorf("%d MiB were allocated for a prompt of 8 MiB", n)
	}
}

// TestALongTextIsEncodedAsAShortOneIs: it is written in pieces, which may not split a rune.
func TestALongTextIsEncodedAsAShortOneIs(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	for _, unit := range []string{"aé€🙂\"\\\n<", "é€🙂", "\x01\u2028"} {
		text := strings.Repeat(unit, 3*mib/2/len(unit))
		long := llm.Text{Text: text}
		for name, req := range map[string]*llm.Request{
			"alone":   {Messages: []llm.Message{llm.User(text)}},
			"in list": {Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{long, llm.Text{Text: "b"}}}}},
			"with calls": {Messages: []llm.Message{
				{Role: llm.RoleAssistant, Parts: llm.Parts{long, llm.ToolCall{ID: "t1", Name: "f", Arguments: "{}"}}},
				{Role: llm.RoleTool, Parts: llm.Parts{llm.ToolResult{CallID: "t1", Parts: llm.Parts{long}}}},
			}},
		} {
			if _, err := unary(t, p, req); err != nil {
				t.Fatal(err)
			}
			got := s.Last(t).Raw
			var v struct {
				Messages []struct {
					Role    string          `json:"role"`
					Content json.RawMessage `json:"content"`
					Calls   json.RawMessage `json:"tool_calls,omitempty"`
					Call    string          `json:"tool_call_id,omitempty"`
				} `json:"messages"`
				Model string `json:"model"`
			}
			if err := json.Unmarshal([]byte(got), &v); err != nil {
				t.Fatalf("%q, %s: %v", unit, name, err)
			}
			var first string
			if json.Unmarshal(v.Messages[0].Content, &first) != nil {
				var parts []struct{ Text string }
				_ = json.Unmarshal(v.Messages[0].Content, &parts)
				first = parts[0].Text
			}
			if calls := name == "with calls"; first != text || calls != (len(v.Messages[0].Calls) > 0) || calls && v.Messages[1].Call != "t1" {
				t.Errorf("%q, %s: another text of %d bytes was sent", unit, name, len(first))
			}
			var again bytes.Buffer
			enc := json.NewEncoder(&again)
			enc.SetEscapeHTML(false)
			if _ = enc.Encode(v); strings.TrimSuffix(again.String(), "\n") != got {
				t.Errorf("%q, %s: it is not what encoding/json makes of it", unit, name)
			}
		}
	}
}

// TestALongTextIsNotEncodedToItsEndWhenTheContextEnds: a text whose every byte becomes six. A look at the context is
// the measure: time and memory are other ones on other machines.
func TestALongTextIsNotEncodedToItsEndWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	p := canned(t, 200, "application/json", []byte(ok))
	req := &llm.Request{Messages: []llm.Message{llm.User(strings.Repeat("\x01", 8*mib))}}
	whole := &adaptertest.Expiring{Context: t.Context(), From: 1 << 30}
	if _, err := p.Generate(whole, req, nil); err != nil || whole.Looks.Load() < 8 {
		t.Fatalf("%d looks, %v", whole.Looks.Load(), err)
	}
	for from := int32(1); from <= 8; from++ {
		ctx := &adaptertest.Expiring{Context: t.Context(), From: from}
		_, err := p.Generate(ctx, req, nil)
		if wantKind(t, err, llm.ErrCanceled); ctx.Looks.Load() > from+3 {
			t.Errorf("over at look %d of %d", from, ctx.Looks.Load())
		}
	}
}

func TestAContextThatEndsDuringTheEncodingSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	req := hello()
	req.Messages = append(req.Messages, llm.User("b"), llm.User("c"))
	for from := int32(1); from <= 5; from++ {
		ctx := &adaptertest.Expiring{Context: t.Context(), From: from}
		_, err := s.provider(t).Generate(ctx, req, nil)
		if e := failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 || ctx.Looks.Load() > from+4 {
			t.Errorf("%d: %d requests, %d looks: %+v", from, len(s.Requests()), ctx.Looks.Load(), e)
		}
	}
}

// TestAContextThatEndsInTheTokenSourceIsWhatEndedTheCall: whatever the source says then is no fault of it.
func TestAContextThatEndsInTheTokenSourceIsWhatEndedTheCall(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	for _, cause := range []error{nil, context.Canceled} {
		ctx := &adaptertest.Expiring{Context: t.Context(), From: 1 << 30}
		p := s.entra(t, func(context.Context) (string, error) {
			ctx.Looks.Store(1 << 30)
			return "late-token", cause
		})
		_, err := p.Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 {
			t.Errorf("%v: %d requests, %+v", cause, len(s.Requests()), e)
		}
	}
}
