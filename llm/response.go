package llm

import (
	"slices"
	"time"
)

// FinishReason says why the model stopped, in OpenTelemetry's words. A filtered answer is the error
// [ErrContentFiltered] with Partial, never a finish.
type FinishReason string

// The finish reasons.
const (
	FinishStop     FinishReason = "stop"      // it was done
	FinishLength   FinishReason = "length"    // MaxTokens or the model's own limit was reached
	FinishToolCall FinishReason = "tool_call" // it waits for the results of tool calls
	FinishOther    FinishReason = "other"     // see RawFinish
)

// Usage counts tokens as OpenTelemetry does, on every adapter: Input includes cache reads and writes, Output
// includes reasoning.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	Reported   bool  `json:"reported,omitempty"` // false: the provider sent no numbers
}

func (u Usage) plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning: u.Reasoning + v.Reasoning, Reported: u.Reported || v.Reported,
	}
}

// Response is an answer.
type Response struct {
	ID           string       `json:"id,omitempty"`            // the provider's
	Target       string       `json:"target,omitempty"`        // the configured name of who answered
	Model        ModelRef     `json:"model,omitzero"`          // asked
	ModelVersion string       `json:"model_version,omitempty"` // answered (gen_ai.response.model)
	Message      Message      `json:"message,omitzero"`        // append it to Request.Messages to go on
	Finish       FinishReason `json:"finish,omitempty"`
	RawFinish    string       `json:"raw_finish,omitempty"` // the provider's own word
	Usage        Usage        `json:"usage,omitzero"`       // of the attempt that answered
	Attempts     []Attempt    `json:"attempts,omitempty"`   // the whole trail, the last one answered
	Skipped      []Skip       `json:"skipped,omitempty"`
	Warnings     []Warning    `json:"warnings,omitempty"`
	RateLimit    RateLimit    `json:"rate_limit,omitzero"`
}

// Text returns the text of the answer, without reasoning.
func (r *Response) Text() string {
	if r == nil {
		return ""
	}
	return r.Message.Text()
}

// withoutOpenCalls is r without tool calls that had not ended, nil if nothing is left. r is not changed.
func (r *Response) withoutOpenCalls() *Response {
	if r == nil {
		return nil
	}
	open := func(p Part) bool {
		c, ok := p.(ToolCall)
		return ok && !wholeObject(c.Arguments)
	}
	c := *r
	if slices.ContainsFunc(c.Message.Parts, open) {
		c.Message.Parts = slices.DeleteFunc(slices.Clone(c.Message.Parts), open)
	}
	if len(c.Message.Parts) == 0 {
		return nil
	}
	return &c
}

// TotalUsage adds to Usage what failed and hedged attempts reported, which is billed too.
func (r *Response) TotalUsage() Usage {
	if r == nil {
		return Usage{}
	}
	total := r.Usage
	for i := range r.Attempts {
		if r.Attempts[i].Kind != "" {
			total = total.plus(r.Attempts[i].Usage)
		}
	}
	return total
}

// Warning tells of a setting that was dropped or changed on the way, or of an operation without a plan.
type Warning struct {
	Code    string `json:"code,omitempty"`  // for programs: "dropped", "changed", "unknown_operation"
	Field   string `json:"field,omitempty"` // path of the field of the request
	Message string `json:"message,omitempty"`
}

// RateLimit is what the provider said about its own limits with this answer.
type RateLimit struct {
	RemainingRequests int64
	RemainingTokens   int64
	Reset             time.Duration // until the tighter of the two is full again; 0: unknown
	Reported          bool
}

// Attempt is one try on one target in the trail of a call.
type Attempt struct {
	Target       string
	Model        ModelRef
	Start        time.Time
	Wait         time.Duration // slept before it
	Limit        time.Duration // it might have taken; with a Bound, the limit that fell
	FirstContent time.Duration // from Start to the first content; 0: none came, or the call was not streamed
	Took         time.Duration
	Kind         Kind   // "": it answered
	Bound        Bound  // which limit ended it; "" none
	Status       int    // HTTP status, 0 if there was none
	RequestID    string // the provider's
	Usage        Usage  // what it reported, though it may have failed
	NotSent      bool   // surely nothing left this process; false: it may have been billed
}

// Skip is a target of the plan that was passed over.
type Skip struct {
	Target string
	Why    SkipReason
	For    time.Duration // how much longer the reason holds; 0: unknown
}
