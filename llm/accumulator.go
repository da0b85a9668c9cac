package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// Accumulator folds events into a Response: adapters use it for what they stream, and consumers for events
// that were forwarded to them. The zero value is ready. It is for one goroutine.
type Accumulator struct {
	slots []slot // sorted by index; slots of equal index in order of arrival
	done  *Response
}

// slot is one part in the making. Exactly one of part (put whole) and kind (built from deltas) decides what
// it becomes.
type slot struct {
	index    int
	kind     EventKind
	id, name string
	text     strings.Builder
	part     Part
}

// Add folds one event in. Events of unknown kinds are skipped, and so are indices that never come. The
// Response of an [EventDone] replaces everything.
func (a *Accumulator) Add(e Event) {
	switch e.Kind {
	case EventText, EventReasoning:
		if e.Delta != "" {
			a.slot(e.Index, e.Kind).text.WriteString(e.Delta)
		}
	case EventToolCall:
		s := a.slot(e.Index, EventToolCall)
		if e.ID != "" {
			s.id = e.ID
		}
		if e.Name != "" {
			s.name = e.Name
		}
		s.text.WriteString(e.Delta)
	case EventToolArguments:
		a.slot(e.Index, EventToolCall).text.WriteString(e.Delta)
	case EventDone:
		if e.Response != nil {
			a.done = e.Response
		}
	}
}

// Put sets the part at index to p, a whole part: what cannot be streamed (Media, Opaque), or what became
// known at the end. A Text, Reasoning or ToolCall whose own text is empty keeps the deltas that were added
// there; so a signature is put as Reasoning{Signature: s}.
func (a *Accumulator) Put(index int, p Part) {
	s := a.slot(index, putKind(p))
	s.part = p
}

// putKind is the kind of event that would build p; "" for parts that no event builds.
func putKind(p Part) EventKind {
	switch p.(type) {
	case Text:
		return EventText
	case Reasoning:
		return EventReasoning
	case ToolCall:
		return EventToolCall
	default:
		return ""
	}
}

// slot finds or makes the slot of index and kind. An index that already holds another kind (a broken
// stream) gets a second slot behind the first, so that nothing is mixed up and nothing lost.
func (a *Accumulator) slot(index int, kind EventKind) *slot {
	i := len(a.slots)
	for i > 0 && a.slots[i-1].index >= index {
		if a.slots[i-1].index == index && a.slots[i-1].kind == kind {
			return &a.slots[i-1]
		}
		if a.slots[i-1].index == index {
			break
		}
		i--
	}
	a.slots = slices.Insert(a.slots, i, slot{index: index, kind: kind})
	return &a.slots[i]
}

// Response returns what was folded so far as a fresh Response. Empty parts are left out; a tool call
// without arguments has "{}".
func (a *Accumulator) Response() *Response {
	if a.done != nil {
		r := *a.done
		r.Message.Parts = cloneParts(r.Message.Parts)
		return &r
	}
	return a.fold(func(*slot) bool { return true })
}

// Partial is Response without the tool calls that had not ended, for a stream that broke off: nobody may
// run half a call. A call has ended when its arguments are one whole JSON object. It is nil when nothing is
// left.
func (a *Accumulator) Partial() *Response {
	r := a.fold((*slot).ended)
	if len(r.Message.Parts) == 0 {
		return nil
	}
	return r
}

func (a *Accumulator) fold(keep func(*slot) bool) *Response {
	r := &Response{Message: Message{Role: RoleAssistant}}
	for i := range a.slots {
		if s := &a.slots[i]; keep(s) {
			if p := s.build(); p != nil {
				r.Message.Parts = append(r.Message.Parts, p)
			}
		}
	}
	return r
}

func (s *slot) ended() bool {
	if s.kind != EventToolCall {
		return true
	}
	call, ok := s.build().(ToolCall)
	if !ok || s.part == nil && s.text.Len() == 0 {
		return false
	}
	return strings.HasPrefix(strings.TrimSpace(call.Arguments), "{") && json.Valid([]byte(call.Arguments))
}

// build makes the part of a slot, nil if there is nothing in it.
func (s *slot) build() Part {
	text := s.text.String()
	switch p := s.part.(type) {
	case nil:
		return s.buildDeltas(text)
	case Text:
		if p.Text == "" {
			p.Text = text
		}
		return p
	case Reasoning:
		if p.Text == "" {
			p.Text = text
		}
		return p
	case ToolCall:
		return s.buildCall(p, text)
	default:
		return p
	}
}

func (s *slot) buildDeltas(text string) Part {
	switch s.kind {
	case EventText:
		return nonEmpty(text, Text{Text: text})
	case EventReasoning:
		return nonEmpty(text, Reasoning{Text: text})
	case EventToolCall:
		return s.buildCall(ToolCall{}, text)
	default:
		return nil
	}
}

func (s *slot) buildCall(c ToolCall, text string) Part {
	if c.ID == "" {
		c.ID = s.id
	}
	if c.Name == "" {
		c.Name = s.name
	}
	if c.Arguments == "" {
		c.Arguments = text
	}
	if strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}"
	}
	return c
}

func nonEmpty(text string, p Part) Part {
	if text == "" {
		return nil
	}
	return p
}
