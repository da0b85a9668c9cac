package fallback_test

import (
	"testing"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestTooLongGoesToALargerWindowOnly: what a large window cannot hold, a small one cannot either.
func TestTooLongGoesToALargerWindowOnly(t *testing.T) {
	t.Parallel()
	window := func(tokens int, t fallback.Target) fallback.Target { t.Can.ContextWindow = tokens; return t }
	tooLong := fail(llm.ErrContextTooLong)
	c := chain(t,
		window(128_000, target("a", tooLong)), window(4_000, target("small", llmtest.Text("no"))),
		window(128_000, target("same", llmtest.Text("no"))), window(1_000_000, target("large", llmtest.Text("ok"))))
	resp, err := c.Generate(t.Context(), triage(), nil)
	if err != nil || resp.Target != "large" || skips(resp.Skipped) != "small:unsupported same:unsupported" {
		t.Errorf("%+v, %v", resp, err)
	}
	c = chain(t, target("a", tooLong), target("b", llmtest.Text("ok"))) // nothing is known: everything is tried
	if resp, err = c.Generate(t.Context(), triage(), nil); err != nil || resp.Target != "b" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestATargetWithoutAModelIsFoundAgain: the chain learns who answers, and the next turn goes to him.
func TestATargetWithoutAModelIsFoundAgain(t *testing.T) {
	t.Parallel()
	second := llmtest.New(llmtest.Respond(&llm.Response{
		Model:   llm.ModelRef{Provider: "fake", Model: "second"},
		Message: llm.Message{Role: llm.RoleAssistant, From: llm.ModelRef{Provider: "fake", Model: "second"}, Parts: llm.Parts{llm.Text{Text: "mine"}}},
	}))
	client := llm.NewClient(chain(t,
		fallback.Target{Name: "a", Generator: llmtest.New(fail(llm.ErrInvalid), llmtest.Text("ok")), Prompt: true},
		fallback.Target{Name: "b", Generator: second, Prompt: true},
	), nil)
	req := triage()
	req.Route.Only = []string{"b"}
	resp, err := client.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	next := triage()
	next.Messages = append(next.Messages, resp.Message, llm.User("and now?"))
	if resp, err = client.Generate(t.Context(), next); err != nil || resp.Target != "b" {
		t.Errorf("the next turn: %v, %v, want it at b", resp, err)
	}
}
