package llm

import (
	"cmp"
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
	text     []byte // no strings.Builder: slots move when one is added
	part     Part
}

// Add folds one event in. Events of unknown kinds are skipped, and so are indices that never come. The
// Response of an [EventDone] replaces everything.
func (a *Accumulator) Add(e Event) {
	switch e.Kind {
	case EventText, EventReasoning:
		if e.Delta != "" {
			a.slot(e.Index, e.Kind).add(e.Delta)
		}
	case EventToolCall:
		s := a.slot(e.Index, EventToolCall)
		if e.ID != "" {
			s.id = e.ID
		}
		if e.Name != "" {
			s.name = e.Name
		}
		s.add(e.Delta)
	case EventToolArguments:
		if e.Delta != "" { // an empty one must not begin a call
			a.slot(e.Index, EventToolCall).add(e.Delta)
		}
	case EventDone:
		if e.Response != nil {
			a.done = e.Response.clone()
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
	end := len(a.slots) // behind all slots of this index; a stream adds to the last one
	for end > 0 && a.slots[end-1].index > index {
		end--
	}
	for i := end - 1; i >= 0 && a.slots[i].index == index; i-- {
		if a.slots[i].kind == kind {
			return &a.slots[i]
		}
	}
	a.slots = slices.Insert(a.slots, end, slot{index: index, kind: kind})
	return &a.slots[end]
}

func (s *slot) add(delta string) { s.text = append(s.text, delta...) }

// Response returns what was folded so far as a fresh Response that shares nothing with the Accumulator.
// Empty parts are left out; a tool call without arguments has "{}".
func (a *Accumulator) Response() *Response {
	if a.done != nil {
		return a.done.clone()
	}
	return a.fold(func(*slot) bool { return true })
}

// Partial is Response without the tool calls that had not ended, for a stream that broke off: nobody may
// run half a call. A call has ended when its arguments are one whole JSON object. It is nil when nothing is
// left. After an [EventDone] it is Response: nothing broke off.
func (a *Accumulator) Partial() *Response {
	if a.done != nil {
		return a.done.clone()
	}
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

// ended reports whether nothing more belongs to the slot; only of a tool call that can be told.
func (s *slot) ended() bool {
	if s.kind != EventToolCall {
		return true
	}
	if s.part == nil && len(s.text) == 0 {
		return false
	}
	call, _ := s.build().(ToolCall)
	return wholeObject(call.Arguments)
}

// wholeObject reports whether arguments is one complete JSON object.
func wholeObject(arguments string) bool {
	return strings.HasPrefix(strings.TrimSpace(arguments), "{") && json.Valid([]byte(arguments))
}

// build makes the part of a slot, nil if there is nothing in it. The part is a fresh one.
func (s *slot) build() Part {
	text := string(s.text)
	switch p := clonePart(s.part).(type) {
	case nil:
		return s.buildDeltas(text)
	case Text:
		p.Text = cmp.Or(p.Text, text)
		return unless(p.Text == "" && len(p.Signature) == 0, p)
	case Reasoning:
		p.Text = cmp.Or(p.Text, text)
		return unless(p.Text == "" && len(p.Signature) == 0, p)
	case ToolCall:
		return s.buildCall(p, text)
	default:
		return p
	}
}

func (s *slot) buildDeltas(text string) Part {
	switch s.kind {
	case EventText:
		return unless(text == "", Text{Text: text})
	case EventReasoning:
		return unless(text == "", Reasoning{Text: text})
	case EventToolCall:
		return s.buildCall(ToolCall{}, text)
	default:
		return nil
	}
}

func (s *slot) buildCall(c ToolCall, text string) Part {
	c.ID, c.Name, c.Arguments = cmp.Or(c.ID, s.id), cmp.Or(c.Name, s.name), cmp.Or(c.Arguments, text)
	if strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}"
	}
	return c
}

func unless(empty bool, p Part) Part {
	if empty {
		return nil
	}
	return p
}
