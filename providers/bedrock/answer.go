package bedrock

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

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

	acc    llm.Accumulator
	parts  int // indices given out
	pieces []*piece
	calls  int // begun
	more   int // left out

	usage  llm.Usage
	finish string
	trace  json.RawMessage
	fields json.RawMessage
}

// sort is what a block turns into.
type sort int

const (
	asText sort = iota
	asReasoning
	asCall
	asCitations
	asImage
	asBlock // opaque
)

// piece is a part in the making: a block of the wire, or one side of a block that has two.
type piece struct {
	vendor int // index on the wire
	sort   sort
	index  int  // in the message
	out    bool // left out

	signature []byte
	redacted  []byte
	list      []json.RawMessage // citations, or the content of a result
	block     map[string]any    // of asBlock: what comes inside of its outer member
	outer     string            // the member, or the format of an image
	input     []byte            // of a call that the service makes, or of an image
}

// piece finds or begins the piece of a block.
func (a *answer) piece(vendor int, s sort) *piece {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		if p := a.pieces[i]; p.vendor == vendor && p.sort == s {
			return p
		}
	}
	return a.begin(vendor, s)
}

func (a *answer) begin(vendor int, s sort) *piece {
	p := &piece{vendor: vendor, sort: s, index: a.parts}
	a.parts++
	a.pieces = append(a.pieces, p)
	return p
}

// emit hands one event to the sink, and keeps it if it was accepted.
func (a *answer) emit(e llm.Event) error {
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
	return a.emit(llm.Event{Kind: llm.EventText, Index: a.piece(vendor, asText).index, Delta: s})
}

func (a *answer) thought(vendor int, text, signature string) error {
	if text == "" && signature == "" {
		return nil
	}
	p := a.piece(vendor, asReasoning)
	p.signature = append(p.signature, signature...)
	if text == "" {
		return nil
	}
	return a.emit(llm.Event{Kind: llm.EventReasoning, Index: p.index, Delta: text})
}

// call begins a call. One that the service makes itself is nobody else's to run: it becomes an opaque part.
func (a *answer) call(vendor int, c *replyCall) error {
	if c.Type != "" && c.Type != "tool_use" {
		p := a.begin(vendor, asBlock)
		p.outer, p.block = "toolUse", map[string]any{"toolUseId": c.ID, "name": c.Name, "type": c.Type}
		return nil
	}
	if c.ID == "" || c.Name == "" {
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "tool_call_without_name"}
	}
	if a.calls > 0 && a.enc.single {
		a.more++
		a.pieces = append(a.pieces, &piece{vendor: vendor, sort: asCall, out: true})
		return nil
	}
	a.calls++
	p := a.begin(vendor, asCall)
	return a.emit(llm.Event{Kind: llm.EventToolCall, Index: p.index, ID: c.ID, Name: a.enc.names.back(c.Name)})
}

// arguments continues the call of a block.
func (a *answer) arguments(vendor int, s string) error {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		p := a.pieces[i]
		switch {
		case p.vendor != vendor:
		case p.sort == asCall && (p.out || s == ""):
			return nil
		case p.sort == asCall:
			return a.emit(llm.Event{Kind: llm.EventToolArguments, Index: p.index, Delta: s})
		case p.sort == asBlock:
			p.input = append(p.input, s...)
			return nil
		}
	}
	return &llm.Error{Kind: llm.ErrBadOutput, Code: "tool_arguments_without_call"}
}

func (a *answer) cited(vendor int, citations ...json.RawMessage) {
	if len(citations) > 0 {
		p := a.piece(vendor, asCitations)
		p.list = append(p.list, citations...)
	}
}

// image takes an image or a piece of one: in a stream the format comes first.
func (a *answer) image(vendor int, i *replyImage) {
	p := a.piece(vendor, asImage)
	p.outer = cmp.Or(i.Format, p.outer)
	p.input = append(p.input, i.Source.Bytes...)
}

// raw keeps a block that llm has no part for.
func (a *answer) raw(data json.RawMessage) {
	a.acc.Put(a.parts, llm.Opaque{Type: BlockType, Data: data})
	a.parts++
}

// ended takes what comes at the end, the usage in llm's terms: Bedrock counts what the cache read and wrote apart from the input.
func (a *answer) ended(e *end) {
	if u := e.Usage; u != nil {
		a.usage = llm.Usage{
			Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output,
			CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reported: true,
		}
	}
	if len(e.Trace) > 0 {
		a.trace = e.Trace
	}
	if len(e.Fields) > 0 {
		a.fields = e.Fields
	}
}

// put adds what no event brings: signatures, citations, opaque parts.
func (a *answer) put() {
	for _, p := range a.pieces {
		switch {
		case p.sort == asReasoning && len(p.signature) > 0:
			a.acc.Put(p.index, llm.Reasoning{Signature: p.signature})
		case p.sort == asCitations:
			data, _ := json.Marshal(p.list) // it was decoded
			a.acc.Put(p.index, llm.Opaque{Type: CitationsType, Data: data})
		case p.sort == asImage && len(p.input) > 0:
			a.acc.Put(p.index, llm.Media{MediaType: "image/" + p.outer, Data: p.input})
		case p.sort == asBlock:
			if data := p.blockData(); data != nil {
				a.acc.Put(p.index, llm.Opaque{Type: BlockType, Data: data})
			}
		}
	}
}

// blockData puts an opaque block together again, nil if its pieces are no JSON.
func (p *piece) blockData() json.RawMessage {
	switch p.outer {
	case "toolUse":
		if len(bytes.TrimSpace(p.input)) == 0 {
			p.input = []byte("{}")
		}
		p.block["input"] = json.RawMessage(p.input)
	case "toolResult":
		if p.list == nil {
			p.list = []json.RawMessage{}
		}
		p.block["content"] = p.list
	default:
		p.block["redactedContent"] = p.redacted
	}
	data, err := marshal(map[string]any{p.outer: p.block})
	if err != nil {
		return nil
	}
	return data
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
