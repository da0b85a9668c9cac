package cloud

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// Improvise gives a step that says nothing of its answer the one that improvised makes.
func Improvise(s llmtest.Step, improvised func() *llm.Response) llmtest.Step {
	if s.Response == nil && (s.Error == nil || s.Error.Partial == nil) {
		s.Response = improvised()
	}
	return s
}

// Improvised is an answer of one part.
func Improvised(part llm.Part) *llm.Response {
	return &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{part}},
		Usage:   llm.Usage{Input: 12, Output: 9, Reported: true},
	}
}

// Arguments are an [Instance] of a schema, and an empty object where there is none.
func Arguments(schema json.RawMessage) string {
	if v, ok := Instance(schema); ok && len(schema) > 0 {
		return string(v)
	}
	return "{}"
}

// ResultsText is what an improvised answer says to the results of tools.
func ResultsText(tools []string) string {
	names := slices.Compact(slices.Sorted(slices.Values(tools)))
	return "I have the result of " + strings.Join(names, " and ") + ". This answer is simulated."
}
