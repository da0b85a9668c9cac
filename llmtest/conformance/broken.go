package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func brokenCases() []testCase {
	return []testCase{
		{"cut_stream", "A stream that stops before the provider's end mark is ErrInterrupted.", cutStream},
		{"cut_unary", "A whole answer that stops in the middle is an error of the connection, never an answer.", cutUnary},
		{"cut_response", "Beside ErrInterrupted the Response is exactly what the sink accepted.", cutResponse},
		{"cut_tool_call", "Half a tool call is in no Response: nobody may run it.", cutToolCall},
		{"error_in_stream", "An error inside a stream, before any content, is that error.", errorInStream},
		{"error_after_content", "An error inside a stream, after content, is that error.", errorAfterContent},
		{"error_response", "Beside an error after content the Response is exactly what the sink accepted.", errorResponse},
		{"cancel_response", "When the context ends after content the Response is exactly what the sink accepted.", cancelResponse},
	}
}

func cutStream(c *check) {
	for _, text := range []string{"one two three", ""} {
		_, resp, err := c.generate(c.ctx, c.open(llmtest.Cut(text)), hello(), stream)
		if llm.KindOf(err) != llm.ErrInterrupted {
			c.Errorf("cut after %q: want ErrInterrupted, got %v and %s", text, err, outline(resp))
		}
	}
}

func cutUnary(c *check) {
	_, resp, err := c.generate(c.ctx, c.open(llmtest.Cut("one two three")), hello(), unary)
	if kind := llm.KindOf(err); kind != llm.ErrConnection && kind != llm.ErrInterrupted {
		c.Errorf("want ErrConnection or ErrInterrupted, got %v and %s", err, outline(resp))
	}
}

// wantAccepted compares what a failed stream returned with what its sink accepted. A call that did not fail
// is the business of other cases.
func (c *check) wantAccepted(events *tape, resp *llm.Response, err error) {
	c.Helper()
	if err == nil {
		return
	}
	want := outline(events.partial())
	if got := outline(resp); got != want {
		c.Errorf("%v: the sink had accepted\n%sthe response is\n%s", err, want, got)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Partial != nil && outline(e.Partial) != want {
		c.Errorf("%v: the sink had accepted\n%sthe error's Partial is\n%s", err, want, outline(e.Partial))
	}
}

func cutResponse(c *check) {
	c.wantAccepted(c.generate(c.ctx, c.open(llmtest.Cut("one two three")), hello(), stream))
}

// cutToolCall is the one case for half a call: the others have whole ones or none.
func cutToolCall(c *check) {
	step := answering(llm.Text{Text: "I look it up."}, llm.ToolCall{ID: "call_1", Name: "weather", Arguments: `{"city":"Par`})
	step.Cut = true
	_, resp, err := c.generate(c.ctx, c.open(step), withTools(), stream)
	if resp != nil && len(resp.Message.ToolCalls()) > 0 {
		c.Errorf("%v: the response has\n%s", err, outline(resp))
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Partial != nil && len(e.Partial.Message.ToolCalls()) > 0 {
		c.Errorf("%v: the error's Partial has\n%s", err, outline(e.Partial))
	}
}

func failsAt(phase llmtest.Phase) llmtest.Step {
	step := unavailable()
	step.Phase = phase
	return step
}

func errorInStream(c *check) {
	_, resp, err := c.generate(c.ctx, c.open(failsAt(llmtest.PhaseFirst)), hello(), stream)
	if llm.KindOf(err) != llm.ErrUnavailable {
		c.Errorf("want ErrUnavailable, got %v and %s", err, outline(resp))
	}
}

func errorAfterContent(c *check) {
	_, resp, err := c.generate(c.ctx, c.open(failsAt(llmtest.PhaseStream)), hello(), stream)
	if llm.KindOf(err) != llm.ErrUnavailable {
		c.Errorf("want ErrUnavailable, got %v and %s", err, outline(resp))
	}
}

func errorResponse(c *check) {
	step := failsAt(llmtest.PhaseEnd)
	step.Response = llmtest.Text("one two three").Response
	c.wantAccepted(c.generate(c.ctx, c.open(step), hello(), stream))
}

// cancelResponse cancels when the first content has come, or after a second if none does.
func cancelResponse(c *check) {
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	events := new(tape)
	resp, err := c.open(llmtest.Hang(llmtest.PhaseStream)).Generate(ctx, hello(), func(e llm.Event) error {
		cancel()
		return events.sink(e)
	})
	c.wantAccepted(events, resp, err)
}
