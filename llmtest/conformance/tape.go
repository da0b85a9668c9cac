package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// tape keeps the events that a sink accepted. It is for one call; a generator that breaks the rule of one
// goroutine may make the race detector speak.
type tape struct{ events []llm.Event }

func (t *tape) sink(e llm.Event) error {
	t.events = append(t.events, e)
	return nil
}

// fold is the answer that the events come to.
func (t *tape) fold() *llm.Response { return t.accumulator().Response() }

// partial is what may be kept of the events when the stream broke off; nil if nothing.
func (t *tape) partial() *llm.Response { return t.accumulator().Partial() }

func (t *tape) accumulator() *llm.Accumulator {
	var a llm.Accumulator
	for _, e := range t.events {
		a.Add(e)
	}
	return &a
}

// outline is the streamable content of a response, one part a line, in a form to compare and to print: no
// ids, no signatures, arguments as compact JSON.
func outline(r *llm.Response) string {
	if r == nil {
		r = &llm.Response{}
	}
	var b strings.Builder
	for _, part := range r.Message.Parts {
		switch p := part.(type) {
		case llm.Text:
			fmt.Fprintf(&b, "text %s\n", short(p.Text))
		case llm.Reasoning:
			fmt.Fprintf(&b, "reasoning %s\n", short(p.Text))
		case llm.ToolCall:
			fmt.Fprintf(&b, "call %s %s\n", p.Name, compact(p.Arguments))
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// callIDs are the ids of the tool calls of r, in order.
func callIDs(r *llm.Response) []string {
	var ids []string
	for _, call := range r.Message.ToolCalls() {
		ids = append(ids, call.ID)
	}
	return ids
}

// compact is JSON without its blanks and with the keys in order, or s itself if it is none.
func compact(s string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return s
	}
	return strings.TrimSpace(b.String())
}

// short quotes s and leaves out the middle of a long one; two that differ still look different.
func short(s string) string {
	const most = 200
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	sum := uint32(2166136261) // FNV-1a
	for i := range len(s) {
		sum = (sum ^ uint32(s[i])) * 16777619
	}
	return fmt.Sprintf("%q… (%d bytes, sum %08x)", s[:most/2], len(s), sum)
}
