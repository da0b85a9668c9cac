package cases_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// said is what a healthy reply says: a text, or a call of a tool.
type said struct {
	text, tool string
}

// healthy is what one provider sends when all is well: 5 tokens in, 3 out.
func (f *fake) healthy(q *request, s said) cloud.Reply {
	switch f.provider {
	case "azure":
		return azureOK(q, s)
	case "bedrock":
		return bedrockOK(q, s)
	default:
		return f.vertexOK(q, s)
	}
}

type object = map[string]any

func azureOK(q *request, s said) cloud.Reply {
	usage := object{"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
	call := object{"id": "call_1", "type": "function", "index": 0, "function": object{"name": s.tool, "arguments": "{}"}}
	message, finish := object{"role": "assistant", "content": s.text}, "stop"
	if s.tool != "" {
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	if !q.stream {
		return jsonReply(object{
			"id": "c1", "object": "chat.completion", "created": 1, "model": q.model, "usage": usage,
			"choices": []any{object{"index": 0, "finish_reason": finish, "message": message}},
		})
	}
	chunk := func(choices ...any) cloud.Chunk {
		if choices == nil {
			choices = []any{}
		}
		return sseChunk(object{
			"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": q.model, "choices": choices, "usage": usageOf(choices, usage),
		})
	}
	choice := func(finish any, delta object) any {
		return object{"index": 0, "finish_reason": finish, "delta": delta}
	}
	return sseReply(
		chunk(choice(nil, object{"role": "assistant", "content": ""})), chunk(choice(nil, message)),
		chunk(choice(finish, object{})), chunk(), cloud.Chunk{Data: []byte("data: [DONE]\n\n")},
	)
}

// usageOf is the count, which comes with the chunk that has no choice.
func usageOf(choices []any, usage object) any {
	if len(choices) > 0 {
		return nil
	}
	return usage
}

func bedrockOK(q *request, s said) cloud.Reply {
	usage := object{"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}
	stop := "end_turn"
	content := object{"text": s.text}
	if s.tool != "" {
		stop, content = "tool_use", object{"toolUse": object{"toolUseId": "call_1", "name": s.tool, "input": object{}}}
	}
	if !q.stream {
		return jsonReply(object{
			"output":     object{"message": object{"role": "assistant", "content": []any{content}}},
			"stopReason": stop, "usage": usage, "metrics": object{"latencyMs": 1},
		})
	}
	frames := []cloud.Chunk{esChunk("messageStart", object{"role": "assistant"})}
	if s.tool != "" {
		start := object{"toolUse": object{"toolUseId": "call_1", "name": s.tool}}
		frames = append(frames, esChunk("contentBlockStart", object{"contentBlockIndex": 0, "start": start}),
			esChunk("contentBlockDelta", object{"contentBlockIndex": 0, "delta": object{"toolUse": object{"input": "{}"}}}))
	} else {
		frames = append(frames, esChunk("contentBlockDelta", object{"contentBlockIndex": 0, "delta": object{"text": s.text}}))
	}
	frames = append(frames, esChunk("contentBlockStop", object{"contentBlockIndex": 0}),
		esChunk("messageStop", object{"stopReason": stop}),
		esChunk("metadata", object{"usage": usage, "metrics": object{"latencyMs": 1}}))
	return cloud.Reply{Header: header("application/vnd.amazon.eventstream"), Chunks: frames}
}

func (f *fake) vertexOK(q *request, s said) cloud.Reply {
	part := object{"text": s.text}
	if s.tool != "" {
		part = object{"functionCall": object{"name": s.tool, "args": object{}}}
	}
	answer := func(finish string, parts ...any) object {
		candidate := object{"content": object{"role": "model", "parts": parts}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		return object{"candidates": []any{candidate}, "modelVersion": q.model, "responseId": "r1"}
	}
	usage := object{"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
	if !q.stream {
		whole := answer("STOP", part)
		whole["usageMetadata"] = usage
		return jsonReply(whole)
	}
	last := answer("STOP", object{"text": ""})
	last["usageMetadata"] = usage
	return f.gstream(q, &reply{GStream: []gEvent{{object: encode(answer("", part))}, {object: encode(last)}}})
}

func jsonReply(body any) cloud.Reply {
	return cloud.Reply{Header: header("application/json"), Body: encode(body)}
}

func sseReply(chunks ...cloud.Chunk) cloud.Reply {
	return cloud.Reply{Header: header("text/event-stream"), Chunks: chunks}
}

func sseChunk(body any) cloud.Chunk {
	return cloud.Chunk{Data: fmt.Appendf(nil, "data: %s\n\n", encode(body))}
}

func esChunk(name string, payload any) cloud.Chunk {
	return cloud.Chunk{Data: bedrockcloud.Event(name, encode(payload))}
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// delta is one piece of text in a provider's form.
func delta(provider, text string) any {
	switch provider {
	case "azure":
		return object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{
			object{"index": 0, "finish_reason": nil, "delta": object{"content": text}},
		}}
	case "bedrock":
		return object{"contentBlockIndex": 0, "delta": object{"text": text}}
	default:
		return object{"candidates": []any{object{"content": object{"role": "model", "parts": []any{object{"text": text}}}}}}
	}
}

// firstWait is how long a reply waits that names no time: HTTP clients may drop a connection that answers while they
// still write.
const firstWait = 5 * time.Millisecond
