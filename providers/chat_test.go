package providers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// The rows of Azure and OpenAI: chat completions.

// plainChat rewrites a recorded request without what says nothing: a doubled slash, lists that are empty, arguments of
// a call that are none, strict where it is off, and a model beside the deployment in the path, which decides.
func plainChat(rec *recording) {
	rec.Request.Path = strings.Replace(rec.Request.Path, "//", "/", 1)
	var body map[string]any
	dec := json.NewDecoder(bytes.NewReader(rec.Request.Body))
	dec.UseNumber()
	if dec.Decode(&body) != nil || body == nil {
		return
	}
	for _, one := range list(body["messages"]) {
		m, _ := one.(map[string]any)
		for _, name := range []string{"annotations", "tool_calls"} {
			if l, ok := m[name].([]any); ok && len(l) == 0 {
				delete(m, name)
			}
		}
		for _, call := range list(m["tool_calls"]) {
			c, _ := call.(map[string]any)
			if f, ok := c["function"].(map[string]any); ok && f["arguments"] == "" {
				f["arguments"] = "{}"
			}
		}
	}
	if strings.HasPrefix(rec.Request.Path, "/openai/deployments/") {
		delete(body, "model")
	}
	if l, ok := body["tools"].([]any); ok && len(l) == 0 {
		delete(body, "tools")
	}
	format, _ := body["response_format"].(map[string]any)
	if s, ok := format["json_schema"].(map[string]any); ok && s["strict"] == false {
		delete(s, "strict")
	}
	rec.Request.Body, _ = json.Marshal(body)
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// openAzure chooses the settings by the recorded path, as a user would.
func openAzure(rec *recording, server string, client *http.Client) (llm.Generator, error) {
	plainChat(rec)
	u, err := url.Parse(rec.Request.Path)
	if err != nil {
		return nil, err
	}
	var body struct {
		Model     string
		MaxTokens *int `json:"max_tokens"`
	}
	_ = json.Unmarshal(rec.Request.Body, &body)
	if body.Model == "" {
		body.Model = rec.Model
	}
	base := strings.TrimSuffix(u.Path, "/chat/completions")
	if rec.Provider == "openai" || base == "" {
		return azure.Compatible(&azure.CompatibleOptions{
			BaseURL: server + base, Model: body.Model, Key: "key", HTTP: client, LegacyMaxTokens: body.MaxTokens != nil,
		})
	}
	o := &azure.Options{
		Endpoint: server, Deployment: body.Model, Key: "key", HTTP: client,
		APIVersion: u.Query().Get("api-version"), LegacyMaxTokens: body.MaxTokens != nil,
	}
	switch name, deployed := strings.CutPrefix(base, "/openai/deployments/"); {
	case deployed && o.APIVersion == "":
		o.Endpoint += base
	case deployed:
		o.Deployment = name
	case base == "/models":
		o.Endpoint += base
	}
	return azure.New(o)
}

func chatOutcome(rec *recording) (want expectation, unfit []string) {
	if rec.Kind == "error" {
		want.kind, want.status = llm.ErrUnknown, or(value[int](rec, "status"), 0)
		want.code, unfit = chatCode(rec)
		if m := value[string](rec, "error_message"); m != nil {
			want.message = new(cut(*m, 512))
		}
		want.retryAfter = time.Duration(or(value[float64](rec, "retry_after_ms"), 0) * float64(time.Millisecond))
		if want.retryAfter <= 0 {
			want.retryAfter = time.Duration(or(value[float64](rec, "retry_after_seconds"), 0) * float64(time.Second))
		}
		if or(want.code, "") == "content_filter" {
			want.kind = llm.ErrContentFiltered
		}
		return want, unfit
	}
	want.text, want.finish = or(value[string](rec, "text"), ""), or(value[string](rec, "finish_reason"), "")
	want.calls = or(value[[]expectedCall](rec, "tool_calls"), nil)
	want.reasoning, want.refusal = value[string](rec, "reasoning_text"), value[string](rec, "refusal")
	want.frames, want.textDeltas = value[int](rec, "events"), value[int](rec, "text_deltas")
	want.total = value[int64](rec, "total_tokens")
	want.usage = &llm.Usage{
		Input: or(value[int64](rec, "input_tokens"), 0), Output: or(value[int64](rec, "output_tokens"), 0),
		CacheRead: or(value[int64](rec, "cached_tokens"), 0), CacheWrite: or(value[int64](rec, "cache_write_tokens"), 0),
		Reasoning: or(value[int64](rec, "reasoning_tokens"), 0), Reported: value[int64](rec, "input_tokens") != nil,
	}
	want.writesUnsaid = value[int64](rec, "cache_write_tokens") == nil
	if u := want.usage; want.total != nil && u.Reasoning > 0 && *want.total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning // which Grok counts apart
	}
	if want.finish == "content_filter" {
		want.kind = llm.ErrContentFiltered
	}
	if e := value[struct{ Message string }](rec, "stream_error"); e != nil {
		want.kind, want.status, want.message = llm.ErrUnknown, rec.Response.Status, new(cut(e.Message, 512))
	}
	if n := or(value[int](rec, "choices"), 1); n > 1 {
		unfit = append(unfit, "more than one choice: a response has one message, the first choice is taken")
	}
	for _, c := range want.calls {
		if c.Type == "custom" {
			want.skipCalls = true
			unfit = append(unfit, "a custom tool's input is no JSON: it comes as an opaque part")
		}
	}
	if rec.Expect["legacy_function_call"] != nil {
		unfit = append(unfit, "function_call is from before tools and has no id: it comes as an opaque part")
	}
	want.bare = isBare(&want)
	if endsEarly(rec, &want) && !strings.Contains(rec.Response.Body, "[DONE]") {
		want.kind = llm.ErrInterrupted
	}
	return want, unfit
}

// endsEarly reports whether a stream has no end mark, or only one that expect does not tell of.
func endsEarly(rec *recording, want *expectation) bool {
	return rec.Kind == "stream" && want.kind == "" && want.finish == ""
}

// isBare reports whether expect tells nothing that an answer holds, and it was not cut.
func isBare(want *expectation) bool {
	return want.text == "" && len(want.calls) == 0 && want.reasoning == nil && want.refusal == nil &&
		!slices.Contains([]string{"length", "max_tokens", "MAX_TOKENS"}, reasonOf(want.finish))
}

// chatCode is the code of an error, or its type where the code only repeats the status.
func chatCode(rec *recording) (code *string, unfit []string) {
	code = numberOrText(rec, "error_code")
	if code != nil && *code == strconv.Itoa(rec.Response.Status) {
		return value[string](rec, "error_type"), nil
	}
	if code != nil && strings.ContainsAny(*code, " \t\n") {
		return nil, []string{"a code that is no word could be free text, and a code is logged: it is not kept"}
	}
	return code, nil
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// sseFrames counts the data objects of an event stream.
func sseFrames(body []byte) (n int) {
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok && strings.TrimSpace(data) != "[DONE]" {
			n++
		}
	}
	return n
}
