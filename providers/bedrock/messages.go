package bedrock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

func at(message, part int) string { return fmt.Sprintf("messages[%d].parts[%d]", message, part) }

// blank reports whether the service would refuse a text for being empty.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// call is a call of the history.
type call struct {
	id    string // on the wire
	order int
}

// The roles on the wire; results of tools are the user's.
const (
	user      = "user"
	assistant = "assistant"
)

// messages turns the messages into turns that alternate and begin with the user.
func (e *encoder) messages() error {
	e.body.Messages = make([]message, 0, len(e.req.Messages))
	for i := range e.req.Messages {
		m := &e.req.Messages[i]
		role := user
		if m.Role == llm.RoleAssistant {
			role = assistant
		}
		for j, p := range m.Parts {
			b, err := e.part(m, p, at(i, j))
			if err != nil {
				return err
			}
			if b != nil {
				e.add(role, b)
			}
		}
	}
	if len(e.body.Messages) == 0 {
		return llm.Invalid("messages", "hold no content that can be sent", "give at least one message with a text that is not blank")
	}
	for i := range e.body.Messages {
		if m := &e.body.Messages[i]; m.Role == user {
			e.settle(m)
		}
	}
	if e.p.family.parts() {
		e.setResultsApart()
	}
	e.trimEnd()
	return nil
}

// add appends a block to the turn of its role. A cache point needs something in front of it.
func (e *encoder) add(role string, b any) {
	list := e.body.Messages
	n := len(list)
	if n > 0 && list[n-1].Role == role {
		list[n-1].Content = append(list[n-1].Content, b)
		return
	}
	if isMark(b) {
		return
	}
	if n == 0 && role == assistant {
		list = append(list, message{Role: user, Content: []any{&block{Text: "(The conversation begins.)"}}})
		e.warn("changed", "messages", "Converse wants the user to begin; a short text was put in front")
	}
	e.body.Messages = append(list, message{Role: role, Content: []any{b}})
}

// settle puts the results of tools in front, in the order of their calls, and gives a document the text that the
// service wants beside it.
func (e *encoder) settle(m *message) {
	key := func(v any) int {
		if b, ok := v.(*block); ok && b.ToolResult != nil {
			return b.ToolResult.order
		}
		return math.MaxInt
	}
	slices.SortStableFunc(m.Content, func(a, b any) int { return cmp.Compare(key(a), key(b)) })
	document, text := false, false
	for _, v := range m.Content {
		if b, ok := v.(*block); ok {
			document = document || b.Document != nil
			text = text || b.Text != ""
		}
	}
	if document && !text {
		m.Content = append(m.Content, &block{Text: "See the attached document."})
		e.warn("changed", "messages", "Converse wants a text beside a document; a short one was added")
	}
}

// setResultsApart puts a short answer between the results of tools and what the user says behind them: some models
// refuse both in one turn, and none takes two turns of the user in a row.
func (e *encoder) setResultsApart() {
	var list []message
	for _, m := range e.body.Messages {
		n := slices.IndexFunc(m.Content, func(v any) bool { b, ok := v.(*block); return !ok || b.ToolResult == nil })
		if m.Role != user || n <= 0 {
			list = append(list, m)
			continue
		}
		list = append(list, message{Role: user, Content: m.Content[:n]},
			message{Role: assistant, Content: []any{&block{Text: "I have the results."}}},
			message{Role: user, Content: m.Content[n:]})
		e.warn("changed", "messages", "the model takes results of tools only in a turn of their own; a short answer was put behind them")
	}
	e.body.Messages = list
}

// trimEnd takes the blanks from the end of a turn that the model shall continue, and the turn if nothing is left.
func (e *encoder) trimEnd() {
	last := &e.body.Messages[len(e.body.Messages)-1]
	if b, ok := last.Content[len(last.Content)-1].(*block); ok && last.Role == assistant && b.Text != "" {
		b.Text = strings.TrimRightFunc(b.Text, unicode.IsSpace)
	}
}

