package providers_test

import (
	"encoding/json"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// A Claude that is told to think, in the middle of a turn that another model began, is told not to: it refuses a turn
// with calls that does not begin with a thought ("Expected `thinking` or `redacted_thinking`, but found `tool_use`",
// https://github.com/anomalyco/opencode/issues/3077), and nobody else's thoughts can be there.
func TestCrossCloudWhileThinking(t *testing.T) {
	t.Parallel()
	for _, home := range crossings {
		t.Run(home.name, func(t *testing.T) {
			t.Parallel()
			claude := crossings[1]
			begin, first := answerOf(home, "HOMEWARD")
			visit, _ := answerOf(claude, "OUTBOUND")
			homeModel, _ := home.open(t, begin)
			claudeModel, claudeCloud := claude.open(t, visit)
			req := &llm.Request{Messages: []llm.Message{llm.User("weather and time?")}, Tools: crossTools, Thinking: llm.Thinking{MaxTokens: 2048}}
			first.message = journey{}.answered(t, homeModel, req).Message
			req.Messages = append(append(req.Messages, first.message), journey{}.results(first.message)...)
			resp := journey{}.answered(t, claudeModel, req)
			body := lastBody(t, claudeCloud, 1)
			var sent struct {
				AdditionalModelRequestFields struct{ Thinking struct{ Type string } }
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			thinks := sent.AdditionalModelRequestFields.Thinking.Type == "enabled"
			turn := readConverse(t, body)[1]
			if begun := turn.parts[0].kind == "thought"; thinks != begun {
				t.Errorf("thinking is %t, and the turn begins with %q in\n%s", thinks, turn.parts[0].kind, body)
			}
			if warned := len(resp.Warnings) > 0; warned == thinks {
				t.Errorf("warnings %+v", resp.Warnings)
			}
		})
	}
}
