package azure

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// unary asks for the whole answer. The SDK makes the call; the answer is read and decoded here, once, since the
// SDK's types have no place for an error inside a 200 and take that for an empty success.
func (a *answer) unary(ctx context.Context, client *openai.Client) (*llm.Response, error) {
	err := create(ctx, client)
	got := a.wire.reply
	if got == nil {
		return a.refused(err)
	}
	err = errors.Join(err, got.err)
	switch {
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, false))
	case errors.Is(err, errTooLarge):
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: string(bounds.TooLarge), Err: err})
	case err != nil:
		return a.unreadable(err)
	}
	var c chunk
	if err := tolerate(json.Unmarshal(got.text, &c)); err != nil {
		return a.unreadable(err)
	}
	a.head(c.ID, c.Model)
	switch err := a.take(&c.content, got.text); {
	case a.problem != nil:
		return a.reported(a.problem, nil)
	case err != nil: // no sink can have failed
		return a.broken(err)
	}
	return a.response()
}

// tolerate lets members of another type than ours pass, a count that is no integer say: the rest of the value
// was read, and if what counts is missing that is found out later.
func tolerate(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// unreadable is for a 2xx whose body is no answer.
func (a *answer) unreadable(err error) (*llm.Response, error) {
	e := &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer", Err: secret.Cause(err)}
	switch {
	case errors.Is(err, errPanic):
		e.Code = "sdk_panic"
	case a.wire.Cut(), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Code = llm.ErrConnection, "body_cut"
	case errors.Is(err, io.EOF):
		e.Code = "empty_body"
	}
	return a.fail(e)
}

// create calls the SDK. The request is not in the arguments: see connect and swapBody.
func create(ctx context.Context, client *openai.Client) (err error) {
	defer recovered(&err)
	_, err = client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{})
	return err
}

// errPanic stands for a panic of the SDK. Its text is not kept: it may hold anything.
var errPanic = errors.New("azure: the SDK panicked")

func recovered(err *error) {
	if recover() != nil {
		*err = errPanic
	}
}
