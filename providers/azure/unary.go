package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/llm"
)

// unary asks for the whole answer. The SDK makes the call; the answer is read from what it was given, since its
// types have no place for an error inside a 200 and take that for an empty success.
func (a *answer) unary(ctx context.Context, client *openai.Client) (*llm.Response, error) {
	err := create(ctx, client)
	switch {
	case a.wire.reply == nil:
		return a.refused(err)
	case errors.Is(err, errTooLarge):
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "answer_too_large", Err: err})
	}
	var c chunk
	text := bytes.TrimPrefix(a.wire.reply.text.Bytes(), []byte("\xef\xbb\xbf"))
	if decodeErr := decodeFirst(text, &c); decodeErr != nil {
		return a.unreadable(decodeErr, err)
	}
	a.head(c.ID, c.Model)
	_ = a.takeRaw(&c.content, text) // only a sink can fail
	if a.problem != nil {
		return a.reported(a.problem, err)
	}
	return a.response()
}

// decodeFirst reads the JSON value that text begins with, as the SDK does: what comes behind it does not matter.
func decodeFirst(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(v)
	}
	return tolerate(err)
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
func (a *answer) unreadable(decodeErr, sdkErr error) (*llm.Response, error) {
	e := &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer", Err: errors.Join(sdkErr, decodeErr)}
	switch {
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, false))
	case errors.Is(sdkErr, errPanic):
		e.Code = "sdk_panic"
	case a.wire.Cut(), errors.Is(decodeErr, io.ErrUnexpectedEOF):
		e.Kind, e.Code = llm.ErrConnection, "body_cut"
	case errors.Is(decodeErr, io.EOF):
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
