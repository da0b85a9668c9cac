package azure_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// both asks for body whole and as one event of a stream, and wants little memory for it.
func both(t *testing.T, name, body string, limit int, check func(resp *llm.Response, err error)) {
	t.Helper()
	whole := canned(t, 200, "application/json", []byte(body))
	event := strings.Replace(body, `"message":`, `"delta":`, 1)
	pieces := canned(t, 200, "text/event-stream", []byte("data: "+event+"\n\n"+done))
	for kind, call := range map[string]func() (*llm.Response, error){
		"whole":    func() (*llm.Response, error) { return unary(t, whole, hello()) },
		"streamed": func() (*llm.Response, error) { _, resp, err := stream(t, pieces, hello()); return resp, err },
	} {
		n := allocated(func() { check(call()) })
		if n > limit && !raceEnabled {
			t.Errorf("%s, %s: %d MiB were allocated, at most %d are good", name, kind, n, limit)
		}
	}
}

// list is a JSON array of about 2 MiB of the same element, less with the race detector.
func list(element string, last string) string {
	size := 2 * mib
	if raceEnabled {
		size /= 8
	}
	return "[" + strings.Repeat(element+",", size/(len(element)+1)) + last + "]"
}

func TestManyElementsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	wantCode := func(code string) func(*llm.Response, error) {
		return func(_ *llm.Response, err error) {
			if e := failed(t, err, llm.ErrBadOutput); e.Code != code {
				t.Errorf("want %s, got %+v", code, e)
			}
		}
	}
	numbered := func() string {
		var b strings.Builder
		for i := range 2 * mib / 16 {
			fmt.Fprintf(&b, `{"index":%d},`, i)
		}
		return "[" + b.String() + `{"index":0,"id":"a","function":{"name":"f"}}]`
	}()
	both(t, "choices", `{"choices":`+list("{}", "{}")+`}`, 24, wantCode("empty_answer"))
	both(t, "choices of others", `{"choices":`+list(`{"index":1}`, "{}")+`}`, 32, wantCode("empty_answer"))
	both(t, "calls", message(`{"tool_calls":`+list("{}", "{}")+`}`, `"stop"`), 24, wantCode("too_many_tool_calls"))
	both(t, "numbered calls", message(`{"tool_calls":`+numbered+`}`, `"stop"`), 24, wantCode("too_many_tool_calls"))
	both(t, "calls behind an odd member", `{"id":5,`+message(`{"tool_calls":`+list("{}", "{}")+`}`, `"stop"`)[1:], 24, wantCode("too_many_tool_calls"))
	both(t, "parts", message(`{"content":`+list("{}", `{"text":"hi"}`)+`}`, `"stop"`), 24, func(_ *llm.Response, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	both(t, "filters", `{"choices":[{"message":{},"finish_reason":"content_filter","content_filter_results":`+
		`{"x":`+list("{}", "{}")+`}}]}`, 24, func(_ *llm.Response, err error) { wantKind(t, err, llm.ErrContentFiltered) })
}

func TestAnErrorInsideA200IsReadAsFarAsAnErrorBody(t *testing.T) { //nolint:paralleltest // it measures memory
	var categories strings.Builder
	for i := range 2 * mib / 24 {
		fmt.Fprintf(&categories, `"c%d":{"filtered":true},`, i)
	}
	for name, c := range map[string]struct {
		body string
		kind llm.Kind
		code string
	}{
		"numbers":      {`{"error":` + list("1", "1") + `}`, llm.ErrUnavailable, ""},
		"text":         {`{"error":"` + strings.Repeat("a", 2*mib) + `"}`, llm.ErrUnavailable, ""},
		"a message":    {`{"error":{"code":"rate_limit_exceeded","message":"` + strings.Repeat("{", 2*mib) + `"}}`, llm.ErrRateLimited, "rate_limit_exceeded"},
		"half a count": {`{"error":{"type":"x","code":4` + strings.Repeat("2", 2*mib) + `}}`, llm.ErrUnavailable, "x"},
		"categories": {
			`{"error":{"code":"content_filter","innererror":{"content_filter_result":{` + categories.String() + `"z":{}}}}}`,
			llm.ErrContentFiltered, "content_filter",
		},
		"details":         {`{"error":{"message":"m","details":` + list(`{"reason":"x","metadata":{}}`, "{}") + `}}`, llm.ErrUnavailable, ""},
		"inside a choice": {`{"choices":[{"error":{"code":"rate_limit_exceeded","details":` + list(`{}`, "{}") + `}}]}`, llm.ErrRateLimited, "rate_limit_exceeded"},
	} {
		both(t, name, c.body, 32, func(_ *llm.Response, err error) {
			if e := failed(t, err, c.kind); e.Code != c.code || e.Status != 200 || len(e.Filtered) > 3000 {
				t.Errorf("%s: %+v", name, e)
			}
		})
	}
}

func TestPiecesThatAreHeldTakeLittleMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	n := 20_000
	if raceEnabled {
		n = 1_000
	}
	for name, delta := range map[string]string{
		"custom tool":               calls(`{"index":0,"id":"a","custom":{"input":"abcd"}}`),
		"function_call":             `{"function_call":{"arguments":"abcd"}}`,
		"arguments before the name": calls(`{"index":0,"id":"a","function":{"arguments":"abcd"}}`),
		"refusal":                   `{"refusal":"abcd"}`,
	} {
		name1 := data(calls(`{"index":0,"function":{"name":"f"}}`), "null")
		p := canned(t, 200, "text/event-stream", []byte(strings.Repeat(data(delta, "null"), n)+name1+callsEnd))
		var resp *llm.Response
		mibs := allocated(func() { _, resp, _ = stream(t, p, hello()) })
		if resp == nil || mibs > 64 && !raceEnabled {
			t.Errorf("%s: %d MiB for %d pieces, answered: %v", name, mibs, n, resp != nil)
		}
	}
}

func TestAnEndlessAnswerIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", mib)
	for name, delta := range map[string]string{
		"text":                      `{"content":"` + long + `"}`,
		"reasoning":                 `{"reasoning":"` + long + `"}`,
		"refusal":                   `{"refusal":"` + long + `"}`,
		"function_call":             `{"function_call":{"arguments":"` + long + `"}}`,
		"arguments":                 calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"` + long + `"}}`),
		"arguments before the name": calls(`{"index":0,"function":{"arguments":"` + long + `"}}`),
		"custom tool":               calls(`{"index":0,"custom":{"input":"` + long + `"}}`),
		"finish in every chunk":     `{"content":"` + long + `"},"finish_reason":"stop","x":{}`,
	} {
		t.Run(name, func(t *testing.T) {
			if t.Parallel(); name != "text" && name != "refusal" {
				adaptertest.Heavy(t)
			}
			event := data(delta, "null")
			if strings.HasPrefix(name, "finish") {
				event = strings.Replace(event, `,"finish_reason":null`, "", 1)
			}
			p := keep(t)(azure.Compatible(&azure.CompatibleOptions{
				BaseURL: "http://localhost", Model: "m", HTTP: adaptertest.Reading("text/event-stream", adaptertest.Pieces(func(int) string { return event })),
			}))
			accepted := 0
			resp, err := p.Generate(t.Context(), hello(), func(e llm.Event) error { accepted += len(e.Delta); return nil })
			e := failed(t, err, llm.ErrBadOutput)
			if e.Code != "answer_too_large" || e.Partial != resp || accepted > 32*mib || accepted != 0 && accepted < 31*mib {
				t.Errorf("%d bytes: %+v", accepted, e)
			}
			if strings.HasPrefix(delta, `{"content"`) && len(resp.Text()) != accepted {
				t.Errorf("%d bytes are left of %d", len(resp.Text()), accepted)
			}
		})
	}
}

// ending is a body that ends a context with its last byte.
type ending struct {
	io.Reader
	end context.CancelFunc
}

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF || n > 0 && p[n-1] == '}' {
		e.end()
	}
	return n, err
}

func (ending) Close() error { return nil }

func TestAnAnswerOfACallThatIsOverIsNotDecoded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := keep(t)(azure.Compatible(&azure.CompatibleOptions{
		BaseURL: "http://localhost", Model: "m", HTTP: adaptertest.Reading("application/json", ending{strings.NewReader(ok), cancel}),
	}))
	_, err := p.Generate(ctx, hello(), nil)
	wantKind(t, err, llm.ErrCanceled)
}

func TestAnAnswerIsNotAwaitedBehindItsEnd(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"an answer": ok, "an answer behind blanks": "\ufeff\n \n" + ok, "no JSON": "<html>"} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		resp, err := unary(t, s.provider(t), hello()) // it would hang
		if name == "no JSON" {
			wantKind(t, err, llm.ErrBadOutput)
		} else if err != nil || resp.Text() != "hi" {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}
