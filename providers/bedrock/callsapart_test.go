package bedrock_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// TestCallsThatAreToldApartPoorlyAreNotMerged: no two of them may come out as one, nor with one id.
func TestCallsThatAreToldApartPoorlyAreNotMerged(t *testing.T) {
	t.Parallel()
	one, two := `{"a":1}`, `{"b":2}`
	for name, frames := range map[string][]string{
		"one id":                    {callStart(0, "u", "add"), callInput(0, one), callStart(1, "u", "mul"), callInput(1, two)},
		"one id, interleaved":       {callStart(0, "u", "add"), callStart(1, "u", "mul"), callInput(1, two), callInput(0, one)},
		"one id, pieces in turns":   {callStart(0, "u", "add"), callStart(1, "u", "mul"), callInput(0, `{"a"`), callInput(1, `{"b"`), callInput(0, ":1}"), callInput(1, ":2}")},
		"one id, one block":         {callStart(0, "u", "add"), callInput(0, one), callStart(0, "u", "mul"), callInput(0, two)},
		"two ids, one block":        {callStart(0, "u", "add"), callInput(0, one), callStart(0, "v", "mul"), callInput(0, two)},
		"two ids, pieces in turns":  {callStart(7, "u", "add"), callStart(3, "v", "mul"), callInput(7, `{"a"`), callInput(3, `{"b"`), callInput(7, ":1}"), callInput(3, ":2}")},
		"a text in the same blocks": {callStart(0, "u", "add"), text(0, "x"), callInput(0, one), text(1, "y"), callStart(1, "u", "mul"), callInput(1, two)},
	} {
		all := append(append([]string{begin()}, frames...), stop("tool_use"), metadata())
		_, resp := streamed(t, events(all...))
		apart(t, name, resp)
	}
	apart(t, "whole", answered(t, answer(`{"toolUse":{"toolUseId":"u","name":"add","input":{"a":1}}},{"toolUse":{"toolUseId":"u","name":"mul","input":{"b":2}}}`, "tool_use")))
}

func apart(t *testing.T, name string, resp *llm.Response) {
	t.Helper()
	got := resp.Message.ToolCalls()
	if len(got) != 2 || got[0].ID != "u" || got[1].ID == "u" || got[0].Name != "add" || got[1].Name != "mul" ||
		got[0].Arguments != `{"a":1}` || got[1].Arguments != `{"b":2}` || !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(got[1].ID) {
		t.Errorf("%s: %+v", name, got)
	}
}

func TestAnIDThatWasMadeUpGoesBackWithItsResult(t *testing.T) {
	t.Parallel()
	const same = `{"toolUse":{"toolUseId":"u","name":"add","input":{}}}`
	resp := answered(t, answer(same+","+same, "tool_use"))
	made := resp.Message.ToolCalls()[1].ID
	req := hello()
	req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleTool, Parts: llm.Parts{
		llm.ToolResult{CallID: made, Parts: llm.Parts{llm.Text{Text: "2"}}},
		llm.ToolResult{CallID: "u", Parts: llm.Parts{llm.Text{Text: "1"}}},
	}})
	got, _ := sent(t, req)
	messages, _ := got.Body["messages"].([]any)
	if len(messages) != 3 {
		t.Fatalf("%s", got.Raw)
	}
	result := func(id, text string) string {
		return `{"toolResult":{"toolUseId":"` + id + `","content":[{"text":"` + text + `"}]}}`
	}
	wantJSON(t, "results", messages[2], `{"role":"user","content":[`+result("u", "1")+","+result(made, "2")+`]}`)
}

func TestAsManyCallsAsAreGoodKeepTheirPieces(t *testing.T) {
	t.Parallel()
	all := []string{begin()}
	for i := range 1024 {
		all = append(all, callStart(i, fmt.Sprint("u", i), "f"), callInput(i, `{"n":`))
	}
	for i := range 1024 {
		all = append(all, callInput(i, fmt.Sprintf("%d}", i)))
	}
	_, resp := streamed(t, events(append(all, stop("tool_use"), metadata())...))
	got := resp.Message.ToolCalls()
	if len(got) != 1024 {
		t.Fatalf("%d calls", len(got))
	}
	for i, c := range got {
		if c.ID != fmt.Sprint("u", i) || c.Arguments != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("call %d is %+v", i, c)
		}
	}
}