// part is the block of one part, nil for a part that is not sent.
func (e *encoder) part(m *llm.Message, p llm.Part, field string) (any, error) {
	ours := m.From.Provider == providerName && e.p.sameFamily(m.From.Model)
	if m.Role == llm.RoleAssistant && !ours && signed(p) {
		e.leftOut()
	}
	switch p := p.(type) {
	case llm.Text:
		if !blank(p.Text) {
			return &block{Text: p.Text}, nil
		}
	case llm.Media:
		if m.Role == llm.RoleAssistant {
			e.warnOnce("dropped", field, "Converse takes no media from an assistant")
			return nil, nil
		}
		return e.media(field, &p)
	case llm.Reasoning:
		if ours && len(p.Signature) > 0 {
			return &block{Reasoning: &reasoning{Text: reasoningText{Text: p.Text, Signature: string(p.Signature)}}}, nil
		}
	case llm.ToolCall:
		return e.toolUse(m, &p, field), nil
	case llm.ToolResult:
		return e.toolResult(field, &p)
	case llm.CachePoint:
		if e.p.caches() {
			return cacheMark(), nil
		}
		e.cacheless(field)
	case llm.Opaque:
		switch {
		case p.Type == BlockType && isObject(p.Data) && (ours || m.Role != llm.RoleAssistant):
			return p.Data, nil
		case !ours || p.Type != CitationsType && p.Type != FieldsType: // those are about an answer, not of it
			e.leftOut()
		}
	default:
	}
	return nil, nil
}

// signed reports whether a part is reasoning or has a signature, both of which are for their maker alone.
func signed(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Reasoning:
		return true
	case llm.Text:
		return len(p.Signature) > 0
	case llm.ToolCall:
		return len(p.Signature) > 0
	default:
		return false
	}
}

func (e *encoder) toolUse(m *llm.Message, c *llm.ToolCall, field string) *block {
	id := c.ID
	if m.From.Provider != providerName { // its own ids may be anything, and it knows them
		id = wirename.Of(id)
	}
	if e.calls == nil {
		e.calls = make(map[string]call)
	}
	e.calls[c.ID] = call{id: id, order: len(e.calls)}
	if !slices.Contains(e.called, c.Name) {
		e.called = append(e.called, c.Name)
	}
	return &block{ToolUse: &toolUse{ID: id, Name: e.names.Wire(c.Name), Input: e.input(c.Arguments, field)}}
}

// input is the arguments of a call as an object, whatever the model wrote.
func (e *encoder) input(arguments, field string) json.RawMessage {
	if blank(arguments) {
		return json.RawMessage("{}")
	}
	raw := json.RawMessage(arguments)
	valid := json.Valid(raw)
	if valid && isObject(raw) {
		return raw
	}
	e.warnOnce("changed", field+".arguments", "they are no JSON object, which Converse wants; sent inside of one")
	var value any = arguments
	if valid {
		value = raw
	}
	wrapped, _ := marshal(map[string]any{"arguments": value}) // text, or JSON that was looked at
	return wrapped
}

func (e *encoder) toolResult(field string, r *llm.ToolResult) (*block, error) {
	c, ok := e.calls[r.CallID]
	if !ok { // without its call: the service will say so
		c = call{id: wirename.Of(r.CallID), order: len(e.calls)}
	}
	out := &toolResult{ID: c.id, order: c.order}
	for i, p := range r.Parts {
		b, err := e.resultPart(p, fmt.Sprintf("%s.parts[%d]", field, i))
		if err != nil {
			return nil, err
		}
		if b != nil {
			out.Content = append(out.Content, b)
		}
	}
	if len(out.Content) == 0 {
		out.Content = []any{&block{Text: "(no output)"}}
	}
	if r.IsError && e.p.family.tellsErrors() {
		out.Status = "error"
	} else if r.IsError {
		out.Content = append([]any{&block{Text: "Error:"}}, out.Content...)
	}
	return &block{ToolResult: out}, nil
}

// resultPart is the block of a part of a tool's result.
func (e *encoder) resultPart(p llm.Part, field string) (any, error) {
	switch p := p.(type) {
	case llm.Text:
		if !blank(p.Text) {
			return &block{Text: p.Text}, nil
		}
	case llm.Media:
		b, err := e.media(field, &p)
		if err == nil && b.Audio != nil {
			return nil, llm.Unsupported(field, "is audio in the result of a tool", "give it to the model in a user's message")
		}
		return b, err
	case llm.Opaque:
		if p.Type == BlockType && isObject(p.Data) {
			return p.Data, nil
		}
		e.leftOut()
	default:
	}
	return nil, nil
}
