package conformance

import (
	"context"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func streamCases() []testCase {
	return []testCase{
		{"stream_folds", "The events, folded by an Accumulator, are the parts of the final Response.", streamFolds},
		{"stream_equals_unary", "The same answer streamed and unary is the same Response.", streamEqualsUnary},
		{"stream_is_live", "An event reaches the sink when it arrives, not when the answer is complete.", streamIsLive},
		{"events_not_empty", "No event is empty.", eventsNotEmpty},
		{"events_no_done", "EventDone is the Client's alone, and never comes from a Generator.", eventsNoDone},
		{
			"events_index", "Event.Index is the place of the part in Message.Parts, counted from 0 in order of first appearance.",
			eventsIndex,
		},
	}
}

// mixed is an answer of more than one part that every wire can carry.
func mixed() llmtest.Step {
	return answering(llm.Text{Text: "I look up two cities."}, weather("call_1", "Paris"), weather("call_2", "Rome"))
}

func streamFolds(c *check) {
	events, resp := c.answer(c.open(mixed()), withTools(), stream)
	fold := events.fold()
	if got, want := outline(fold), outline(resp); got != want {
		c.Errorf("the response is\n%sthe events come to\n%s", want, got)
	}
	for i, id := range callIDs(fold) {
		if want := callIDs(resp); i < len(want) && id != want[i] {
			c.Errorf("tool call %d has the id %q in the events and %q in the response", i, id, want[i])
		}
	}
}

// streamEqualsUnary leaves the ids out, which a provider gives anew for each answer.
func streamEqualsUnary(c *check) {
	g := c.open(mixed())
	_, a := c.answer(g, withTools(), unary)
	_, b := c.answer(g, withTools(), stream)
	if outline(a) != outline(b) {
		c.Errorf("unary\n%sstream\n%s", outline(a), outline(b))
	}
	if a.Finish != b.Finish || a.RawFinish != b.RawFinish {
		c.Errorf("unary finish %q (%q), stream %q (%q)", a.Finish, a.RawFinish, b.Finish, b.RawFinish)
	}
	if a.Usage != b.Usage {
		c.Errorf("unary usage %+v, stream %+v", a.Usage, b.Usage)
	}
	if a.Model != b.Model || a.ModelVersion != b.ModelVersion {
		c.Errorf("unary model %v (%s), stream %v (%s)", a.Model, a.ModelVersion, b.Model, b.ModelVersion)
	}
}

func streamIsLive(c *check) {
	g := c.open(llmtest.Hang(llmtest.PhaseStream))
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	live := false
	_, err := g.Generate(ctx, hello(), func(llm.Event) error {
		live = live || ctx.Err() == nil
		cancel()
		return nil
	})
	if !live {
		c.Errorf("no event came in the second in which the stream stood open after its first content; then: %v", err)
	}
}

func eventsNotEmpty(c *check) {
	events, _ := c.answer(c.open(mixed()), withTools(), stream)
	for i, e := range events.events {
		begins := e.Kind == llm.EventToolCall || e.Kind == llm.EventDone // need no Delta
		if e.Delta == "" && !begins {
			c.Errorf("event %d of %d is empty: %+v", i, len(events.events), e)
		}
	}
}

func eventsNoDone(c *check) {
	events, _ := c.answer(c.open(mixed()), withTools(), stream)
	for i, e := range events.events {
		if e.Kind == llm.EventDone || e.Response != nil {
			c.Errorf("event %d of %d is of kind %q", i, len(events.events), e.Kind)
		}
	}
}

func eventsIndex(c *check) {
	events, resp := c.answer(c.open(mixed()), withTools(), stream)
	next := 0
	for i, e := range events.events {
		if e.Kind == llm.EventDone {
			continue
		}
		if e.Index < 0 || e.Index > next || e.Index >= len(resp.Message.Parts) {
			c.Errorf("event %d (%s) has index %d; %d parts have appeared, the response has %d",
				i, e.Kind, e.Index, next, len(resp.Message.Parts))
			continue
		}
		next = max(next, e.Index+1)
		if want := builtBy(resp.Message.Parts[e.Index]); e.Kind != want && e.Kind != llm.EventToolArguments {
			c.Errorf("event %d of kind %s has index %d, where the response has a %T", i, e.Kind, e.Index, resp.Message.Parts[e.Index])
		}
	}
}

// builtBy is the kind of event that begins p.
func builtBy(p llm.Part) llm.EventKind {
	switch p.(type) {
	case llm.Text:
		return llm.EventText
	case llm.Reasoning:
		return llm.EventReasoning
	case llm.ToolCall:
		return llm.EventToolCall
	default:
		return ""
	}
}
