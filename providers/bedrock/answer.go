package bedrock

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

// answer gathers one answer from its pieces: whole blocks or deltas, which differ in size only.
type answer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	model    llm.ModelRef
	enc      *encoded
	warnings []llm.Warning
	wire     *wire
	sink     llm.Sink // nil: nobody listens

	acc     llm.Accumulator
	content bounds.Content
	blocks  pieces
	parts   int             // indices given out
	ids     map[string]bool // of calls
	calls   int             // begun
	more    int             // left out

	usage  llm.Usage
	finish string
	vague  bool // content came behind a messageStop once, so those of this stream say less
	told   bool // the service said what went wrong
	trace  json.RawMessage
	fields json.RawMessage
}

// emit hands one event to the sink, and keeps it if it was accepted.
func (a *answer) emit(e llm.Event) error {
	if err := a.content.Grow(len(e.Delta)); err != nil {
		return err
	}
	if a.sink != nil {
		if err := a.sink(e); err != nil {
			return sinkError{err}
		}
	}
	a.acc.Add(e)
	return nil
}

func (a *answer) text(vendor int, s string) error {
	if s == "" {
		return nil
	}
	p, err := a.piece(vendor, asText)
	if err != nil {
		return err
	}
	return a.emit(llm.Event{Kind: llm.EventText, Index: p.index, Delta: s})
}

func (a *answer) thought(vendor int, text, signature string) error {
	if text == "" && signature == "" {
		return nil
	}
	p, err := a.piece(vendor, asReasoning)
	if err != nil {
		return err
	}
	if err := a.hold(&p.signature, signature); err != nil || text == "" {
		return err
	}
	return a.emit(llm.Event{Kind: llm.EventReasoning, Index: p.index, Delta: text})
}

// call begins a call. One that the service makes itself is nobody else's to run: it becomes an opaque part.
func (a *answer) call(vendor int, c *replyCall) error {
	if !c.ours() {
		return a.open(vendor, "toolUse", map[string]any{"toolUseId": c.ID, "name": c.Name, "type": c.Type}, len(c.ID)+len(c.Name)+len(c.Type))
	}
	switch {
	case c.ID == "" || c.Name == "":
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "tool_call_without_name"}
	case a.calls+a.more == bounds.Calls:
		return bounds.TooManyCalls
	}
	p, err := a.begin(vendor, asCall)
	if err != nil {
		return err
	}
	if a.calls > 0 && a.enc.single {
		a.parts-- // it is not one
		a.more++
		p.out = true
		return nil
	}
	a.calls++
	if err := a.content.Grow(len(c.ID) + len(c.Name)); err != nil {
		return err
	}
	return a.emit(llm.Event{Kind: llm.EventToolCall, Index: p.index, ID: a.id(c.ID), Name: a.enc.names.Back(c.Name)})
}

// id is the id of a call, or one of our own if another call has that: a result names only the id.
func (a *answer) id(received string) string {
	id := received
	if a.ids[id] {
		id = fmt.Sprintf("tooluse_%016x%08x", rand.Uint64(), rand.Uint32())
	}
	if a.ids == nil {
		a.ids = make(map[string]bool, 1)
	}
	a.ids[id] = true
	return id
}

// arguments continues the call of a block.
func (a *answer) arguments(vendor int, s string) error {
	p := a.blocks.inputs[vendor]
	switch {
	case p == nil:
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "tool_arguments_without_call"}
	case p.sort == asBlock:
		return a.hold(&p.input, s)
	case p.out || s == "":
		return nil
	default:
		return a.emit(llm.Event{Kind: llm.EventToolArguments, Index: p.index, Delta: s})
	}
}

// cited adds citations, which are the elements of a JSON array.
func (a *answer) cited(vendor int, elements []byte) error {
	if len(elements) == 0 {
		return nil
	}
	p, err := a.piece(vendor, asCitations)
	if err != nil {
		return err
	}
	return a.join(p, elements)
}

// image takes an image or a piece of one: in a stream the format comes first.
func (a *answer) image(vendor int, i *replyImage) error {
	p, err := a.piece(vendor, asImage)
	if err != nil {
		return err
	}
	p.outer = cmp.Or(i.Format, p.outer)
	return a.hold(&p.input, string(i.Source.Bytes))
}

// raw keeps a block that llm has no part for.
func (a *answer) raw(data json.RawMessage) error {
	if err := a.content.Grow(len(data)); err != nil {
		return err
	}
	a.acc.Put(a.parts, llm.Opaque{Type: BlockType, Data: data})
	a.parts++
	return nil
}

// ended takes what comes at the end, the usage in llm's terms: Bedrock counts what the cache read and wrote apart from the input.
func (a *answer) ended(e *end) {
	if u := e.Usage; u != nil {
		a.usage = llm.Usage{
			Output: bounds.Count(u.Output), CacheRead: bounds.Count(u.CacheRead), CacheWrite: bounds.Count(u.CacheWrite), Reported: true,
		}
		a.usage.Input = bounds.Count(u.Input) + a.usage.CacheRead + a.usage.CacheWrite
	}
	if len(e.Trace) > 0 {
		a.trace = e.Trace
	}
	if len(e.Fields) > 0 {
		a.fields = e.Fields
	}
}

// response is the whole answer, or the error that its stop reason stands for.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "guardrail_intervened", "content_filtered":
		return a.fail(&llm.Error{Kind: llm.ErrContentFiltered, Code: a.finish, Filtered: filteredBy(a.trace)})
	case "malformed_model_output", "malformed_tool_use":
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: a.finish})
	case "model_context_window_exceeded":
		return a.fail(&llm.Error{Kind: llm.ErrContextTooLong, Code: a.finish})
	}
	if len(a.fields) > 0 && string(a.fields) != "null" {
		a.acc.Put(a.parts, llm.Opaque{Type: FieldsType, Data: a.fields})
	}
	a.put()
	r := a.acc.Response()
	if len(r.Message.Parts) == 0 && a.finish != "max_tokens" {
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"})
	}
	if a.more > 0 {
		a.warnings = append(a.warnings[:len(a.warnings):len(a.warnings)], llm.Warning{
			Code: "changed", Field: "tool_choice.single",
			Message: itoa(a.more) + " further tool calls were left out: Converse cannot be told to make one only",
		})
	}
	a.describe(r)
	r.Finish = a.finishReason()
	return r, nil
}

// finishReason puts the stop reason into the SDK's words.
func (a *answer) finishReason() llm.FinishReason {
	switch a.finish {
	case "max_tokens":
		return llm.FinishLength
	case "end_turn", "stop_sequence", "tool_use":
		if a.calls > 0 {
			return llm.FinishToolCall
		}
		if a.finish != "tool_use" {
			return llm.FinishStop
		}
	}
	return llm.FinishOther
}

// describe fills in everything but the message's parts and the finish.
func (a *answer) describe(r *llm.Response) {
	r.ID = a.wire.Header().Get("X-Amzn-Requestid")
	r.Model, r.Message.From, r.ModelVersion = a.model, a.model, routedTo(a.trace)
	r.RawFinish, r.Usage, r.Warnings = a.finish, a.usage, a.warnings
	a.wire.secret.CleanResponse(r)
}

// partial is what had arrived when the answer failed: nil if that was nothing at all.
func (a *answer) partial() *llm.Response {
	r := a.acc.Partial()
	if r == nil {
		if !a.usage.Reported {
			return nil
		}
		r = &llm.Response{Message: llm.Message{Role: llm.RoleAssistant}}
	}
	a.describe(r)
	return r
}
