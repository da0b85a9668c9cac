package conformance

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func requestCases() []testCase {
	return []testCase{
		{"request_unchanged", "Generate never changes the request, not even behind the end of its slices.", requestUnchanged},
		{"request_not_kept", "Generate never keeps the request: changed after the call, the same value is a new request.", requestNotKept},
		{"response_own", "The Response shares no memory with the request.", responseOwn},
		{"response_fresh", "The Response is fresh: a change to it shows in no other answer.", responseFresh},
		{"concurrent", "Generate is safe for concurrent use, also with one request for all calls.", concurrent},
		{"empty_is_nil", "Empty slices and maps in a request mean the same as nil.", emptyIsNil},
		{"extra_of_others", "Request.Extra of another provider is ignored.", extraOfOthers},
		{"history_of_others", "History that another model wrote is taken, and what only its maker may see is left out.", historyOfOthers},
		{"tool_turn", "A turn may end with the results of tool calls.", toolTurn},
	}
}

// conversation is a request with something in most of its fields, and with room behind the end of its slices.
func conversation() *llm.Request {
	req := withTools()
	req.System = "Be brief."
	req.Messages = append(make([]llm.Message, 0, 8),
		llm.User("What is the weather in Paris?"),
		llm.Message{Role: llm.RoleAssistant, Parts: append(make(llm.Parts, 0, 4), weather("call_1", "Paris"))},
		llm.ToolResults(llm.ToolResult{CallID: "call_1", Name: "weather", Parts: llm.Parts{llm.Text{Text: "Rain."}}}),
	)
	req.Tools = append(make([]llm.Tool, 0, 8), req.Tools...)
	req.MaxTokens = 100
	req.Temperature = new(0.0)
	req.Stop = append(make([]string, 0, 8), "STOP", "END")
	req.Metadata = map[string]string{"run": "7"}
	return req
}

// requestUnchanged does not care whether the calls succeed: a provider may lack something.
func requestUnchanged(c *check) {
	req := conversation()
	before, beforeJSON := req.Clone(), asJSON(req)
	g := c.open(llmtest.Text("Rain."), llmtest.Text("Rain."), unavailable())
	for _, m := range []mode{unary, stream, unary} {
		_, _, err := c.generate(c.ctx, g, req, m)
		if !reflect.DeepEqual(req, before) || asJSON(req) != beforeJSON {
			c.Fatalf("%s (error %v): the request was\n%s\nand is\n%s", m, err, beforeJSON, asJSON(req))
		}
		message := req.Messages[1]
		if !unused(req.Messages) || !unused(req.Tools) || !unused(req.Stop) || !unused(message.Parts) {
			c.Fatalf("%s: a slice of the request was appended to in place", m)
		}
	}
}

// unused reports whether the room behind the end of s is still zero.
func unused[S ~[]E, E any](s S) bool {
	for _, e := range s[len(s):cap(s)] {
		if v := reflect.ValueOf(&e).Elem(); !v.IsZero() {
			return false
		}
	}
	return true
}

func requestNotKept(c *check) {
	g := c.open(llmtest.Text("first"), llmtest.Text("second"))
	req := hello()
	c.wantTextFor(g, req, "first")
	req.Messages[0].Parts[0] = llm.Text{Text: "something else"}
	c.wantTextFor(g, req, "second")
}

func responseOwn(c *check) {
	g := c.open(llmtest.Text("done"))
	c.each(func(m mode) {
		req := withTools()
		signature := []byte("signature")
		req.Messages[0].Parts[0] = llm.Text{Text: "hello", Signature: signature}
		_, resp := c.answer(g, req, m)
		before := asJSON(resp)
		req.Messages[0].Parts[0] = llm.Text{Text: "changed"}
		for _, b := range [][]byte{signature, req.Tools[0].Parameters} {
			for i := range b {
				b[i] ^= 1
			}
		}
		if after := asJSON(resp); after != before {
			c.Errorf("%s: a change to the request made\n%s\nof\n%s", m, after, before)
		}
	})
}

