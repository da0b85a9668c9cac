package vertex_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// reading is a provider whose every answer is read from body.
func reading(t *testing.T, contentType string, body io.ReadCloser) *vertex.Provider {
	t.Helper()
	return keep(t)(vertex.New(&vertex.Options{
		Project: "p", Model: "gemini-2.5-flash", APIKey: "key-test",
		HTTP: adaptertest.Reading(contentType, body),
	}))
}

const eventStream = "text/event-stream"

func always(piece string) io.ReadCloser { return adaptertest.Pieces(func(int) string { return piece }) }

func TestAnEndlessStreamIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("eHh4", mib/4)
	for name, c := range map[string]struct{ parts, finish string }{
		"text":                  {text(long), ""},
		"thought":               {`{"thought":true,"text":"` + long + `"}`, ""},
		"signature":             {`{"thoughtSignature":"` + long + `"}`, ""},
		"signature of a call":   {`{"functionCall":{"name":"f"},"thoughtSignature":"` + long + `"}`, ""},
		"arguments":             {`{"functionCall":{"name":"f","args":{"a":"` + long + `"}}}`, ""},
		"media":                 {`{"inlineData":{"mimeType":"image/png","data":"` + long + `"}}`, ""},
		"an address":            {`{"fileData":{"mimeType":"image/png","fileUri":"` + long + `"}}`, ""},
		"a part of a new kind":  {`{"newer":"` + long + `"}`, ""},
		"a finish in every one": {text(long), "STOP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "text" && name != "media" {
				adaptertest.Heavy(t)
			}
			accepted := 0
			p := reading(t, eventStream, always(data(chunk(c.parts, c.finish))))
			resp, err := p.Generate(t.Context(), hello(), func(e llm.Event) error { accepted += len(e.Delta); return nil })
			e := failed(t, err, llm.ErrBadOutput)
			if e.Code != "answer_too_large" || e.Partial != resp || e.Status != 200 || accepted > 32*mib {
				t.Errorf("%d bytes: %s, %v", accepted, e.Code, e)
			}
		})
	}
}

func TestAnEndlessValueIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mib)
	for name, c := range map[string]struct {
		contentType, begin, again string
		streams                   bool
	}{
		"a whole answer":      {"application/json", `{"a":"`, long, false},
		"blanks":              {"application/json", "", strings.Repeat(" ", mib), false},
		"an event":            {eventStream, `data: {"a":"`, long, true},
		"a value of a list":   {"application/json", `[{"a":"`, long, true},
		"blanks in a list":    {"application/json", `[`, strings.Repeat(" ", mib), true},
		"a line without data": {eventStream, `junk: `, long, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := reading(t, c.contentType, adaptertest.Pieces(func(i int) string {
				if i == 0 && c.begin != "" {
					return c.begin
				}
				return c.again
			}))
			var sink llm.Sink
			if c.streams {
				sink = func(llm.Event) error { return nil }
			}
			_, err := p.Generate(t.Context(), hello(), sink)
			if e := failed(t, err, llm.ErrBadOutput); e.Code != "answer_too_large" || e.Status != 200 {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAnEndlessNumberOfPartsIsCutAtItsBound(t *testing.T) { //nolint:paralleltest // it measures memory
	for name, c := range map[string]struct{ parts, code string }{
		"calls":      {`{"functionCall":{"name":"f"}}`, "too_many_tool_calls"},
		"media":      {strings.Repeat(`{"inlineData":{}},`, 99) + `{"inlineData":{}}`, "answer_too_large"},
		"text":       {strings.Repeat(`{"text":"x"},{"text":"x","thought":true},`, 99) + `{"text":"x"}`, "answer_too_large"},
		"signatures": {strings.Repeat(`{"thoughtSignature":"AQ=="},`, 99) + `{"thoughtSignature":"AQ=="}`, "answer_too_large"},
	} {
		var err error
		mibs := allocated(func() {
			_, err = reading(t, eventStream, always(data(chunk(c.parts, "")))).Generate(t.Context(), hello(), func(llm.Event) error { return nil })
		})
		if e := failed(t, err, llm.ErrBadOutput); e.Code != c.code || mibs > 512 && !raceEnabled {
			t.Errorf("%s: %s after %d MiB", name, e.Code, mibs)
		}
	}
}

// list is a JSON array of about 2 MiB of the same element, less with the race detector.
func list(element string) string {
	size := 2 * mib
	if raceEnabled {
		size /= 8
	}
	return "[" + strings.Repeat(element+",", size/(len(element)+1)) + element + "]"
}

func TestManyElementsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	var members strings.Builder
	for i := range 2 * mib / 16 {
		fmt.Fprintf(&members, `"m%d":0,`, i)
	}
	for name, c := range map[string]struct{ body, code string }{
		"answers":         {list("{}"), "answer_too_large"},
		"candidates":      {`{"candidates":` + list("{}") + `}`, "empty_answer"},
		"parts":           {`{"candidates":[{"content":{"parts":` + list("{}") + `},"finishReason":"STOP"}]}`, "answer_too_large"},
		"calls":           {`{"candidates":[{"content":{"parts":[` + strings.Repeat(`{"functionCall":{"name":"f"}},`, 1<<16) + `{}]},"finishReason":"STOP"}]}`, "answer_too_large"},
		"calls, fewer":    {`{"candidates":[{"content":{"parts":[` + strings.Repeat(`{"functionCall":{"name":"f"}},`, 1024) + `{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`, "too_many_tool_calls"},
		"ratings":         {`{"candidates":[{"finishReason":"SAFETY","safetyRatings":` + list(`{"blocked":true}`) + `}]}`, "SAFETY"},
		"members":         {`{"candidates":[{"content":{"parts":[{` + members.String() + `"z":0}]},"finishReason":"OTHER"}]}`, ""},
		"an error":        {`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":` + list("{}") + `}}`, "RESOURCE_EXHAUSTED"},
		"an error's text": {`{"error":{"status":"RESOURCE_EXHAUSTED","message":"` + strings.Repeat("{", 2*mib) + `"}}`, "RESOURCE_EXHAUSTED"},
	} {
		for kind, ask := range map[string]func() error{
			"whole": func() error {
				_, err := reading(t, "application/json", adaptertest.Pieces(once(c.body))).Generate(t.Context(), hello(), nil)
				return err
			},
			"streamed": func() error {
				_, _, err := stream(t, reading(t, eventStream, adaptertest.Pieces(once(data(c.body)))), hello())
				return err
			},
		} {
			var err error
			mibs := allocated(func() { err = ask() })
			if mibs > 40 && !raceEnabled {
				t.Errorf("%s, %s: %d MiB", name, kind, mibs)
			}
			e, _ := err.(*llm.Error) //nolint:errorlint // the contract says so
			if c.code == "" && err != nil || c.code != "" && (e == nil || e.Code != c.code && e.Code != "no_end_mark") {
				t.Errorf("%s, %s: %+v", name, kind, err)
			}
		}
	}
}

func once(body string) func(int) string {
	return func(i int) string {
		if i == 0 {
			return body
		}
		return ""
	}
}

func TestNoCountOfTokensIsNegative(t *testing.T) {
	t.Parallel()
	const counts = `,"usageMetadata":{"promptTokenCount":9223372036854775807,"toolUsePromptTokenCount":9223372036854775807,
		"candidatesTokenCount":-3,"thoughtsTokenCount":-4,"cachedContentTokenCount":-1,"totalTokenCount":-2}}`
	u := answered(t, strings.TrimSuffix(chunk(text("hi"), "STOP"), "}")+counts).Usage
	if u.Input <= 0 || u.Output != 0 || u.CacheRead != 0 || u.Reasoning != 0 || !u.Reported {
		t.Errorf("%+v", u)
	}
}

// TestCallsWithOneIDAreToldApart: a result names only the id.
func TestCallsWithOneIDAreToldApart(t *testing.T) {
	t.Parallel()
	const add, mul = `{"functionCall":{"id":"u","name":"add","args":{"a":1}}}`, `{"functionCall":{"id":"u","name":"mul","args":{"b":2}}}`
	whole := answered(t, counted(chunk(add+","+mul, "STOP")))
	_, streamed := streamed(t, events(data(chunk(add, "")), data(counted(chunk(mul, "STOP")))))
	for _, resp := range []*llm.Response{whole, streamed} {
		got := resp.Message.ToolCalls()
		if len(got) != 2 || got[0].ID != "u" || got[1].ID == "u" || got[1].ID == "" || got[0].Arguments != `{"a":1}` || got[1].Arguments != `{"b":2}` {
			t.Fatalf("%+v", got)
		}
		s := serve(t, reply(200, ok))
		req := hello()
		req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleTool, Parts: llm.Parts{
			llm.ToolResult{CallID: got[1].ID, Parts: llm.Parts{llm.Text{Text: "2"}}}, llm.ToolResult{CallID: "u", Parts: llm.Parts{llm.Text{Text: "1"}}},
		}})
		if _, err := unary(t, s.provider(t), req); err != nil {
			t.Fatal(err)
		}
		raw := s.Last(t).Raw
		first, second := strings.Index(raw, `"output":"1"`), strings.Index(raw, `"output":"2"`)
		if strings.Count(raw, `"id":"u"`) != 2 || strings.Contains(raw, got[1].ID) || first < 0 || second < first {
			t.Errorf("%s", raw)
		}
	}
}
