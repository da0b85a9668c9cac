package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// expectation is what a recording means in terms of this SDK. Nil fields are not compared.
type expectation struct {
	kind      llm.Kind // "": an answer
	bare      bool     // expect tells no content: the answer may have other parts, or be none
	text      string
	calls     []expectedCall
	skipCalls bool
	finish    string
	usage     *llm.Usage
	// writesUnsaid: expect does not tell what was written to a cache.
	writesUnsaid bool
	total        *int64
	reasoning    *string
	refusal      *string
	frames       *int
	textDeltas   *int
	more         func(got *result) []string // of one provider; nil: nothing

	status     int
	code       *string
	message    *string
	retryAfter time.Duration
}

type expectedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	ID        string          `json:"id"`
	Type      string          `json:"type"`
}

// differs compares a result and tells every difference.
func (want *expectation) differs(got *result) (problems []string) {
	differ := func(what string, want, got any) {
		problems = append(problems, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
	kind := llm.KindOf(got.err)
	none := want.bare && want.kind == "" && kind == llm.ErrBadOutput
	if !none && (want.kind == "" && kind != "" || want.kind != "" && kind == "" ||
		want.kind == llm.ErrContentFiltered && kind != want.kind) {
		return []string{fmt.Sprintf("want kind %q, got %q: %+v", want.kind, kind, got.err)}
	}
	if want.status != 0 {
		problems = want.differsAsError(got)
	}
	resp := got.resp
	switch {
	case resp == nil && got.err == nil:
		return []string{"no response and no error"}
	case resp == nil:
		resp = new(llm.Response) // nothing had come
	case want.bare && got.err == nil && len(resp.Message.Parts) == 0:
		return []string{"an answer that holds nothing"}
	}
	if want.status != 0 {
		return append(problems, want.differsBefore(resp, got)...)
	}
	if resp.Text() != want.text {
		differ("text", want.text, resp.Text())
	}
	if resp.RawFinish != want.finish && (!none || resp.RawFinish != "") {
		differ("finish", want.finish, resp.RawFinish)
	}
	if !want.skipCalls {
		problems = append(problems, differentCalls(want.calls, resp.Message.ToolCalls())...)
	}
	if want.usage != nil {
		usage := *want.usage
		if want.writesUnsaid {
			usage.CacheWrite = resp.Usage.CacheWrite
		}
		if usage != resp.Usage {
			differ("usage", usage, resp.Usage)
		}
	}
	if want.total != nil && *want.total != resp.Usage.Input+resp.Usage.Output {
		differ("total tokens", *want.total, resp.Usage.Input+resp.Usage.Output)
	}
	if thought := reasoningText(resp); want.reasoning != nil && *want.reasoning != thought {
		differ("reasoning", *want.reasoning, thought)
	}
	if said, _ := azure.Refusal(resp); want.refusal != nil && *want.refusal != said {
		differ("refusal", *want.refusal, said)
	}
	if want.frames != nil && *want.frames != got.frames {
		differ("events", *want.frames, got.frames)
	}
	if n := textDeltas(got.events); want.textDeltas != nil && *want.textDeltas != n {
		differ("text deltas", *want.textDeltas, n)
	}
	if got.events != nil {
		problems = append(problems, differentEvents(got)...)
	}
	if want.more != nil && got.err != nil {
		problems = append(problems, want.more(got)...)
	}
	return problems
}

// differsBefore compares what had come of a stream before its error. Why it would have ended, and what it would have
// cost, nobody has said.
func (want *expectation) differsBefore(resp *llm.Response, got *result) (problems []string) {
	differ := func(what string, want, got any) {
		problems = append(problems, fmt.Sprintf("before the error: %s: want %v, got %v", what, want, got))
	}
	if resp.Text() != want.text {
		differ("text", want.text, resp.Text())
	}
	if n := textDeltas(got.events); want.textDeltas != nil && *want.textDeltas != n {
		differ("text deltas", *want.textDeltas, n)
	}
	if thought := reasoningText(resp); want.reasoning != nil && *want.reasoning != thought {
		differ("reasoning", *want.reasoning, thought)
	}
	return problems
}

func (want *expectation) differsAsError(got *result) (problems []string) {
	differ := func(what string, want, got any) {
		problems = append(problems, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
	e, ok := errors.AsType[*llm.Error](got.err)
	if !ok {
		return []string{fmt.Sprintf("want an *llm.Error, got %T", got.err)}
	}
	if e.Status != want.status {
		differ("status", want.status, e.Status)
	}
	if want.code != nil && e.Code != *want.code {
		differ("code", *want.code, e.Code)
	}
	if want.message != nil && e.Message != *want.message {
		differ("message", *want.message, e.Message)
	}
	if e.RetryAfter != want.retryAfter {
		differ("retry after", want.retryAfter, e.RetryAfter)
	}
	if want.message != nil && len(*want.message) > 8 && strings.Contains(e.Error(), *want.message) {
		problems = append(problems, "the provider's words are in the text of the error")
	}
	return problems
}

func differentCalls(want []expectedCall, got []llm.ToolCall) (problems []string) {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("want %d tool calls, got %d: %+v", len(want), len(got), got)}
	}
	for i, w := range want {
		if w.Name != got[i].Name || w.ID != "" && w.ID != got[i].ID || got[i].ID == "" ||
			!sameJSON(w.Arguments, []byte(got[i].Arguments)) {
			problems = append(problems, fmt.Sprintf("tool call %d: want %s %s(%s), got %+v", i, w.ID, w.Name, w.Arguments, got[i]))
		}
	}
	return problems
}

// differentEvents folds the events again: the response is what the sink accepted.
func differentEvents(got *result) []string {
	var acc llm.Accumulator
	for _, e := range got.events {
		acc.Add(e)
	}
	folded := acc.Response()
	if folded.Text() != got.resp.Text() || !reflect.DeepEqual(folded.Message.ToolCalls(), unsignedCalls(got.resp)) {
		return []string{"the events and the response differ"}
	}
	return nil
}

// unsignedCalls are the calls without their signatures, which no event has.
func unsignedCalls(r *llm.Response) []llm.ToolCall {
	calls := r.Message.ToolCalls()
	for i := range calls {
		calls[i].Signature = nil
	}
	return calls
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func reasoningText(r *llm.Response) string {
	var b strings.Builder
	for _, p := range r.Message.Parts {
		if thought, ok := p.(llm.Reasoning); ok {
			b.WriteString(thought.Text)
		}
	}
	return b.String()
}

func textDeltas(events []llm.Event) (n int) {
	for _, e := range events {
		if e.Kind == llm.EventText {
			n++
		}
	}
	return n
}

// value reads one key of expect; nil if it is null or not there.
func value[T any](rec *recording, key string) *T {
	raw, ok := rec.Expect[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}

// numberOrText reads one key of expect, whichever it is.
func numberOrText(rec *recording, key string) *string {
	if n := value[json.Number](rec, key); n != nil {
		return new(n.String())
	}
	return value[string](rec, key)
}

func or[T any](p *T, zero T) T {
	if p == nil {
		return zero
	}
	return *p
}
