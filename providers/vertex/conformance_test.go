package vertex_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/conformance"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The contract against a service of a few lines. The simulated cloud, which also refuses what the real one refuses,
// has its turn in the folder above.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*vertex.Options){
		"vertex":  func(*vertex.Options) {},
		"express": func(o *vertex.Options) { o.Project = "" },
		"gemini":  func(o *vertex.Options) { o.Project, o.Location = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, conformance.Harness{New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
				t.Helper()
				s := httptest.NewServer(&scripted{fake: llmtest.New(script...)})
				t.Cleanup(s.Close)
				o := &vertex.Options{Endpoint: s.URL, Project: "p1", Location: "global", Model: "gemini-2.5-flash", APIKey: "key"}
				change(o)
				return keep(t)(vertex.New(o))
			}})
		})
	}
}

// scripted answers as a fake does, in the form of the service.
type scripted struct{ fake *llmtest.Fake }

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	req := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
	if !strings.Contains(r.URL.Path, ":stream") {
		resp, err := s.fake.Generate(r.Context(), req, nil)
		if err != nil {
			fail(w, err, false)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, encoded(resp, resp.Message.Parts, true))
		return
	}
	out := &eventWriter{w: w}
	resp, err := s.fake.Generate(r.Context(), req, out.event)
	if err != nil {
		fail(w, err, out.begun)
		return
	}
	out.flushCall()
	out.write(encoded(resp, opaque(resp.Message.Parts), true))
}

// opaque are the parts that no event brings.
func opaque(parts llm.Parts) (kept llm.Parts) {
	for _, p := range parts {
		switch p.(type) {
		case llm.Opaque, llm.Media:
			kept = append(kept, p)
		}
	}
	return kept
}

// eventWriter writes events; calls go out whole.
type eventWriter struct {
	w     http.ResponseWriter
	begun bool
	call  *llm.ToolCall
}

func (o *eventWriter) event(e llm.Event) error {
	switch e.Kind {
	case llm.EventToolCall:
		o.flushCall()
		o.call = &llm.ToolCall{ID: e.ID, Name: e.Name}
		o.write(`{}`) // the header goes out
	case llm.EventToolArguments:
		o.call.Arguments += e.Delta
	case llm.EventText:
		o.flushCall()
		o.write(encoded(nil, llm.Parts{llm.Text{Text: e.Delta}}, false))
	case llm.EventReasoning:
		o.flushCall()
		o.write(encoded(nil, llm.Parts{llm.Reasoning{Text: e.Delta}}, false))
	default:
	}
	return nil
}

func (o *eventWriter) flushCall() {
	if o.call != nil {
		o.write(encoded(nil, llm.Parts{*o.call}, false))
		o.call = nil
	}
}

func (o *eventWriter) write(chunk string) {
	if !o.begun {
		o.w.Header().Set("Content-Type", "text/event-stream")
		o.begun = true
	}
	_, _ = io.WriteString(o.w, data(chunk))
	_ = http.NewResponseController(o.w).Flush()
}

func encoded(r *llm.Response, parts llm.Parts, last bool) string {
	list := []any{}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			list = append(list, map[string]any{"text": p.Text})
		case llm.Reasoning:
			list = append(list, map[string]any{"text": p.Text, "thought": true})
		case llm.ToolCall:
			call := map[string]any{"name": p.Name, "id": p.ID}
			if p.Arguments != "" {
				call["args"] = json.RawMessage(p.Arguments)
			}
			list = append(list, map[string]any{"functionCall": call})
		}
	}
	candidate := map[string]any{"content": map[string]any{"role": "model", "parts": list}}
	out := map[string]any{"candidates": []any{candidate}}
	if last {
		words := map[string]string{"": "STOP", "stop": "STOP", "tool_call": "STOP", "length": "MAX_TOKENS", "other": "OTHER"}
		candidate["finishReason"] = cmp.Or(words[cmp.Or(r.RawFinish, string(r.Finish))], r.RawFinish)
		out["usageMetadata"] = map[string]any{
			"promptTokenCount": r.Usage.Input, "candidatesTokenCount": r.Usage.Output - r.Usage.Reasoning,
			"thoughtsTokenCount": r.Usage.Reasoning, "cachedContentTokenCount": r.Usage.CacheRead,
		}
		out["responseId"], out["modelVersion"] = r.ID, r.ModelVersion
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// fail writes an error as the service would.
func fail(w http.ResponseWriter, err error, begun bool) {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok || e.Kind == llm.ErrInterrupted || e.Kind == llm.ErrConnection || e.Kind == llm.ErrCanceled:
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	case e.Kind == llm.ErrBadOutput && !begun:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chunk("", "STOP"))
		return
	case e.Kind == llm.ErrContentFiltered && !begun:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(max(e.Status, 200))
		_, _ = io.WriteString(w, `{"error":{"code":400,"status":"content_filter"}}`)
		return
	}
	status := map[llm.Kind]string{
		llm.ErrInvalid: "INVALID_ARGUMENT", llm.ErrAuth: "UNAUTHENTICATED", llm.ErrNotFound: "NOT_FOUND",
		llm.ErrRateLimited: "RESOURCE_EXHAUSTED", llm.ErrUnavailable: "UNAVAILABLE", llm.ErrTimeout: "DEADLINE_EXCEEDED",
		llm.ErrContextTooLong: "INVALID_ARGUMENT",
	}[e.Kind]
	message := "the provider's own words: " + e.Message
	if e.Kind == llm.ErrContextTooLong {
		message = "The input token count exceeds the maximum number of tokens allowed"
	}
	details := []any{}
	if e.RetryAfter > 0 {
		details = append(details, map[string]string{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": e.RetryAfter.String()})
	}
	code := e.Status
	if code == 0 {
		code = 503
	}
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": code, "status": status, "message": message, "details": details}})
	if begun {
		_, _ = io.WriteString(w, data(string(body)))
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
