package llmtest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// Answer returns the content of the step as a fresh Response, for simulated clouds: what they send, and what
// an adapter should make of it. What the script leaves open is filled in: the role, Finish by the parts
// (tool_call or stop), Usage with 5 tokens in and 3 out, "{}" for the arguments of a tool call, and an ID for
// it that is unique within the answer. Empty texts are left out.
func (s Step) Answer() *llm.Response {
	r := cloneResponse(s.content())
	r.Message.Role = llm.RoleAssistant
	r.Message.Parts = slices.DeleteFunc(r.Message.Parts, empty)
	finish := llm.FinishStop
	for i, part := range r.Message.Parts {
		if call, ok := part.(llm.ToolCall); ok {
			r.Message.Parts[i] = fillCall(call, i)
			finish = llm.FinishToolCall
		}
	}
	if r.Finish == "" {
		r.Finish = finish
	}
	if r.Usage == (llm.Usage{}) {
		r.Usage = llm.Usage{Input: 5, Output: 3, Reported: true}
	}
	return r
}

// content is what the script says, before anything is filled in. It belongs to the script.
func (s Step) content() *llm.Response {
	switch {
	case s.Response != nil:
		return s.Response
	case s.Error != nil && s.Error.Partial != nil:
		return s.Error.Partial
	case s.Phase == PhaseStream || s.Phase == PhaseEnd:
		return Text("partial ").Response
	default:
		return Text("ok").Response
	}
}

func empty(p llm.Part) bool {
	switch p := p.(type) {
	case nil:
		return true
	case llm.Text:
		return p.Text == "" && len(p.Signature) == 0
	case llm.Reasoning:
		return p.Text == "" && len(p.Signature) == 0
	default:
		return false
	}
}

func fillCall(c llm.ToolCall, index int) llm.ToolCall {
	if c.ID == "" {
		c.ID = "call_" + strconv.Itoa(index)
	}
	if strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}"
	}
	return c
}

func cloneResponse(r *llm.Response) *llm.Response {
	if r == nil {
		return nil
	}
	c := *r
	c.Message.Parts = cloneParts(r.Message.Parts)
	c.Attempts = slices.Clone(r.Attempts)
	c.Skipped = slices.Clone(r.Skipped)
	c.Warnings = slices.Clone(r.Warnings)
	return &c
}

// cloneParts copies the slice and the memory that parts point to. A part without any, such as a plain Text,
// is a value that nobody can change, so it is not made anew.
func cloneParts(parts llm.Parts) llm.Parts {
	c := slices.Clone(parts)
	for i, part := range c {
		switch p := part.(type) {
		case llm.Text:
			if p.Signature != nil {
				p.Signature = bytes.Clone(p.Signature)
				c[i] = p
			}
		case llm.Reasoning:
			if p.Signature != nil {
				p.Signature = bytes.Clone(p.Signature)
				c[i] = p
			}
		case llm.ToolCall:
			if p.Signature != nil {
				p.Signature = bytes.Clone(p.Signature)
				c[i] = p
			}
		case llm.ToolResult:
			p.Parts = cloneParts(p.Parts)
			c[i] = p
		case llm.Media:
			p.Data = bytes.Clone(p.Data)
			c[i] = p
		case llm.Opaque:
			p.Data = bytes.Clone(p.Data)
			c[i] = p
		}
	}
	return c
}

func cloneError(e *llm.Error) *llm.Error {
	if e == nil {
		return nil
	}
	c := *e
	c.Filtered = slices.Clone(e.Filtered)
	c.Attempts = slices.Clone(e.Attempts)
	c.Skipped = slices.Clone(e.Skipped)
	c.Partial = cloneResponse(e.Partial)
	return &c
}
