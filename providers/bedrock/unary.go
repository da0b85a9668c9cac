package bedrock

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

var errTooLarge = errors.New("bedrock: answer larger than 32 MiB")

// unary reads a whole answer.
func (a *answer) unary() (*llm.Response, error) {
	text, err := a.readAll()
	var r reply
	decodeErr := err
	if err == nil {
		decodeErr = tolerate(json.Unmarshal(text, &r))
	}
	switch {
	case decodeErr != nil:
		return a.unreadable(decodeErr, len(text) == 0)
	case r.Output == nil:
		return a.notAnswer(text)
	}
	a.ended(&r.end)
	a.finish = r.StopReason
	if err := a.whole(&r.Output.Message.Content); err != nil {
		return a.broken(err)
	}
	return a.response()
}

// whole takes the blocks of an answer. Its error is ours: nobody listens.
func (a *answer) whole(blocks *replyBlocks) error {
	if blocks.list.TooMany {
		return bounds.TooLarge
	}
	for i := range blocks.list.Items {
		b := &blocks.list.Items[i]
		var err error
		if b.known() {
			err = a.block(i, b)
		} else {
			err = a.raw(blocks.unknown[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readAll reads the body. An io.EOF of it is no error.
func (a *answer) readAll() ([]byte, error) {
	defer func() { _ = a.wire.reply.Close() }()
	var text bytes.Buffer
	if n := a.wire.length; n > 0 {
		text.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	_, err := text.ReadFrom(io.LimitReader(a.wire.reply, bounds.Answer+1))
	if err == nil && text.Len() > bounds.Answer {
		err = errTooLarge
	}
	return bytes.TrimSpace(text.Bytes()), err
}

// block takes one whole block that is known.
func (a *answer) block(i int, b *replyBlock) error {
	switch {
	case b.Text != nil:
		return a.text(i, *b.Text)
	case b.ToolUse != nil && b.ToolUse.ours():
		if err := a.call(i, b.ToolUse); err != nil {
			return err
		}
		if input := string(b.ToolUse.Input); input != "null" {
			return a.arguments(i, input)
		}
		return nil
	case b.Reasoning != nil && b.Reasoning.Text != nil:
		return a.thought(i, b.Reasoning.Text.Text, b.Reasoning.Text.Signature)
	case b.Cited != nil:
		if b.Cited.Content.TooMany {
			return bounds.TooLarge
		}
		for _, c := range b.Cited.Content.Items {
			if err := a.text(i, c.Text); err != nil {
				return err
			}
		}
		return a.cited(i, elementsOf(b.Cited.Citations))
	default:
		return a.image(i, b.Image)
	}
}

// tolerate lets members of another type than ours pass: the rest of the value was read, and if what counts is
// missing that is found out later.
func tolerate(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// unreadable is for a 2xx whose body is no answer.
func (a *answer) unreadable(err error, empty bool) (*llm.Response, error) {
	e := &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer", Err: err}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, false))
	case errors.Is(err, errTooLarge):
		e.Code = string(bounds.TooLarge)
	case a.wire.Cut(), !syntax:
		e.Kind, e.Code = llm.ErrConnection, "body_cut"
	case empty:
		e.Code = "empty_body"
	}
	return a.fail(e)
}

// notAnswer is for JSON that is no answer: an error inside a 200, or nothing we know.
func (a *answer) notAnswer(text []byte) (*llm.Response, error) {
	e := a.reported(text)
	if e == nil {
		e = &llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"}
	}
	return a.fail(e)
}

// reported is the error that JSON inside a 200 tells of, nil if it is none.
func (a *answer) reported(text []byte) *llm.Error {
	var known struct {
		Type    string `json:"__type"`
		Message string
		Error   json.RawMessage
	}
	_ = tolerate(json.Unmarshal(text, &known)) // it is JSON
	if known.Type == "" && known.Message == "" && len(known.Error) == 0 {
		return nil
	}
	e := llm.HTTPError(a.wire.Status(), a.wire.Header(), bounds.Head(text))
	refine(e)
	return e
}
