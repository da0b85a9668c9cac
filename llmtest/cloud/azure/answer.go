package azure

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// The JSON of an answer, its fields in the service's order, which is the alphabet's.
type (
	completion struct {
		Choices     []choice        `json:"choices"`
		Created     int64           `json:"created"`
		ID          string          `json:"id"`
		Model       string          `json:"model"`
		Object      string          `json:"object"`
		Prompt      json.RawMessage `json:"prompt_filter_results,omitempty"`
		Fingerprint string          `json:"system_fingerprint"`
		Usage       usage           `json:"usage"`
	}
	choice struct {
		Filter   json.RawMessage `json:"content_filter_results,omitempty"`
		Finish   string          `json:"finish_reason"`
		Index    int             `json:"index"`
		Logprobs json.RawMessage `json:"logprobs"`
		Message  reply           `json:"message"`
	}
	reply struct {
		Annotations []string   `json:"annotations"`
		Content     *string    `json:"content"`
		Reasoning   string     `json:"reasoning_content,omitempty"`
		Refusal     *string    `json:"refusal"`
		Role        string     `json:"role"`
		ToolCalls   []toolCall `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		Function function `json:"function"`
		ID       string   `json:"id,omitempty"`
		Index    *int     `json:"index,omitempty"` // in a stream only
		Type     string   `json:"type,omitempty"`
	}
	function struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name,omitempty"`
	}
	usage struct {
		Completion        int64            `json:"completion_tokens"`
		CompletionDetails map[string]int64 `json:"completion_tokens_details"`
		Prompt            int64            `json:"prompt_tokens"`
		PromptDetails     map[string]int64 `json:"prompt_tokens_details"`
		Total             int64            `json:"total_tokens"`
	}
)

const fingerprint = "fp_b54fe76834"

// unary is the whole answer as one body. Stopped names what the content filter stopped it for.
func (c *call) unary(r *llm.Response, stopped []string) []byte {
	out := completion{
		Created: c.created, ID: c.answerID(r), Model: c.answeredBy(r), Object: "chat.completion",
		Fingerprint: fingerprint, Usage: usageOf(r.Usage),
	}
	ch := choice{Finish: finishOf(r, stopped), Message: reply{Annotations: []string{}, Role: "assistant"}}
	for _, part := range r.Message.Parts {
		switch p := part.(type) {
		case llm.Text:
			text := p.Text
			if ch.Message.Content != nil {
				text = *ch.Message.Content + text
			}
			ch.Message.Content = &text
		case llm.Reasoning:
			ch.Message.Reasoning += p.Text
		case llm.ToolCall:
			ch.Message.ToolCalls = append(ch.Message.ToolCalls, toolCall{
				ID: p.ID, Type: "function", Function: function{Name: p.Name, Arguments: p.Arguments},
			})
		default: // the service writes nothing else
		}
	}
	if c.azure() {
		ch.Filter, out.Prompt = marshal(verdicts(stopped)), promptVerdicts()
	}
	out.Choices = []choice{ch}
	return marshal(out)
}

// promptVerdicts are the verdicts of the content filter on a harmless prompt.
func promptVerdicts() json.RawMessage {
	results := map[string]any{"jailbreak": map[string]bool{"detected": false, "filtered": false}}
	for category, verdict := range verdicts(nil) {
		results[category] = verdict
	}
	return marshal([]any{map[string]any{"prompt_index": 0, "content_filter_results": results}})
}

func (c *call) answerID(r *llm.Response) string {
	if r.ID != "" {
		return r.ID
	}
	return "chatcmpl-sim" + strconv.FormatInt(c.id, 10)
}

func (c *call) answeredBy(r *llm.Response) string {
	if r.ModelVersion != "" {
		return r.ModelVersion
	}
	return versionOf(c.model)
}

// finishOf is the service's word for why the answer ended.
func finishOf(r *llm.Response, stopped []string) string {
	switch {
	case len(stopped) > 0:
		return "content_filter"
	case r.RawFinish != "":
		return r.RawFinish
	case r.Finish == llm.FinishToolCall:
		return "tool_calls"
	default:
		return string(r.Finish)
	}
}

func usageOf(u llm.Usage) usage {
	return usage{
		Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output,
		PromptDetails: map[string]int64{"audio_tokens": 0, "cached_tokens": u.CacheRead},
		CompletionDetails: map[string]int64{
			"accepted_prediction_tokens": 0, "audio_tokens": 0, "reasoning_tokens": u.Reasoning,
			"rejected_prediction_tokens": 0,
		},
	}
}

// header is what the service sends with what a model says, and with most of its errors.
func (c *call) header(contentType string) http.Header {
	h := http.Header{"Content-Type": {contentType}, "X-Request-Id": {c.requestID(2)}}
	limits := map[string]string{"limit-requests": "120", "limit-tokens": "120000", "remaining-requests": "119", "remaining-tokens": "119984"}
	if c.azure() {
		h.Set("Apim-Request-Id", c.requestID(1))
		h.Set("X-Ms-Region", "East US 2")
		h.Set("X-Ms-Rai-Invoked", "true")
		limits["renewalperiod-requests"], limits["renewalperiod-tokens"] = "60", "60"
		limits["reset-requests"], limits["reset-tokens"] = "500", "7"
	} else {
		limits["reset-requests"], limits["reset-tokens"] = "500ms", "7ms"
	}
	for name, value := range limits {
		h.Set("X-Ratelimit-"+name, value)
	}
	return h
}

// tell puts the rate limits of a script into h.
func tell(h http.Header, l llm.RateLimit) {
	if !l.Reported {
		return
	}
	h.Set("X-Ratelimit-Remaining-Requests", strconv.FormatInt(l.RemainingRequests, 10))
	h.Set("X-Ratelimit-Remaining-Tokens", strconv.FormatInt(l.RemainingTokens, 10))
	for _, name := range []string{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"} {
		if l.Reset > 0 && strings.HasSuffix(h.Get(name), "s") { // only OpenAI's have a unit
			h.Set(name, l.Reset.String())
		}
	}
}
