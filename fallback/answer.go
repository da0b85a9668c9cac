package fallback

import (
	"encoding/json"

	"github.com/punctual-llm/punctual/llm"
)

// answer adds what the call knows to an answer.
func (c *call) answer(resp *llm.Response, a *attempt) *llm.Response {
	resp.Target = a.member.Name
	if m := a.member.Model; m != (llm.ModelRef{}) { // the name under which this chain finds the author of a message again
		resp.Model, resp.Message.From = m, m
	}
	a.member.learn(resp.Message.From)
	resp.Attempts, resp.Skipped = c.answeredLast(), c.skipped
	resp.Warnings = append(resp.Warnings, c.warnings...)
	return resp
}

// answeredLast is the trail with the attempt that answered at its end: a hedge may have lost against it after
// it was over.
func (c *call) answeredLast() []llm.Attempt {
	last := len(c.attempts) - 1
	for i := range c.attempts[:last] {
		if a := c.attempts[i]; a.Kind == "" {
			copy(c.attempts[i:], c.attempts[i+1:])
			c.attempts[last] = a
		}
	}
	return c.attempts
}

// judgeAnswer says what is wrong with an answer, nil if it can be used.
func (c *call) judgeAnswer(resp *llm.Response) *llm.Error {
	switch {
	case resp == nil:
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "no_response"}
	case len(resp.Message.Parts) == 0 && resp.Finish != llm.FinishLength:
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"}
	case c.req.Output != nil && len(resp.Message.ToolCalls()) == 0 && !json.Valid([]byte(resp.Text())):
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "output_is_no_json"}
	case c.req.Accept != nil:
		if err := c.req.Accept(resp); err != nil {
			return &llm.Error{Kind: llm.ErrBadOutput, Code: "not_accepted", Err: err}
		}
	}
	return nil
}
