package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

// answer gathers one answer from its pieces: whole messages or deltas, which differ in size only.
type answer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	model    llm.ModelRef
	names    wirename.Names
	warnings []llm.Warning
	wire     *wire
	sink     llm.Sink // nil: nobody listens

	acc       llm.Accumulator
	parts     int // indices given out
	text      int // index of the text part + 1
	reasoning int // index of the reasoning part + 1
	calls     calls
	refusal   strings.Builder
	legacy    *legacyCall
	audio     *spoken
	size      int  // of the content so far; see grow
	late      bool // what comes now comes after the end of ctx

	id, version string
	usage       llm.Usage
	finish      string          // the last finish reason
	ended       bool            // no content came since
	vague       bool            // content came behind a finish reason once, so those of this stream say less
	problem     json.RawMessage // an error beside or inside the choices
	filters     json.RawMessage // the content filter's verdict on the first choice
}

// spoken is an answer as sound.
type spoken struct {
	id               string
	expires          int64
	data, transcript strings.Builder
}

// legacyCall is a call in the form from before tools.
type legacyCall struct{ name, arguments strings.Builder }

// head takes what identifies an answer.
func (a *answer) head(id, version string) {
	a.id, a.version = cmp.Or(a.id, id), cmp.Or(a.version, version)
}

// take adds one chunk, whose text is raw. Its error is the sink's, or says that the answer is beyond bounds.
func (a *answer) take(c *content, raw []byte) error {
	a.count(c.Usage)
	if says(c.Error) {
		a.problem = c.Error
	}
	ch := &c.Choices[0]
	if ch.Index != 0 {
		if ch = firstChoice(raw); ch == nil {
			return nil
		}
	}
	if says(ch.Error) {
		a.problem = ch.Error
	}
	before := a.size
	if err := a.piece(&ch.Delta, false); err != nil {
		return err
	}
	if a.parts == 0 && a.refusal.Len() == 0 && a.legacy == nil && a.audio == nil { // some servers repeat the whole message at the end of a stream
		if err := a.piece(&ch.Message, true); err != nil {
			return err
		}
	}
	a.finished(ch.FinishReason, a.size > before)
	if a.finish == "content_filter" && a.filters == nil {
		a.filters = filterResults(raw)
	}
	return nil
}

// finished notes the finish reason of a chunk. Some servers put one into every chunk, so it ends the answer only
// if no content comes behind it.
func (a *answer) finished(reason string, content bool) {
	a.finish = cmp.Or(reason, a.finish)
	a.vague = a.vague || a.ended && content
	a.ended = reason != "" || a.ended && !content
}

// says reports whether an error member says something.
func says(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	default:
		return true
	}
}

// piece adds a delta, or a whole message.
func (a *answer) piece(d *delta, whole bool) error {
	if thought := cmp.Or(d.ReasoningContent, d.Reasoning); thought != "" {
		if err := a.emit(llm.Event{Kind: llm.EventReasoning, Index: a.place(&a.reasoning), Delta: thought}); err != nil {
			return err
		}
	}
	if d.Content != "" {
		if err := a.emit(llm.Event{Kind: llm.EventText, Index: a.place(&a.text), Delta: string(d.Content)}); err != nil {
			return err
		}
	}
	if d.ToolCalls.tooMany {
		return bounds.TooManyCalls
	}
	for i := range d.ToolCalls.list {
		if err := a.callPiece(&d.ToolCalls.list[i], whole); err != nil {
			return err
		}
	}
	return a.held(d)
}

// held keeps the pieces of what comes as one opaque part at the end.
func (a *answer) held(d *delta) error {
	if d.Refusal != "" {
		if err := a.grow(len(d.Refusal)); err != nil {
			return err
		}
		a.refusal.WriteString(d.Refusal)
	}
	if d.Audio != nil {
		if err := a.hear(d.Audio); err != nil {
			return err
		}
	}
	f := d.FunctionCall
	if f == nil {
		return nil
	}
	if err := a.grow(len(f.Name) + len(f.Arguments)); err != nil {
		return err
	}
	if a.legacy == nil {
		a.legacy = new(legacyCall)
	}
	a.legacy.name.WriteString(f.Name)
	a.legacy.arguments.WriteString(string(f.Arguments))
	return nil
}

