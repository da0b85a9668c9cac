package conformance

import (
	"encoding/json"
	"slices"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func toolCases() []testCase {
	return []testCase{
		{"tool_call", "A tool call has the name and the arguments that the model wrote.", toolCall},
		{"tool_call_id", "A tool call has the id that the provider gave it.", toolCallID},
		{"tool_call_no_arguments", "A tool call without arguments has the arguments {}.", toolCallNoArguments},
		{"tool_calls_parallel", "Several tool calls in one answer keep their order and their own arguments.", toolCallsParallel},
		{"tool_calls_own_ids", "Several tool calls in one answer have ids that are not empty and all different.", toolCallsOwnIDs},
		{"tool_calls_after_text", "Text in front of tool calls is part of the answer.", toolCallsAfterText},
		{"parts_interleaved", "Texts and tool calls keep the order in which the model wrote them.", partsInterleaved},
		{
			"tool_call_events", "A tool call begins with one event that has its id and its name, and its arguments follow.",
			toolCallEvents,
		},
	}
}

func weather(id, city string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "weather", Arguments: `{"city":"` + city + `","days":3}`}
}

func withTools() *llm.Request {
	req := hello()
	req.Tools = []llm.Tool{
		{
			Name: "weather", Description: "Tells the weather.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`),
		},
		{Name: "time", Description: "Tells the time."},
	}
	return req
}

// wantContent compares the content of the answers in both modes with the parts of step.
func (c *check) wantContent(step llmtest.Step) {
	c.Helper()
	g := c.open(step)
	c.each(func(m mode) {
		_, resp := c.answer(g, withTools(), m)
		if got, want := outline(resp), outline(step.Response); got != want {
			c.Errorf("%s: want\n%sgot\n%s", m, want, got)
		}
	})
}

func toolCall(c *check) { c.wantContent(llmtest.Calls(weather("call_1", "Paris"))) }

func toolCallID(c *check) {
	g := c.open(llmtest.Calls(weather("call_7", "Paris")))
	c.each(func(m mode) {
		if _, resp := c.answer(g, withTools(), m); !slices.Equal(callIDs(resp), []string{"call_7"}) {
			c.Errorf("%s: want the id call_7, got %q", m, callIDs(resp))
		}
	})
}

func toolCallNoArguments(c *check) {
	g := c.open(llmtest.Calls(llm.ToolCall{ID: "call_1", Name: "time"}))
	c.each(func(m mode) {
		_, resp := c.answer(g, withTools(), m)
		for _, call := range resp.Message.ToolCalls() {
			if compact(call.Arguments) != "{}" {
				c.Errorf("%s: want the arguments {}, got %q", m, call.Arguments)
			}
		}
	})
}

func toolCallsParallel(c *check) {
	c.wantContent(llmtest.Calls(
		weather("call_1", "Paris"), weather("call_2", "Rome"), weather("call_3", "Oslo"),
	))
}

func toolCallsOwnIDs(c *check) {
	g := c.open(llmtest.Calls(weather("call_1", "Paris"), weather("call_2", "Paris")))
	c.each(func(m mode) {
		_, resp := c.answer(g, withTools(), m)
		ids := callIDs(resp)
		if len(ids) != 2 || ids[0] == ids[1] || slices.Contains(ids, "") {
			c.Errorf("%s: want two ids, got %q", m, ids)
		}
	})
}

func toolCallsAfterText(c *check) {
	c.wantContent(answering(llm.Text{Text: "I look it up."}, weather("call_1", "Paris")))
}

func partsInterleaved(c *check) {
	c.wantContent(answering(
		llm.Text{Text: "First Paris."}, weather("call_1", "Paris"),
		llm.Text{Text: "Then Rome."}, weather("call_2", "Rome"),
	))
}

func toolCallEvents(c *check) {
	events, _ := c.answer(c.open(llmtest.Calls(weather("call_1", "Paris"))), withTools(), stream)
	for i, e := range events.events {
		switch first := i == 0; {
		case first && (e.Kind != llm.EventToolCall || e.ID == "" || e.Name != "weather"):
			c.Errorf("want a tool_call event with id and name first, got %+v", e)
		case !first && e.Kind != llm.EventToolArguments && e.Kind != llm.EventDone: // Done is another case's
			c.Errorf("want nothing but arguments after the first event, event %d is %+v", i, e)
		}
	}
}
