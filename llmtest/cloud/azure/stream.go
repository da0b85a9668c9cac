package azure

import (
	"encoding/json"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// The JSON of a stream.
type (
	chunk struct {
		Choices     []chunkChoice   `json:"choices"`
		Created     int64           `json:"created"`
		ID          string          `json:"id"`
		Model       string          `json:"model"`
		Obfuscation string          `json:"obfuscation,omitempty"`
		Object      string          `json:"object"`
		Prompt      json.RawMessage `json:"prompt_filter_results,omitempty"`
		Fingerprint string          `json:"system_fingerprint,omitempty"`
		Usage       json.RawMessage `json:"usage,omitempty"` // null until the end, absent if nobody asked
	}
	chunkChoice struct {
		Filter   json.RawMessage `json:"content_filter_results,omitempty"`
		Delta    delta           `json:"delta"`
		Finish   *string         `json:"finish_reason"`
		Index    int             `json:"index"`
		Logprobs json.RawMessage `json:"logprobs"`
	}
	delta struct {
		Content   json.RawMessage `json:"content,omitempty"`
		Reasoning string          `json:"reasoning_content,omitempty"`
		Refusal   json.RawMessage `json:"refusal,omitempty"`
		Role      string          `json:"role,omitempty"`
		ToolCalls []toolCall      `json:"tool_calls,omitempty"`
	}
)

// ping is a frame that every client must skip.
const ping = ": ping\n\n"

// argumentBytes is about how much of a tool call's arguments goes into one event.
const argumentBytes = 8

// frames are an answer as events, in three parts.
type frames struct {
	head    [][]byte // the filter's verdict on the prompt, the role
	content [][]byte
	tail    [][]byte // the finish, the usage, the end mark
}

// frames writes the events of an answer. The role comes with the first event of a tool call, if that is the
// first content, else in an event of its own, as ahead wants it in any case.
func (c *call) frames(r *llm.Response, stopped []string, ahead bool) frames {
	var f frames
	if c.azure() {
		f.head = append(f.head, sse(chunk{Choices: []chunkChoice{}, Prompt: promptVerdicts()}))
	}
	deltas := contentDeltas(r.Message.Parts)
	if len(deltas) > 0 && len(deltas[0].ToolCalls) > 0 && !ahead {
		deltas[0].Content, deltas[0].Refusal, deltas[0].Role = json.RawMessage("null"), json.RawMessage("null"), "assistant"
	} else {
		first := delta{Content: json.RawMessage(`""`), Refusal: json.RawMessage("null"), Role: "assistant"}
		f.head = append(f.head, c.event(r, chunkChoice{Delta: first, Filter: c.unjudged()}))
	}
	for _, d := range deltas {
		filter := c.unjudged()
		if len(d.ToolCalls) == 0 && d.Reasoning == "" {
			filter = c.verdicts(nil)
		}
		f.content = append(f.content, c.event(r, chunkChoice{Delta: d, Filter: filter}))
	}
	finish := finishOf(r, stopped)
	f.tail = append(f.tail, c.event(r, chunkChoice{Finish: &finish, Filter: c.verdicts(stopped)}))
	if c.usage {
		last := c.chunk(r)
		last.Choices, last.Usage = []chunkChoice{}, marshal(usageOf(r.Usage))
		f.tail = append(f.tail, sse(last))
	}
	f.tail = append(f.tail, []byte("data: [DONE]\n\n"))
	return f
}

func contentDeltas(parts llm.Parts) []delta {
	var deltas []delta
	calls := 0
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			for word := range cloud.Words(p.Text) {
				deltas = append(deltas, delta{Content: marshal(word)})
			}
		case llm.Reasoning:
			for word := range cloud.Words(p.Text) {
				deltas = append(deltas, delta{Reasoning: word})
			}
		case llm.ToolCall:
			index := calls
			calls++
			deltas = append(deltas, delta{ToolCalls: []toolCall{
				{Index: &index, ID: p.ID, Type: "function", Function: function{Name: p.Name}},
			}})
			for piece := range cloud.Pieces(p.Arguments, argumentBytes) {
				deltas = append(deltas, delta{ToolCalls: []toolCall{{Index: &index, Function: function{Arguments: piece}}}})
			}
		default: // the service writes nothing else
		}
	}
	return deltas
}

func (c *call) chunk(r *llm.Response) chunk {
	k := chunk{
		Created: c.created, ID: c.answerID(r), Model: c.answeredBy(r), Object: "chat.completion.chunk",
		Fingerprint: fingerprint,
	}
	if c.usage {
		k.Usage = json.RawMessage("null")
	}
	return k
}

// event is a frame with one choice. The service pads each so that its length does not betray its content.
func (c *call) event(r *llm.Response, ch chunkChoice) []byte {
	k := c.chunk(r)
	k.Choices = []chunkChoice{ch}
	k.Obfuscation = strings.Repeat("x", 16-len(ch.Delta.Content)%16)
	return sse(k)
}

// verdicts of the content filter, which only Azure tells.
func (c *call) verdicts(stopped []string) json.RawMessage {
	if !c.azure() {
		return nil
	}
	return marshal(verdicts(stopped))
}

// unjudged is what Azure says of what its filter does not read.
func (c *call) unjudged() json.RawMessage {
	if !c.azure() {
		return nil
	}
	return json.RawMessage("{}")
}

func sse(v any) []byte { return frame(marshal(v)) }

func frame(data []byte) []byte { return append(append([]byte("data: "), data...), "\n\n"...) }
