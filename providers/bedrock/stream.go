package bedrock

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"mime"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

// drainTime is how long a connection may take to end a stream that is over, so that it can be used again. The end is
// usually there already; a peer that keeps it back costs its connection.
const drainTime = 10 * time.Millisecond

// stream reads the answer event by event.
func (a *answer) stream() (*llm.Response, error) {
	body := a.wire.reply
	defer func() { _ = body.Close() }()
	decoder, in := eventstream.NewDecoder(), bufio.NewReader(body) // the decoder reads by the byte
	if e := a.instead(in); e != nil {
		return a.fail(e)
	}
	end := bounds.Ending{HangUp: func() { _ = body.Close() }}
	defer end.Pause()
	var buf []byte
	for frames := 0; ; frames++ {
		err := checkFrame(in)
		var message eventstream.Message
		if err == nil {
			message, err = decoder.Decode(in, buf[:0])
		}
		end.Pause() // while the sink has the word
		if err != nil {
			return a.over(err, frames)
		}
		buf = message.Payload
		a.content.Late = a.ctx.Err() != nil
		if a.content.Late && a.finish == "" {
			return a.fail(ended(a.ctx, false))
		}
		size := a.content.Size
		done, err := a.event(&message)
		if err != nil {
			return a.broken(err)
		}
		switch {
		case a.content.Size > size: // messageStop was not the end
			a.vague = a.vague || a.finish != ""
			a.finish = ""
			end.Reopen()
		case done:
			drain(in, body)
			return a.response()
		case a.content.Late:
			return a.response()
		case a.finish != "":
			end.Await(a.ctx)
		}
	}
}

// instead is the error of a body that is JSON where a stream should be. No frame begins as JSON does: it would have
// more than 100 MiB.
func (a *answer) instead(in *bufio.Reader) *llm.Error {
	head, err := in.Peek(1)
	if err != nil || !bytes.ContainsAny(head, "{ \t\r\n") {
		return nil //nolint:nilerr // the decoder meets it again
	}
	var value json.RawMessage // one, since nothing has to come behind it
	if json.NewDecoder(io.LimitReader(in, bounds.Answer)).Decode(&value) != nil {
		return nil //nolint:nilerr // what is left is no stream either
	}
	if e := a.reported(value); e != nil {
		return e
	}
	return &llm.Error{Kind: llm.ErrBadOutput, Code: "no_event_stream"}
}

// The bounds of a frame in bytes, which are the service's own. The decoder has none.
const (
	maxFrame   = 16 << 20
	maxHeaders = 128 << 10
	leastFrame = 16 // without headers and payload
)

var errFrame = errors.New("bedrock: a frame shorter than its parts")

// checkFrame judges the lengths that the next frame announces, before anything of it is kept. What is no frame at all
// is left to the decoder: it finds a wrong checksum.
func checkFrame(in *bufio.Reader) error {
	const lengths, prelude = 8, 12
	head, err := in.Peek(prelude)
	if err != nil || crc32.ChecksumIEEE(head[:lengths]) != binary.BigEndian.Uint32(head[lengths:]) {
		return nil //nolint:nilerr // the decoder meets it again
	}
	switch frame, headers := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:]); {
	case frame > maxFrame, headers > maxHeaders:
		return bounds.TooLarge
	case frame < headers+leastFrame:
		return errFrame
	default:
		return nil
	}
}