func responseFresh(c *check) {
	g := c.open(mixed())
	c.each(func(m mode) {
		_, first := c.answer(g, withTools(), m)
		want := outline(first)
		ruin(first)
		if _, second := c.answer(g, withTools(), m); outline(second) != want {
			c.Errorf("%s: a change to one answer made\n%sof the next, want\n%s", m, outline(second), want)
		}
	})
}

// ruin changes r as far as its caller may, which is everywhere.
func ruin(r *llm.Response) {
	for i := range r.Message.Parts {
		r.Message.Parts[i] = llm.Text{Text: "ruined"}
	}
	r.Message.Parts = append(r.Message.Parts, llm.Text{Text: "ruined"})
	r.Warnings = append(r.Warnings, llm.Warning{Code: "ruined"})
	r.Finish, r.Usage = "ruined", llm.Usage{}
}

// concurrent holds each call at its first event until all are there, or for a moment at most: a Generator
// need not run so many at once, but if it does they must not meet.
func concurrent(c *check) {
	const calls = 32
	g, req := c.open(mixed()), withTools()
	want := outline(mixed().Response)
	var wg sync.WaitGroup
	var here atomic.Int64
	all := make(chan struct{})
	for range calls {
		wg.Go(func() {
			events, first := new(tape), true
			resp, err := g.Generate(c.ctx, req, func(e llm.Event) error {
				if first {
					first = false
					if here.Add(1) == calls {
						close(all)
					}
					meet(all)
				}
				return events.sink(e)
			})
			if err != nil {
				c.Errorf("one of %d calls at once: %v", calls, err)
			} else if got := outline(resp); got != want {
				c.Errorf("one of %d calls at once: want\n%sgot\n%s", calls, want, got)
			}
		})
	}
	wg.Wait()
}

// meet waits for all to close, for 50 ms at most.
func meet(all <-chan struct{}) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	}
}

func emptyIsNil(c *check) {
	req := hello()
	req.Tools, req.Stop = []llm.Tool{}, []string{}
	req.Route.Only, req.Route.Tags = []string{}, []string{}
	req.Metadata, req.Extra = map[string]string{}, map[string]json.RawMessage{}
	c.wantTextFor(c.open(llmtest.Text("done")), req, "done")
}

func extraOfOthers(c *check) {
	req := hello()
	req.Extra = map[string]json.RawMessage{"another_provider": json.RawMessage(`{"safety":"off"}`)}
	c.wantTextFor(c.open(llmtest.Text("done")), req, "done")
}

func historyOfOthers(c *check) {
	req := hello()
	req.Messages = slices.Insert(req.Messages, 0, llm.User("hi"), llm.Message{
		Role: llm.RoleAssistant, From: llm.ModelRef{Provider: "another_provider", Model: "theirs"},
		Parts: llm.Parts{
			llm.Reasoning{Text: "A greeting.", Signature: []byte("theirs")},
			llm.Opaque{Type: "another_provider.block", Data: json.RawMessage(`{"id":1}`)},
			llm.Text{Text: "Hi.", Signature: []byte("theirs")},
		},
	})
	c.wantTextFor(c.open(llmtest.Text("done")), req, "done")
}

func toolTurn(c *check) {
	req := withTools()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{weather("call_1", "Paris"), weather("call_2", "Rome")}},
		llm.ToolResults(
			llm.ToolResult{CallID: "call_1", Name: "weather", Parts: llm.Parts{llm.Text{Text: "Rain."}}},
			llm.ToolResult{CallID: "call_2", Name: "weather", Parts: llm.Parts{llm.Text{Text: "no such city"}}, IsError: true},
		))
	c.wantTextFor(c.open(llmtest.Text("done")), req, "done")
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	return string(b)
}
