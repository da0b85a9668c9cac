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

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

// endGrace is how long a stream may take to end behind its end mark and its count of tokens: only the end is missing
// then, it is usually there already, and without it the connection is lost. An event with content, too, says less:
// servers have been seen to write a finish reason and a count into every one. See bounds.Grace.
const endGrace = 10 * time.Millisecond

// answer gathers one answer from its pieces: whole contents or events of a stream, which differ in size only.
type answer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	model    llm.ModelRef
	gemini   bool // the numbers of enums are the Gemini API's
	names    wirename.Names
	warnings []llm.Warning
	sink     llm.Sink // nil: nobody listens
	reply    gemini.Reply

	credential secret.Credential

	acc     llm.Accumulator
	content bounds.Content
	said    int             // events and parts
	ids     map[string]bool // of calls
	parts   int             // indices given out
	open    int             // index of the text or reasoning that goes on; -1: none
	kind    llm.EventKind   // of the open part
	calls   int
	extras  [3]json.RawMessage // grounding, citations, URL context

	id, version string
	usage       llm.Usage
	finish      string    // as the service wrote it, the last
	ended       bool      // no content came since
	vague       bool      // content came behind an end mark once, so the marks of this stream say less
	until       time.Time // when a finished stream is left; zero: it has not finished
	message     string    // why it finished so
	blocked     string    // why the prompt was blocked
	ratings     gemini.Ratings
}

// read takes the whole reply.
func (a *answer) read() (*llm.Response, error) {
	defer a.reply.Close()
	for {
		r, err := a.reply.Next()
		if err != nil {
			return a.over(err)
		}
		a.content.Late = a.sink != nil && a.ctx.Err() != nil
		if a.content.Late && !a.complete() {
			return a.fail(ended(a.ctx, false))
		}
		said := a.said
		if err := a.take(r); err != nil {
			return a.broken(err)
		}
		switch {
		case !a.complete():
			a.until = time.Time{}
			a.reply.Linger(0)
		case a.content.Late:
			return a.response()
		default:
			a.linger(a.said > said)
		}
	}
}

// linger bounds how long the end of a finished stream is waited for. content: the last event had some.
func (a *answer) linger(content bool) {
	if content || a.until.IsZero() {
		a.until = time.Now().Add(bounds.Grace(a.ctx))
	}
	if left := time.Until(a.until); left > endGrace && !content && (a.usage.Reported || a.blocked != "") {
		a.until = a.until.Add(endGrace - left)
	}
	a.reply.Linger(max(time.Until(a.until), 1))
}

// broken ends an answer whose piece could not be delivered or is beyond bounds.
func (a *answer) broken(err error) (*llm.Response, error) {
	over, isOver := errors.AsType[bounds.Over](err)
	switch {
	case errors.Is(err, bounds.ErrLate):
		return a.fail(ended(a.ctx, false))
	case isOver:
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: string(over), Err: err})
	default: // the sink's
		return a.partial(), err
	}
}

// complete reports whether the end mark was seen.
func (a *answer) complete() bool { return a.ended || a.blocked != "" }

// over ends a reply that brings nothing more. Whether it is complete is decided here and nowhere else.
func (a *answer) over(err error) (*llm.Response, error) {
	var f *gemini.Failure
	broken := errors.As(err, &f)
	switch {
	case broken && f.Reported && (!a.complete() || a.vague):
		return a.fail(f.Err)
	case a.complete(), !broken && a.sink == nil: // whatever goes wrong behind the end mark
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
		a.blocked, a.message, a.ratings = string(f.BlockReason), clip(f.BlockReasonMessage), f.SafetyRatings
	}
	c := &r.Candidates[0]
	if c.Index != 0 {
		return nil // more than one answer was asked for, through Extra: the first is taken
	}
	if c.Content.Parts.TooMany {
		return bounds.TooLarge
	}
	said := a.said
	for j := range c.Content.Parts.Items {
		if err := a.part(&c.Content.Parts.Items[j]); err != nil {
			return err
		}
	}
	for k, raw := range []json.RawMessage{c.Grounding, c.Citations, c.URLContext} {
		if gemini.Says(raw) {
			a.extras[k] = raw
		}
	}
	a.finished(c, a.said > said)
	return nil
}