// hear keeps a piece of sound. Its base64 may be cut anywhere, so nothing is decoded.
func (a *answer) hear(d *audioDelta) error {
	if err := a.grow(len(d.Data) + len(d.Transcript)); err != nil {
		return err
	}
	if a.audio == nil {
		a.audio = new(spoken)
	}
	a.audio.id, a.audio.expires = cmp.Or(a.audio.id, d.ID), cmp.Or(d.ExpiresAt, a.audio.expires)
	a.audio.data.WriteString(d.Data)
	a.audio.transcript.WriteString(d.Transcript)
	return nil
}

// place returns the index of a part, the next free one when it appears.
func (a *answer) place(slot *int) int {
	if *slot == 0 {
		a.parts++
		*slot = a.parts
	}
	return *slot - 1
}

// emit hands one event to the sink, and keeps it if it was accepted.
func (a *answer) emit(e llm.Event) error {
	if err := a.grow(len(e.Delta)); err != nil {
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

// count keeps the last usage that has numbers: some servers send zeros first, others a running count. No count
// is negative, whatever the server says.
func (a *answer) count(u *usage) {
	if u == nil || u.Prompt <= 0 && u.Completion <= 0 {
		return
	}
	a.usage = llm.Usage{
		Input: max(u.Prompt, 0), Output: max(u.Completion, 0),
		CacheRead: max(u.PromptDetails.Cached, 0), CacheWrite: max(u.PromptDetails.Writes, 0),
		Reasoning: max(u.CompletionDetails.Reasoning, 0), Reported: true,
	}
	if a.usage.Reasoning > 0 && u.Total-u.Prompt-u.Completion == a.usage.Reasoning {
		a.usage.Output += a.usage.Reasoning // Grok counts it beside the output, as its total shows
	}
}

// response is the whole answer, or the error that its finish stands for.
func (a *answer) response() (*llm.Response, error) {
	if a.finish == "content_filter" {
		return a.filtered()
	}
	if err := a.closeCalls(); err != nil {
		return a.partial(), err
	}
	a.putOpaque()
	r := a.acc.Response()
	if len(r.Message.Parts) == 0 && a.finish != "length" {
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"})
	}
	a.describe(r)
	r.Finish = a.finishReason(r)
	return r, nil
}

// putOpaque adds the parts that no event builds.
func (a *answer) putOpaque() {
	if a.refusal.Len() > 0 {
		data, _ := json.Marshal(a.refusal.String()) // a string has no way to fail
		a.acc.Put(a.parts, llm.Opaque{Type: RefusalType, Data: data})
		a.parts++
	}
	if a.legacy != nil {
		data, _ := json.Marshal(functionCall{ // strings too
			Name: a.legacy.name.String(), Arguments: a.legacy.arguments.String(),
		})
		a.acc.Put(a.parts, llm.Opaque{Type: FunctionCallType, Data: data})
		a.parts++
	}
	if s := a.audio; s != nil {
		data, _ := json.Marshal(audioDelta{ID: s.id, Data: s.data.String(), Transcript: s.transcript.String(), ExpiresAt: s.expires})
		a.acc.Put(a.parts, llm.Opaque{Type: AudioType, Data: data})
		a.parts++
	}
}

// finishReason puts the finish into the SDK's words. A call makes it tool_call whatever the provider says:
// with a named tool choice OpenAI says stop.
func (a *answer) finishReason(r *llm.Response) llm.FinishReason {
	calls := a.legacy != nil || len(a.calls.list) > 0
	switch a.finish {
	case "length":
		return llm.FinishLength
	case "stop", "tool_calls", "function_call", "":
		switch {
		case calls:
			return llm.FinishToolCall
		case a.refusal.Len() > 0 && r.Text() == "", a.finish == "tool_calls", a.finish == "function_call":
			return llm.FinishOther
		default:
			return llm.FinishStop
		}
	default:
		return llm.FinishOther
	}
}

// describe fills in everything but the message's parts and the finish.
func (a *answer) describe(r *llm.Response) {
	r.ID, r.ModelVersion, r.RawFinish = a.wire.secret.Clean(a.id), a.wire.secret.Clean(a.version), a.wire.secret.Clean(a.finish)
	r.Model, r.Message.From, r.Usage, r.Warnings = a.model, a.model, a.usage, a.warnings
	r.RateLimit = rateLimit(a.wire.Header())
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
