package vertex_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
)

func TestARequestOverItsBoundIsRefusedBeforeItIsEncoded(t *testing.T) { //nolint:paralleltest // it measures memory
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	long := strings.Repeat("x", 64*mib+1)
	for field, req := range map[string]*llm.Request{
		"system":               {System: long, Messages: hello().Messages},
		"messages[0].parts[0]": {Messages: []llm.Message{llm.User(long)}},
		"extra.vertex":         {Messages: hello().Messages, Extra: map[string]json.RawMessage{"vertex": json.RawMessage(long)}},
	} {
		if n := allocated(func() {
			_, err := unary(t, p, req)
			badField(t, err, llm.ErrUnsupported, field, "xxxx")
		}); n > 1 && !raceEnabled {
			t.Errorf("%s: %d MiB were allocated", field, n)
		}
	}
	if len(s.Requests()) > 0 {
		t.Error("something was sent")
	}
}

// TestAContextThatEndsDuringTheEncodingSendsNothing: and asks for no token.
func TestAContextThatEndsDuringTheEncodingSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(context.Context) (string, error) {
		t.Error("a token was asked for")
		return "t", nil
	}))
	for from := int32(1); from <= 2; from++ {
		ctx := &adaptertest.Expiring{Context: t.Context(), From: from}
		_, err := p.Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 || ctx.Looks.Load() > from+3 {
			t.Errorf("%d: %d requests, %d looks: %+v", from, len(s.Requests()), ctx.Looks.Load(), e)
		}
	}
}

// TestAPartOfTheOtherEngineIsLeftOut: its bytes mean nothing to the REST API, which would refuse the request.
func TestAPartOfTheOtherEngineIsLeftOut(t *testing.T) {
	t.Parallel()
	ref := llm.ModelRef{Provider: "vertex", Model: "gemini-2.5-flash"}
	foreign := llm.Opaque{Type: "gemini_part", Data: json.RawMessage(`{"vertexaiPart":"AQ=="}`)}
	own := llm.Opaque{Type: "gemini_part", Data: json.RawMessage(`{"executableCode":{"code":"vertexaiPart"}}`)}
	for name, messages := range map[string][]llm.Message{
		"of the model": {llm.User("a"), {Role: llm.RoleAssistant, From: ref, Parts: llm.Parts{foreign, own, llm.Text{Text: "b"}}}, llm.User("c")},
		"by hand":      {{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "a"}, foreign, own}}},
	} {
		s := serve(t, reply(200, ok))
		resp, err := unary(t, s.provider(t), &llm.Request{Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		raw := s.Last(t).Raw
		if strings.Contains(raw, `"vertexaiPart":`) || !strings.Contains(raw, `"executableCode"`) {
			t.Errorf("%s: sent %s", name, raw)
		}
		if w := resp.Warnings; len(w) != 1 || w[0].Code != "dropped" || !strings.HasPrefix(w[0].Field, "messages[") {
			t.Errorf("%s: warnings %+v", name, w)
		}
	}
}
