package fallback_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

const s = time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fail(k llm.Kind) llmtest.Step { return llmtest.Fail(&llm.Error{Kind: k}) }

// target makes a target of the script, named name.
func target(name string, steps ...llmtest.Step) fallback.Target {
	return fallback.Target{
		Name: name, Generator: llmtest.New(steps...), Prompt: true,
		Model: llm.ModelRef{Provider: "fake", Model: "model-" + name},
	}
}

func chain(t *testing.T, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(targets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func triage() *llm.Request {
	return &llm.Request{Operation: llm.Triage, Messages: []llm.Message{llm.User("urgent?")}}
}

// trail writes a trail as "a:timeout(attempt)@30s b:answered@0s".
func trail(attempts []llm.Attempt) string {
	words := make([]string, len(attempts))
	for i, a := range attempts {
		word := "answered"
		if a.Kind != "" {
			word = string(a.Kind)
		}
		if a.Bound != "" {
			word += "(" + string(a.Bound) + ")"
		}
		words[i] = fmt.Sprintf("%s:%s@%v", a.Target, word, a.Took)
	}
	return strings.Join(words, " ")
}

func skips(skipped []llm.Skip) string {
	words := make([]string, len(skipped))
	for i, s := range skipped {
		words[i] = s.Target + ":" + string(s.Why)
	}
	return strings.Join(words, " ")
}

func tagged(t fallback.Target, tags ...string) fallback.Target { t.Tags = tags; return t }

func lacking(t fallback.Target, what ...string) fallback.Target { t.Can.Lacks = what; return t }
