package azure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/internal/sse"
	"github.com/punctual-llm/punctual/llm"
)

// stream asks for the answer piece by piece.
func (a *answer) stream(ctx context.Context, client *openai.Client) (*llm.Response, error) {
	s, err := open(ctx, client)
	if err != nil || a.wire.reply == nil {
		if a.wire.reply != nil {
			_ = a.wire.reply.Close()
		}
		return a.refused(err)
	}
	defer closeStream(s)
	end := bounds.Ending{HangUp: func() { closeStream(s) }}
	defer end.Pause()
	for chunks := 0; ; chunks++ {
		raw, err := receive(s)
		end.Pause() // while the sink has the word
		if err != nil || len(raw) == 0 {
			return a.over(err, chunks)
		}
		a.late = a.ctx.Err() != nil
		if a.late && !a.ended {
			return a.fail(ended(a.ctx, false))
		}
		size, complete := a.size, a.ended // before this event
		if err := a.event(raw); err != nil {
			return a.broken(err)
		}
		if a.size > size {
			end.Reopen()
		}
		switch {
		case a.problem != nil && complete && a.ended && !a.vague:
			return a.response() // it comes behind the end mark
		case a.problem != nil:
			return a.reported(a.problem, nil)
		case a.late:
			a.late = false
			return a.response()
		case a.ended:
			end.Await(a.ctx)
		}
	}
}

// event takes one event. Its error is the sink's, or says that the event is no chunk or beyond bounds.
func (a *answer) event(raw []byte) error {
	if a.id != "" && a.version != "" {
		var c content
		if err := tolerate(json.Unmarshal(raw, &c)); err != nil {
			return err
		}
		return a.take(&c, raw)
	}
	var c chunk
	if err := tolerate(json.Unmarshal(raw, &c)); err != nil {
		return err
	}
	a.head(c.ID, c.Model)
	return a.take(&c.content, raw)
}

// broken ends a stream whose event could not be delivered or read.
func (a *answer) broken(err error) (*llm.Response, error) {
	if _, ok := errors.AsType[sinkError](err); ok {
		return a.partial(), err
	}
	bad, isBad := errors.AsType[bounds.Over](err)
	switch {
	case errors.Is(err, errLate):
		return a.fail(ended(a.ctx, false))
	case isBad:
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: string(bad), Err: err})
	case a.ended:
		return a.response() // what is broken comes behind the end mark
	case a.wire.Cut():
		return a.fail(&llm.Error{Kind: llm.ErrInterrupted, Code: "stream_cut", Err: err})
	default:
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_event", Err: err})
	}
}

// over ends a stream that brings nothing more. Whether it is complete is decided here and nowhere else: the SDK
// takes every end for a good one.
func (a *answer) over(err error, chunks int) (*llm.Response, error) {
	done := errors.Is(err, io.EOF) && a.wire.reply.err == nil // the SDK stopped by itself, so it has read [DONE]
	e := &llm.Error{Kind: llm.ErrInterrupted, Code: "stream_cut", Err: secret.Cause(err)}
	switch payload := a.wire.StreamError(); {
	case payload != nil && (!a.ended || a.vague):
		return a.reported(payload, err)
	case done:
		a.wire.reply.drain()
		return a.response()
	case a.ended:
		return a.response()
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, false))
	case errors.Is(err, errPanic):
		e.Kind, e.Code = llm.ErrBadOutput, "sdk_panic"
	case errors.Is(err, sse.ErrTooLarge):
		e.Kind, e.Code = llm.ErrBadOutput, "event_too_large"
	case errors.Is(err, io.EOF) && chunks == 0 && !a.isEventStream():
		e.Kind, e.Code = llm.ErrBadOutput, "no_event_stream"
	case errors.Is(err, io.EOF):
		e.Code = "no_end_mark"
	}
	return a.fail(e)
}

func (a *answer) isEventStream() bool {
	media, _, err := mime.ParseMediaType(a.wire.Header().Get("Content-Type"))
	return err != nil || media == "text/event-stream"
}

// The calls of the SDK, each under a recover of its own so that the sink never runs under one.

func open(ctx context.Context, client *openai.Client) (s *openai.ChatCompletionStream, err error) {
	defer recovered(&err)
	return client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{})
}

// receive returns the next event. The SDK's own decoding is left out: see chunk.
func receive(s *openai.ChatCompletionStream) (raw []byte, err error) {
	defer recovered(&err)
	return s.RecvRaw()
}

func closeStream(s *openai.ChatCompletionStream) {
	var ignored error // there is nothing to do about a body that does not close
	defer recovered(&ignored)
	_ = s.Close()
}
