package bedrock

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// Event is the frame of an event with a JSON payload, for replies of exact bytes.
func Event(name string, payload []byte) []byte {
	return encode(payload, eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader, name)
}

// Exception is the frame of an exception with a JSON payload, for replies of exact bytes.
func Exception(name string, payload []byte) []byte {
	return encode(payload, eventstreamapi.ExceptionMessageType, eventstreamapi.ExceptionTypeHeader, name)
}

// encode makes a frame, its headers in the service's order.
func encode(payload []byte, kind, header, name string) []byte {
	var h eventstream.Headers
	h.Set(header, eventstream.StringValue(name))
	h.Set(eventstreamapi.ContentTypeHeader, eventstream.StringValue(jsonType))
	h.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(kind))
	return frame(h, payload)
}

// errorFrame is a failure that a stream has no exception for.
func errorFrame(code, message string) []byte {
	var h eventstream.Headers
	h.Set(eventstreamapi.ErrorCodeHeader, eventstream.StringValue(code))
	h.Set(eventstreamapi.ErrorMessageHeader, eventstream.StringValue(message))
	h.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(eventstreamapi.ErrorMessageType))
	return frame(h, nil)
}

func frame(h eventstream.Headers, payload []byte) []byte {
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, eventstream.Message{Headers: h, Payload: payload}); err != nil {
		panic(err) // a header longer than the format can say
	}
	return b.Bytes()
}

// ping is a frame that every client must skip: the service may add events.
func ping() string { return string(Event("ping", []byte(`{"p":"abcd"}`))) }

// padding is what the service fills each event with, to a length that does not betray its content.
const padding = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// argumentBytes is about how much of a tool call's arguments goes into one event.
const argumentBytes = 8

// frames are an answer as events, in three parts.
type frames struct {
	head    [][]byte   // messageStart
	content [][][]byte // each the event and, after the last of its block, contentBlockStop
	tail    [][]byte   // messageStop, metadata
}

// upToFirst leaves nothing after the first content, not even the end of its block.
func (f frames) upToFirst() frames {
	if len(f.content) > 0 {
		f.content = [][][]byte{f.content[0][:1]}
	}
	return f
}

// frames writes the events of an answer.
func (c *call) frames(r *llm.Response, stop string, took time.Duration) frames {
	w := writer{}
	f := frames{head: [][]byte{w.event("messageStart", map[string]any{"role": "assistant"})}}
	index := 0
	for _, part := range r.Message.Parts {
		if events := w.block(part, index); len(events) > 0 {
			f.content = append(f.content, events...)
			index++
		}
	}
	last := map[string]any{"metrics": metrics{took.Milliseconds() + 1}, "usage": c.usageOf(r.Usage)}
	for key, value := range map[string]json.RawMessage{
		"performanceConfig": c.body.PerformanceConfig, "serviceTier": c.body.ServiceTier, "trace": c.trace(stop),
	} {
		if len(value) > 0 {
			last[key] = value
		}
	}
	f.tail = [][]byte{
		w.event("messageStop", map[string]any{"stopReason": stopOf(r, stop)}),
		w.event("metadata", last),
	}
	return f
}

// writer writes events, each padded to another length.
type writer struct{ events int }

// event: the members of a payload are in the alphabet's order, as are those that encoding/json writes.
func (w *writer) event(name string, payload map[string]any) []byte {
	w.events++
	payload["p"] = padding[:4+w.events*37%(len(padding)-4)]
	return Event(name, marshal(payload))
}

// block writes the events of one part; none if the service streams nothing of the kind.
func (w *writer) block(part llm.Part, index int) [][][]byte {
	var events [][][]byte
	add := func(name string, payload map[string]any) {
		payload["contentBlockIndex"] = index
		events = append(events, [][]byte{w.event(name, payload)})
	}
	if call, ok := part.(llm.ToolCall); ok { // no other block has a start
		use := map[string]any{"name": call.Name, "toolUseId": call.ID}
		add("contentBlockStart", map[string]any{"start": map[string]any{"toolUse": use}})
	}
	for _, d := range deltas(part) {
		add("contentBlockDelta", map[string]any{"delta": d})
	}
	if last := len(events) - 1; last >= 0 {
		end := w.event("contentBlockStop", map[string]any{"contentBlockIndex": index})
		events[last] = append(events[last], end)
	}
	return events
}

// deltas are a part in pieces.
func deltas(part llm.Part) []map[string]any {
	var all []map[string]any
	add := func(key string, value any) { all = append(all, map[string]any{key: value}) }
	switch p := part.(type) {
	case llm.Text:
		for word := range cloud.Words(p.Text) {
			add("text", word)
		}
	case llm.Reasoning:
		for word := range cloud.Words(p.Text) {
			add("reasoningContent", map[string]string{"text": word})
		}
		if len(p.Signature) > 0 {
			add("reasoningContent", map[string]string{"signature": signature(p.Signature)})
		}
	case llm.ToolCall:
		if p.Arguments == "{}" { // the service says nothing where there are no arguments
			add("toolUse", map[string]string{"input": ""})
			break
		}
		for piece := range cloud.Pieces(p.Arguments, argumentBytes) {
			add("toolUse", map[string]string{"input": piece})
		}
	case llm.Opaque:
		return opaqueDeltas(p)
	default: // the service streams nothing else
	}
	return all
}

// opaqueDeltas are the pieces of a block that our vocabulary has no part for: redacted reasoning, and a text with
// its citations. The service streams nothing else of the kind.
func opaqueDeltas(p llm.Opaque) []map[string]any {
	var block struct {
		Reasoning json.RawMessage `json:"reasoningContent"`
		Cited     struct {
			Citations []json.RawMessage
			Content   []struct{ Text string }
		} `json:"citationsContent"`
	}
	_ = json.Unmarshal(p.Data, &block)
	var all []map[string]any
	if given(block.Reasoning) {
		all = append(all, map[string]any{"reasoningContent": block.Reasoning})
	}
	for _, citation := range block.Cited.Citations {
		all = append(all, map[string]any{"citation": citation})
	}
	for _, content := range block.Cited.Content {
		for word := range cloud.Words(content.Text) {
			all = append(all, map[string]any{"text": word})
		}
	}
	return all
}
