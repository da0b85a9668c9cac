package providers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The rows of Vertex AI and the Gemini API: generateContent.

func init() {
	row := adapter{open: openVertex, request: vertexRequest, outcome: vertexOutcome, frames: vertexFrames, allowed: vertexAllowances}
	adapters["vertex"], adapters["gemini"] = row, row
}

// vertexAllowances are those of generateContent. Other spellings of the same are not among them: see canonical.
var vertexAllowances = []allowance{
	{
		"model", "it is in the path; an old client repeated it",
		func(recorded, sent any) bool { return recorded != nil && sent == nil },
	},
	{
		"contents[*].role", "the user is the default and sent all the same",
		func(recorded, sent any) bool { return recorded == nil && sent == "user" },
	},
	{
		"systemInstruction.role", "the service does not read it; the SDK sends user",
		func(recorded, sent any) bool { return recorded == nil && sent == "user" },
	},
}

// openVertex chooses the settings by the recorded path, as a user would.
func openVertex(rec *recording, server string, client *http.Client) (llm.Generator, error) {
	if err := canonical(rec); err != nil {
		return nil, err
	}
	u, err := url.Parse(rec.Request.Path)
	if err != nil {
		return nil, err
	}
	path, _, _ := strings.Cut(u.Path, ":")
	elements := strings.Split(strings.Trim(path, "/"), "/")
	o := &vertex.Options{
		Endpoint: server + "/" + elements[0], Model: elements[len(elements)-1], HTTP: client, APIKey: "key",
	}
	switch {
	case len(elements) > 4 && elements[1] == "projects":
		o.Project, o.Location = elements[2], elements[4]
	case elements[1] == "publishers":
		o.Location = "global"
	}
	return vertex.New(o)
}

func vertexOutcome(rec *recording) (want expectation, unfit []string) {
	if rec.Kind == "error" {
		want.kind, want.status, want.code = llm.ErrUnknown, or(value[int](rec, "status"), 0), value[string](rec, "error_type")
		if m := value[string](rec, "error_message"); m != nil {
			want.message = new(cut(*m, 512))
		}
		want.retryAfter = time.Duration(or(value[float64](rec, "retry_after_seconds"), 0) * float64(time.Second)).Round(time.Nanosecond)
		if code := value[int](rec, "error_code"); code != nil && *code != rec.Response.Status {
			want.code = new("error code " + strconv.Itoa(*code)) // it repeats the status
		}
		return want, nil
	}
	want.text, want.finish = or(value[string](rec, "text"), ""), finishOf(rec)
	want.calls = or(value[[]expectedCall](rec, "tool_calls"), nil)
	want.reasoning = value[string](rec, "reasoning_text")
	want.frames, want.textDeltas = value[int](rec, "events"), value[int](rec, "text_deltas")
	want.total = value[int64](rec, "total_tokens")
	thoughts := or(value[int64](rec, "reasoning_tokens"), 0)
	want.usage = &llm.Usage{
		Input:     or(value[int64](rec, "input_tokens"), 0) + or(value[int64](rec, "tool_use_prompt_tokens"), 0),
		Output:    or(value[int64](rec, "output_tokens"), 0) + thoughts,
		CacheRead: or(value[int64](rec, "cached_tokens"), 0), Reasoning: thoughts,
		Reported: value[int64](rec, "input_tokens") != nil,
	}
	block, message := value[string](rec, "block_reason"), value[string](rec, "finish_message")
	switch {
	case block != nil || slices.Contains(filtered, reasonOf(want.finish)):
		want.kind = llm.ErrContentFiltered
	case slices.Contains(malformed, want.finish):
		want.kind = llm.ErrBadOutput
	case isBare(&want):
		want.bare = true
	case message != nil:
		unfit = append(unfit, "the service's words beside a good finish have no place in a response")
	}
	if want.kind != "" || want.bare {
		reason := or(block, reasonOf(want.finish))
		if reason == "STOP" || reason == "" {
			reason = "empty_answer"
		}
		want.more = func(got *result) []string { return differsInReason(got, reason, message) }
	}
	if endsEarly(rec, &want) {
		want.kind, want.more = llm.ErrInterrupted, nil
	}
	if e := value[struct{ Message string }](rec, "stream_error"); e != nil {
		want.kind, want.more = llm.ErrUnknown, nil
		want.status, want.message = rec.Response.Status, new(cut(e.Message, 512))
	}
	if n := or(value[int](rec, "choices"), 1); n > 1 {
		unfit = append(unfit, "more than one candidate: a response has one message, the first is taken")
	}
	return want, unfit
}

var (
	filtered = []string{
		"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
	}
	malformed = []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"}
)

// numbered are the finish reasons whose numbers both services share.
var numbered = []string{"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"}

// reasonOf is the word of a finish reason that may be a number.
func reasonOf(finish string) string {
	if n, err := strconv.Atoi(finish); err == nil && n > 0 && n < len(numbered) {
		return numbered[n]
	}
	return finish
}

// finishOf is a finish reason that may be a number.
func finishOf(rec *recording) string {
	if n := value[int](rec, "finish_reason"); n != nil {
		return strconv.Itoa(*n)
	}
	return or(value[string](rec, "finish_reason"), "")
}

// differsInReason compares why an answer was stopped.
func differsInReason(got *result, reason string, message *string) (problems []string) {
	e, ok := errors.AsType[*llm.Error](got.err)
	if !ok {
		return []string{fmt.Sprintf("want an *llm.Error, got %T", got.err)}
	}
	if e.Code != reason {
		problems = append(problems, fmt.Sprintf("reason: want %s, got %s", reason, e.Code))
	}
	if message != nil && e.Message != cut(*message, 512) {
		problems = append(problems, fmt.Sprintf("words of the service: want %s, got %s", *message, e.Message))
	}
	if e.Kind == llm.ErrContentFiltered && len(e.Filtered) == 0 {
		problems = append(problems, "nothing says what was filtered")
	}
	return problems
}

// vertexFrames counts the events of a stream, or the elements of a list.
func vertexFrames(body []byte) int {
	if list := bytes.TrimSpace(body); bytes.HasPrefix(list, []byte("[")) {
		var all []json.RawMessage
		_ = json.Unmarshal(list, &all)
		return len(all)
	}
	return sseFrames(body)
}