// drain reads the end of a body behind its last event.
func drain(in io.Reader, body io.Closer) {
	late := time.AfterFunc(drainTime, func() { _ = body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, in, 4<<10)
}

// event takes one event. done: nothing more is needed. Its error is the sink's, or ours.
func (a *answer) event(m *eventstream.Message) (done bool, err error) {
	switch header(m, ":message-type") {
	case "event", "":
	case "exception":
		a.told = true
		return false, a.exception(header(m, ":exception-type"), m.Payload)
	default: // "error", whose text is in the headers
		a.told = true
		text, _ := json.Marshal(map[string]string{"message": header(m, ":error-message")}) // strings
		return false, a.exception(header(m, ":error-code"), text)
	}
	switch header(m, ":event-type") {
	case "contentBlockDelta":
		var d delta
		if err := decode(m.Payload, &d); err != nil {
			return false, err
		}
		return false, a.delta(&d)
	case "contentBlockStart":
		var s start
		if err := decode(m.Payload, &s); err != nil {
			return false, err
		}
		return false, a.start(&s)
	case "messageStop":
		var stop struct {
			StopReason string
			end
		}
		if err := decode(m.Payload, &stop); err != nil {
			return false, err
		}
		a.ended(&stop.end)
		if a.finish = stop.StopReason; a.finish == "" {
			a.finish = "unknown"
		}
	case "metadata":
		var e end
		if err := decode(m.Payload, &e); err != nil {
			return false, err
		}
		a.ended(&e)
	default: // messageStart, contentBlockStop, and what may come to be
		return false, nil
	}
	return a.finish != "" && a.usage.Reported, nil
}

func header(m *eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}

func decode(payload []byte, v any) error {
	if err := tolerate(json.Unmarshal(payload, v)); err != nil {
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_event", Err: err}
	}
	return nil
}

func (a *answer) start(s *start) error {
	switch {
	case s.Start.ToolUse != nil:
		return a.call(s.Index, s.Start.ToolUse)
	case s.Start.Image != nil:
		return a.image(s.Index, s.Start.Image)
	case len(s.Start.ToolResult) > 0 && s.Start.ToolResult[0] == '{': // of a call that the service made
		if len(s.Start.ToolResult) > bounds.Problem {
			return bounds.TooLarge
		}
		var block map[string]any
		_ = json.Unmarshal(s.Start.ToolResult, &block) // it was decoded once
		return a.open(s.Index, "toolResult", block, len(s.Start.ToolResult))
	}
	return nil
}

func (a *answer) delta(d *delta) error {
	switch {
	case d.Delta.Text != "":
		return a.text(d.Index, d.Delta.Text)
	case d.Delta.ToolUse != nil:
		return a.arguments(d.Index, d.Delta.ToolUse.Input)
	case d.Delta.Reasoning != nil && len(d.Delta.Reasoning.Redacted) > 0:
		p, err := a.piece(d.Index, asBlock)
		if err != nil {
			return err
		}
		p.outer, p.block = "reasoningContent", map[string]any{}
		return a.hold(&p.input, string(d.Delta.Reasoning.Redacted))
	case d.Delta.Reasoning != nil:
		return a.thought(d.Index, d.Delta.Reasoning.Text, d.Delta.Reasoning.Signature)
	case len(d.Delta.Citation) > 0:
		return a.cited(d.Index, d.Delta.Citation)
	case len(d.Delta.ToolResult) > 0:
		p := a.blocks.latest[place{d.Index, asBlock}]
		if elements := elementsOf(d.Delta.ToolResult); p != nil && p.outer == "toolResult" && len(elements) > 0 {
			return a.join(p, elements)
		}
	case d.Delta.Image != nil:
		return a.image(d.Index, d.Delta.Image)
	}
	return nil
}

// broken ends an answer whose piece could not be delivered or read.
func (a *answer) broken(err error) (*llm.Response, error) {
	if _, ok := errors.AsType[sinkError](err); ok {
		return a.partial(), err
	}
	over, isOver := errors.AsType[bounds.Over](err)
	switch {
	case errors.Is(err, bounds.ErrLate):
		return a.fail(ended(a.ctx, false))
	case isOver:
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: string(over), Err: err})
	case a.finish != "" && a.sink != nil && (!a.told || !a.vague):
		return a.response() // what is broken comes behind the end mark
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		e = &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer", Err: err}
	}
	return a.fail(e)
}

// over ends a stream that brings nothing more. Whether it is complete is decided here and nowhere else.
func (a *answer) over(err error, frames int) (*llm.Response, error) {
	e := &llm.Error{Kind: llm.ErrInterrupted, Code: "stream_cut", Err: err}
	_, checksum := errors.AsType[eventstream.ChecksumError](err)
	over, isOver := errors.AsType[bounds.Over](err)
	switch {
	case a.finish != "":
		return a.response()
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, false))
	case frames == 0 && !a.isEventStream():
		e.Kind, e.Code = llm.ErrBadOutput, "no_event_stream"
	case isOver:
		e.Kind, e.Code = llm.ErrBadOutput, string(over)
	case errors.Is(err, errFrame):
		e.Kind, e.Code = llm.ErrBadOutput, "malformed_event"
	case checksum:
		e.Code = "stream_corrupt"
	case errors.Is(err, io.EOF) && !a.wire.Cut():
		e.Code = "no_end_mark"
	}
	return a.fail(e)
}

func (a *answer) isEventStream() bool {
	media, _, err := mime.ParseMediaType(a.wire.Header().Get("Content-Type"))
	return err != nil || media != "application/json" && media != "text/html" && media != "text/plain"
}
