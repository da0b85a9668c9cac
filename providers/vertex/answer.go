package vertex

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
)

// How long a stream may take to end after its finish reason. With the count of tokens there, which belongs to the
// last event, only the end is missing: it is usually there already, and without it the connection is lost. Without
// a count there may be more: servers have been seen to write a finish reason into every event.
const (
	endGrace   = 10 * time.Millisecond
	usageGrace = time.Second
)

// answer gathers one answer from its pieces: whole contents or events of a stream, which differ in size only.
type answer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	model    llm.ModelRef
	gemini   bool // the numbers of enums are the Gemini API's
	names    names
	warnings []llm.Warning
	sink     llm.Sink // nil: nobody listens
	reply    gemini.Reply

	acc    llm.Accumulator
	parts  int           // indices given out
	open   int           // index of the text or reasoning that goes on; -1: none
	kind   llm.EventKind // of the open part
	calls  int
	extras [3]json.RawMessage // grounding, citations, URL context

	id, version string
	usage       llm.Usage
	finish      string // as the service wrote it
	message     string // why it finished so
	blocked     string // why the prompt was blocked
	ratings     []gemini.SafetyRating
}

// read takes the whole reply.
func (a *answer) read() (*llm.Response, error) {
	defer a.reply.Close()
	for {
		r, err := a.reply.Next()
		if err != nil {
			return a.over(err)
		}
		if a.ctx.Err() != nil && !a.complete() && a.sink != nil {
			return a.fail(ended(a.ctx, false))
		}
		if err := a.take(r); err != nil {
			return a.partial(), err
		}
		switch {
		case !a.complete():
		case a.usage.Reported || a.blocked != "":
			a.reply.Linger(endGrace)
		default:
			a.reply.Linger(usageGrace)
		}
	}
}

// complete reports whether the end mark was seen.
func (a *answer) complete() bool { return a.finish != "" || a.blocked != "" }

// over ends a reply that brings nothing more. Whether it is complete is decided here and nowhere else.
func (a *answer) over(err error) (*llm.Response, error) {
	var f *gemini.Failure
	broken := errors.As(err, &f)
	switch {
	case broken && f.Reported:
		return a.fail(f.Err)
	case a.complete(), !broken && a.sink == nil:
		return a.response()
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, broken && f.Err.NotSent))
	case broken:
		return a.fail(f.Err)
	default:
		return a.fail(&llm.Error{Kind: llm.ErrInterrupted, Code: "no_end_mark", Err: io.EOF})
	}
}

// take adds one piece. Its error is the sink's.
func (a *answer) take(r *gemini.Response) error {
	a.id, a.version = cmp.Or(a.id, r.ResponseID), cmp.Or(a.version, r.ModelVersion)
	a.count(r.Usage)
	if f := r.PromptFeedback; f != nil && named(f.BlockReason) {
		a.blocked, a.message, a.ratings = string(f.BlockReason), f.BlockReasonMessage, f.SafetyRatings
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Index != 0 || i > 0 {
			continue // more than one answer was asked for, through Extra: the first is taken
		}
		for j := range c.Content.Parts {
			if err := a.part(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		for k, raw := range []json.RawMessage{c.Grounding, c.Citations, c.URLContext} {
			if gemini.Says(raw) {
				a.extras[k] = raw
			}
		}
		if named(c.FinishReason) {
			a.finish, a.message, a.ratings = string(c.FinishReason), c.FinishMessage, c.SafetyRatings
		}
	}
	return nil
}

// named is false for the values that stand for none.
func named(e gemini.Enum) bool {
	switch e {
	case "", "0", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED":
		return false
	default:
		return true
	}
}

// part adds one part.
func (a *answer) part(p *gemini.Part) error {
	switch {
	case p.FunctionCall != nil:
		return a.call(p)
	case p.InlineData != nil:
		a.put(llm.Media{MediaType: p.InlineData.MIMEType, Data: p.InlineData.Data})
	case p.FileData != nil:
		a.put(llm.Media{MediaType: p.FileData.MIMEType, URI: p.FileData.URI})
	case p.Raw != nil:
		a.put(llm.Opaque{Type: PartType, Data: p.Raw})
	case p.Thought:
		return a.text(llm.EventReasoning, p)
	default:
		return a.text(llm.EventText, p)
	}
	return nil
}

// put adds a part that no event builds.
func (a *answer) put(p llm.Part) {
	a.acc.Put(a.parts, p)
	a.parts++
	a.open = -1
}

// text adds a piece of text or reasoning. It belongs to the part in front of it if that is of the same kind and has
// no signature yet: a signature is for what stands before it.
func (a *answer) text(kind llm.EventKind, p *gemini.Part) error {
	if p.Text == "" && len(p.Signature) == 0 {
		return nil
	}
	if a.open < 0 || a.kind != kind {
		a.open, a.kind = a.parts, kind
		a.parts++
	}
	if p.Text != "" {
		if err := a.emit(llm.Event{Kind: kind, Index: a.open, Delta: p.Text}); err != nil {
			return err
		}
	}
	if len(p.Signature) > 0 {
		if kind == llm.EventText {
			a.acc.Put(a.open, llm.Text{Signature: p.Signature})
		} else {
			a.acc.Put(a.open, llm.Reasoning{Signature: p.Signature})
		}
		a.open = -1
	}
	return nil
}

// call adds a call, which always comes whole.
func (a *answer) call(p *gemini.Part) error {
	index := a.parts
	a.parts++
	a.calls++
	a.open = -1
	id := cmp.Or(p.FunctionCall.ID, inventID())
	err := a.emit(llm.Event{Kind: llm.EventToolCall, Index: index, ID: id, Name: a.names.back(p.FunctionCall.Name)})
	if err != nil {
		return err
	}
	arguments := "{}"
	if args := p.FunctionCall.Args; len(args) > 0 && string(args) != "null" {
		arguments = compact(args)
	}
	if err := a.emit(llm.Event{Kind: llm.EventToolArguments, Index: index, Delta: arguments}); err != nil {
		return err
	}
	if len(p.Signature) > 0 {
		a.acc.Put(index, llm.ToolCall{Signature: p.Signature})
	}
	return nil
}

// ownID begins the ids that this package made up because the service gave none. They are not sent.
const ownID = "vertex-call-"

func inventID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return ownID + hex.EncodeToString(b[:])
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

// count keeps the last count that has numbers: it runs through a stream, and the first may have the prompt's only.
func (a *answer) count(u *gemini.Usage) {
	if u == nil || u.Prompt == 0 && u.Candidates == 0 && u.Thoughts == 0 && u.Total == 0 {
		return
	}
	a.usage = llm.Usage{
		Input: u.Prompt + u.ToolUse, Output: u.Candidates + u.Thoughts,
		CacheRead: u.Cached, Reasoning: u.Thoughts, Reported: true,
	}
}
