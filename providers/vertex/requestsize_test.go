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
	adaptertest.RefusesTooLarge(t, s.Server, s.provider(t), "vertex")
}

// TestAContextThatEndsDuringTheEncodingSendsNothing: and asks for no token.
func TestAContextThatEndsDuringTheEncodingSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	adaptertest.EndsWhileEncoding(t, s.Server, s.provider(t, tokens(func(context.Context) (string, error) {
		t.Error("a token was asked for")
		return "t", nil
	})))
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