// finished notes the finish reason of a piece. It ends the answer only if no content comes behind it.
func (a *answer) finished(c *gemini.Candidate, content bool) {
	reason := named(c.FinishReason)
	if reason {
		a.finish, a.message, a.ratings = string(c.FinishReason), clip(c.FinishMessage), c.SafetyRatings
	}
	a.vague = a.vague || a.ended && content
	a.ended = reason || a.ended && !content
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
		return a.put(llm.Media{MediaType: p.InlineData.MIMEType, Data: p.InlineData.Data}, len(p.InlineData.MIMEType)+len(p.InlineData.Data))
	case p.FileData != nil:
		return a.put(llm.Media{MediaType: p.FileData.MIMEType, URI: p.FileData.URI}, len(p.FileData.MIMEType)+len(p.FileData.URI))
	case p.Raw != nil:
		return a.put(llm.Opaque{Type: PartType, Data: p.Raw}, len(p.Raw))
	case p.Thought:
		return a.text(llm.EventReasoning, p)
	default:
		return a.text(llm.EventText, p)
	}
}

// next begins a part.
func (a *answer) next() (index int, err error) {
	if a.parts == bounds.Parts {
		return 0, bounds.TooLarge
	}
	a.open = -1
	a.parts++
	return a.parts - 1, nil
}

// put adds a part of about size bytes that no event builds.
func (a *answer) put(p llm.Part, size int) error {
	index, err := a.next()
	if err == nil {
		err = a.content.Grow(size)
	}
	if err != nil {
		return err
	}
	a.said++
	a.acc.Put(index, p)
	return nil
}

// text adds a piece of text or reasoning. It belongs to the part in front of it if that is of the same kind and has
// no signature yet: a signature is for what stands before it.
func (a *answer) text(kind llm.EventKind, p *gemini.Part) error {
	if p.Text == "" && len(p.Signature) == 0 {
		return nil
	}
	if a.open < 0 || a.kind != kind {
		index, err := a.next()
		if err != nil {
			return err
		}
		a.open, a.kind = index, kind
	}
	if p.Text != "" {
		if err := a.emit(llm.Event{Kind: kind, Index: a.open, Delta: p.Text}); err != nil {
			return err
		}
	}
	signed := llm.Part(llm.Text{Signature: p.Signature})
	if kind == llm.EventReasoning {
		signed = llm.Reasoning{Signature: p.Signature}
	}
	return a.sign(a.open, p.Signature, signed)
}

// sign adds a signature to the part at index, which ends there.
func (a *answer) sign(index int, signature []byte, p llm.Part) error {
	if len(signature) == 0 {
		return nil
	}
	if err := a.content.Grow(len(signature)); err != nil {
		return err
	}
	a.acc.Put(index, p)
	a.open = -1
	return nil
}

// call adds a call, which always comes whole.
func (a *answer) call(p *gemini.Part) error {
	if a.calls == bounds.Calls {
		return bounds.TooManyCalls
	}
	index, err := a.next()
	if err == nil {
		err = a.content.Grow(len(p.FunctionCall.ID) + len(p.FunctionCall.Name))
	}
	if err != nil {
		return err
	}
	a.calls++
	err = a.emit(llm.Event{Kind: llm.EventToolCall, Index: index, ID: a.callID(p.FunctionCall.ID), Name: a.names.Back(p.FunctionCall.Name)})
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
	return a.sign(index, p.Signature, llm.ToolCall{Signature: p.Signature})
}

// callID is the id of a call, or one of our own if there is none or another call has it: a result names only the id.
func (a *answer) callID(received string) string {
	if received == "" || a.ids[received] {
		return inventID()
	}
	if a.ids == nil {
		a.ids = make(map[string]bool, 1)
	}
	a.ids[received] = true
	return received
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
	if err := a.content.Grow(len(e.Delta)); err != nil {
		return err
	}
	a.said++
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
	thoughts := bounds.Count(u.Thoughts)
	a.usage = llm.Usage{
		Input: bounds.Count(u.Prompt) + bounds.Count(u.ToolUse), Output: bounds.Count(u.Candidates) + thoughts,
		CacheRead: bounds.Count(u.Cached), Reasoning: thoughts, Reported: true,
	}
}
