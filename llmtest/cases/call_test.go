package cases_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
)

// result is how one call ended.
type result struct {
	resp       *llm.Response
	err        error
	text       string // of a stream, as it arrived
	start, end time.Time
	states     map[string]breaker.State // of all targets when it ended
	first      *result                  // the turn before it, whose tools were answered
}

func (r *result) took() time.Duration { return r.end.Sub(r.start) }

// failure is the error as the SDK's own type; nil for an answer.
func (r *result) failure() *llm.Error {
	e, _ := errors.AsType[*llm.Error](r.err)
	return e
}

// answer is what there is of an answer: all of it, or what had come before an error.
func (r *result) answer() *llm.Response {
	if e := r.failure(); e != nil {
		return e.Partial
	}
	return r.resp
}

func (r *result) attempts() []llm.Attempt {
	switch e := r.failure(); {
	case e != nil:
		return e.Attempts
	case r.resp != nil:
		return r.resp.Attempts
	default:
		return nil
	}
}

// errCaller is what the caller's own sink fails with.
var errCaller = errors.New("the caller has had enough")

// ask makes the n-th call. A plain one is neither cancelled nor left.
func (s *stack) ask(ctx context.Context, n int, plain bool) (r *result) {
	call := &s.c.Call
	if call.BudgetMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = deadline.With(ctx, ms(call.BudgetMS), nil)
		defer cancel()
	}
	if call.CancelAtMS != nil && !plain && (len(call.CancelCalls) == 0 || slices.Contains(call.CancelCalls, n)) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(ms(*call.CancelAtMS), cancel).Stop()
	}
	req, err := s.request(n)
	if err != nil {
		return &result{err: err}
	}
	failAfter := call.Caller.FailAfterTexts
	if plain {
		failAfter = 0
	}
	r = s.send(ctx, req, failAfter)
	if t := call.Then; t != nil && t.Results != "" && r.err == nil && !plain {
		next := *req
		next.Messages = append(slices.Clone(req.Messages), r.resp.Message, results(r.resp.Message.ToolCalls(), t))
		second := s.send(ctx, &next, 0)
		second.first = r
		return second
	}
	return r
}

// send makes one call of the client; with a sink that fails it is one of the chain, for a client has none.
func (s *stack) send(ctx context.Context, req *llm.Request, failAfter int) (r *result) {
	r = &result{start: time.Now()}
	defer func() {
		r.end = time.Now()
		if p := recover(); p != nil {
			r.err = fmt.Errorf("a panic: %v\n%s", p, debug.Stack())
		}
		r.states = map[string]breaker.State{}
		for _, name := range s.c.Call.Providers {
			r.states[name] = s.breakers.Status(name).State
		}
	}()
	switch {
	case s.c.Call.Mode == "unary":
		r.resp, r.err = s.client.Generate(ctx, req)
	case failAfter > 0:
		texts := 0
		r.resp, r.err = s.chain.Generate(ctx, req, func(e llm.Event) error {
			if e.Kind == llm.EventText {
				r.text += e.Delta
				if texts++; texts >= failAfter {
					return errCaller
				}
			}
			return nil
		})
	default:
		stream := s.client.Stream(ctx, req)
		for e, err := range stream.Events() {
			if err == nil && e.Kind == llm.EventText {
				r.text += e.Delta
			}
		}
		r.resp, r.err = stream.Response()
	}
	return r
}

// results answers calls of tools, each with the text in which {name} stands for an argument.
func results(calls []llm.ToolCall, t *afterwards) llm.Message {
	var all []llm.ToolResult
	for _, c := range calls {
		text := t.Text
		var arguments map[string]any
		_ = json.Unmarshal([]byte(c.Arguments), &arguments)
		for name, value := range arguments {
			text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(value))
		}
		all = append(all, c.Result(text))
	}
	if t.Results == "reverse" {
		slices.Reverse(all)
	}
	return llm.ToolResults(all...)
}

// request builds the n-th request.
func (s *stack) request(n int) (*llm.Request, error) {
	call := &s.c.Call
	req := &llm.Request{
		Operation: llm.Operation(call.Op), System: call.System, MaxTokens: call.MaxTokens, Extra: call.Extra,
	}
	for i, name := range call.Tools {
		tool := llm.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
		if i == 0 && len(call.ToolSchema) > 0 {
			tool.Parameters = call.ToolSchema
		}
		req.Tools = append(req.Tools, tool)
	}
	input := []turn{{role: "user", parts: []inputPart{{text: "hi"}}}}
	if call.Input != nil {
		input = *call.Input
	}
	for _, t := range input {
		m := llm.Message{Role: llm.Role(t.role)}
		for _, p := range t.parts {
			switch {
			case p.call != nil:
				m.Parts = append(m.Parts, llm.ToolCall{ID: p.call[0], Name: p.call[1], Arguments: p.call[2]})
			case p.result != nil:
				m.Parts = append(m.Parts, llm.ToolResult{CallID: p.result[0], Parts: llm.Parts{llm.Text{Text: p.result[1]}}})
			default:
				m.Parts = append(m.Parts, llm.Text{Text: p.text})
			}
		}
		req.Messages = append(req.Messages, m)
	}
	if s.c.tellsCallsApart() {
		return req, number(req, n)
	}
	return req, nil
}

// tellsCallsApart reports whether a fake has to know which call a request is of.
func (c *faultCase) tellsCallsApart() bool {
	for _, replies := range c.Wire {
		if slices.ContainsFunc(replies, func(r reply) bool { return r.Times.firstPerCall }) {
			return true
		}
	}
	return false
}

// number puts the number of the call into the last text of the user.
func number(req *llm.Request, n int) error {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		for j, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && m.Role == llm.RoleUser {
				t.Text += " " + fmt.Sprintf(callMark, n)
				m.Parts[j] = t
				return nil
			}
		}
	}
	return errors.New("the calls have to be told apart, and no text can carry a number")
}
