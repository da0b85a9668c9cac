package bedrock

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// The JSON of an answer, its fields in the service's order, which is the alphabet's.
type (
	conversed struct {
		Metrics     metrics         `json:"metrics"`
		Output      output          `json:"output"`
		Performance json.RawMessage `json:"performanceConfig,omitempty"`
		Tier        json.RawMessage `json:"serviceTier,omitempty"`
		Stop        string          `json:"stopReason"`
		Trace       json.RawMessage `json:"trace,omitempty"`
		Usage       usage           `json:"usage"`
	}
	metrics struct {
		Latency int64 `json:"latencyMs"`
	}
	output struct {
		Message written `json:"message"`
	}
	written struct {
		Content []map[string]any `json:"content"`
		Role    string           `json:"role"`
	}
	// usage: both names of the two cache counts are recorded side by side. The counts are there when the
	// request has something to cache.
	usage struct {
		ReadCount  *int64 `json:"cacheReadInputTokenCount,omitempty"`
		Read       *int64 `json:"cacheReadInputTokens,omitempty"`
		WriteCount *int64 `json:"cacheWriteInputTokenCount,omitempty"`
		Write      *int64 `json:"cacheWriteInputTokens,omitempty"`
		Input      int64  `json:"inputTokens"` // neither read from the cache nor written to it
		Output     int64  `json:"outputTokens"`
		Total      int64  `json:"totalTokens"`
	}
)

// unary is the whole answer as one body. Stop, if not "", is why it ended.
func (c *call) unary(r *llm.Response, stop string, took time.Duration) []byte {
	content := []map[string]any{}
	for _, part := range r.Message.Parts {
		if b := blockOf(part); b != nil {
			content = append(content, b)
		}
	}
	out := conversed{
		Metrics: metrics{took.Milliseconds() + 1}, Output: output{written{Content: content, Role: "assistant"}},
		Performance: c.body.PerformanceConfig, Tier: c.body.ServiceTier, Stop: stopOf(r, stop),
		Trace: c.trace(stop), Usage: c.usageOf(r.Usage),
	}
	return marshal(out)
}

// blockOf is a part as a content block; nil if the service writes nothing of the kind.
func blockOf(part llm.Part) map[string]any {
	switch p := part.(type) {
	case llm.Text:
		return map[string]any{"text": p.Text}
	case llm.Reasoning:
		text := map[string]string{"text": p.Text}
		if len(p.Signature) > 0 {
			text["signature"] = signature(p.Signature)
		}
		return map[string]any{"reasoningContent": map[string]any{"reasoningText": text}}
	case llm.ToolCall:
		return map[string]any{"toolUse": map[string]any{"input": input(p.Arguments), "name": p.Name, "toolUseId": p.ID}}
	case llm.Opaque:
		var b map[string]any
		_ = json.Unmarshal(p.Data, &b) // what is no object is no block
		return b
	default:
		return nil
	}
}

// signature is text on the wire, whatever a script signs with.
func signature(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// input is the arguments as the value they are. Arguments that are no JSON, which only a stream can carry as they
// are, become a text.
func input(arguments string) any {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	return arguments
}

// stopOf is the service's word for why the answer ended.
func stopOf(r *llm.Response, stop string) string {
	switch {
	case stop != "":
		return stop
	case r.RawFinish != "":
		return r.RawFinish
	}
	switch r.Finish {
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishToolCall:
		return "tool_use"
	case llm.FinishStop:
		return "end_turn"
	default: // a word that the service may add
		return string(r.Finish)
	}
}

// usageOf: our Input has the cached tokens in it, the service's has not.
func (c *call) usageOf(u llm.Usage) usage {
	out := usage{Input: max(0, u.Input-u.CacheRead-u.CacheWrite), Output: u.Output, Total: u.Input + u.Output}
	if u.CacheRead > 0 || u.CacheWrite > 0 || c.body.caches() {
		out.Read, out.ReadCount, out.Write, out.WriteCount = &u.CacheRead, &u.CacheRead, &u.CacheWrite, &u.CacheWrite
	}
	return out
}

// trace is what a guardrail did, if the request wants to know. Its members are a selection.
func (c *call) trace(stop string) json.RawMessage {
	g := c.body.GuardrailConfig
	if g == nil || g.Trace == nil || *g.Trace == "disabled" {
		return nil
	}
	action := "No action."
	if stop == "guardrail_intervened" {
		action = "Guardrail blocked."
	}
	return marshal(map[string]any{"guardrail": map[string]string{"actionReason": action}})
}

// header is what the service sends with everything.
func (c *call) header(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "X-Amzn-Requestid": {c.requestID()}}
}

// answerHeader is header with the ID of the answer, which has no other place on the wire.
func (c *call) answerHeader(contentType string, r *llm.Response) http.Header {
	h := c.header(contentType)
	if r.ID != "" {
		h.Set("X-Amzn-Requestid", r.ID)
	}
	return h
}
