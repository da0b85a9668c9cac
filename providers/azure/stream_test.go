package azure_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func wantText(t *testing.T, resp *llm.Response, text string) {
	t.Helper()
	if resp.Text() != text {
		t.Errorf("want the text %q, got %q", text, resp.Text())
	}
}

func TestAStreamAsksForItsUsage(t *testing.T) {
	t.Parallel()
	s := serve(t, events(text("a"), stop(), counted, done))
	if _, resp, err := stream(t, s.provider(t), hello()); err != nil || resp.Usage != (llm.Usage{Input: 5, Output: 3, Reported: true}) {
		t.Errorf("%+v, %v", resp, err)
	}
	if w := `{"messages":[{"role":"user","content":"hello"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`; s.Last(t).Raw != w {
		t.Errorf("want %s, got %s", w, s.Last(t).Raw)
	}
}

// TestCommentsAndEventLinesAreNoise: go-openai collects every line that is no data, gives up after 300 of them,
// and loses an error that follows them.
func TestCommentsAndEventLinesAreNoise(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat(": ping\n\n", 400) + ": ping\r\n\r\n" + "event: ping\n\n" + "id: 1\nretry: 5\n\n"
	_, resp := streamed(t, events("\ufeff"+text("a"), noise, "event: message\n"+text("b"), noise, stop(), noise, done))
	wantText(t, resp, "ab")
}

func TestAnErrorInsideAStreamIsThatError(t *testing.T) {
	t.Parallel()
	const inner = `{"code":"server_error","type":"x","message":"overloaded"}`
	for name, frame := range map[string]string{
		"plain":               `data: {"error":` + inner + "}\n\n",
		"spaced":              `data: {"error" : ` + inner + "}\n\n",
		"blank in front":      `data: { "error":` + inner + "}\n\n",
		"no blank after data": `data:{"error":` + inner + "}\n\n",
		"other members first": `data: {"id":"c1","choices":[],"error":` + inner + "}\n\n",
		"under event: error":  "event: error\n" + `data: {"error":` + inner + "}\n\n",
		"without a wrapper":   "event: error\ndata: " + inner + "\n\n",
		"after comments":      strings.Repeat(": x\n", 200) + `data: {"error":` + inner + "}\n\n",
		"no data:":            `{"error":` + inner + "}\n",
		"pretty":              "{\n  \"error\": " + inner + "\n}\n",
		"no empty line":       `data: {"error":` + inner + "}\n",
		"inside a choice":     `data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":` + inner + "}]}\n\n",
	} {
		for _, before := range []string{"", text("a")} {
			for end, handle := range map[string]http.HandlerFunc{
				"done":  events(before, frame, done),
				"hang":  thenHang(before, frame),
				"abort": thenAbort(before, frame),
			} {
				_, resp, err := stream(t, serve(t, handle).provider(t), hello())
				e := failed(t, err, llm.ErrUnavailable)
				partial := ""
				if before != "" {
					partial = "a"
				}
				if e.Message != "overloaded" || e.Code != "server_error" || e.Status != 200 || resp.Text() != partial {
					t.Errorf("%s, %s: %+v, partial %q", name, end, e, resp.Text())
				}
			}
		}
	}
}

func TestTheSDKsErrorOfAStreamCanBeReached(t *testing.T) {
	t.Parallel()
	_, _, err := stream(t, serve(t, events(`data: {"error":{"code":"rate_limit_exceeded","message":"slow"}}`+"\n\n")).provider(t), hello())
	wantKind(t, err, llm.ErrRateLimited)
	if sdk, ok := errors.AsType[*openai.APIError](err); !ok || sdk.Message != "slow" {
		t.Errorf("got %+v", sdk)
	}
}

func TestAServerThatDoesNotStreamIsUnderstood(t *testing.T) {
	t.Parallel()
	got, resp := streamed(t, reply(200, ok))
	if wantText(t, resp, "hi"); len(got) != 1 || !resp.Usage.Reported {
		t.Errorf("%d events, %+v", len(got), resp)
	}
}

func TestAWholeMessageAtTheEndOfAStreamIsNotAddedAgain(t *testing.T) {
	t.Parallel()
	last := `data: {"choices":[{"index":0,"delta":{},"message":{"content":"ab"},"finish_reason":"stop"}]}` + "\n\n"
	_, resp := streamed(t, events(text("a"), text("b"), last, done))
	wantText(t, resp, "ab")
}

func TestChunksWithoutChoicesAreNoContent(t *testing.T) {
	t.Parallel()
	filter := `data: {"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}` + "\n\n"
	async := `data: {"id":"","model":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"check_offset":1},"content_filter_results":{"hate":{"filtered":false}}}]}` + "\n\n"
	got, resp := streamed(t, events(filter, text("a"), async, stop(), counted, done))
	if wantText(t, resp, "a"); len(got) != 1 || resp.ID != "c1" || resp.ModelVersion != "m-1" {
		t.Errorf("%d events, %+v", len(got), resp)
	}
}

func TestTheLastUsageThatHasNumbersCounts(t *testing.T) {
	t.Parallel()
	usage := func(in, out int) string {
		return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n", in, out)
	}
	_, resp := streamed(t, events(usage(0, 0), text("a"), usage(5, 1), stop(), usage(5, 3), usage(0, 0), done))
	if resp.Usage != (llm.Usage{Input: 5, Output: 3, Reported: true}) {
		t.Errorf("%+v", resp.Usage)
	}
}

// What was reasoned is part of the output, also where a total shows that the provider counts it beside it.
func TestTheOutputHasItsReasoning(t *testing.T) {
	t.Parallel()
	for total, output := range map[string]int64{`,"total_tokens":609`: 321, `,"total_tokens":315`: 27, "": 27, `,"total_tokens":1000`: 27} {
		resp := answered(t, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":288,
			"completion_tokens":27,"completion_tokens_details":{"reasoning_tokens":294}`+total+`}}`)
		if want := (llm.Usage{Input: 288, Output: output, Reasoning: 294, Reported: true}); resp.Usage != want {
			t.Errorf("%s: %+v", total, resp.Usage)
		}
	}
}

func TestNoCountIsNegative(t *testing.T) {
	t.Parallel()
	for counts, want := range map[string]llm.Usage{
		`"prompt_tokens":-5,"completion_tokens":-9`: {},
		`"prompt_tokens":-5,"completion_tokens":0`:  {},
		`"prompt_tokens":5,"completion_tokens":-9,"prompt_tokens_details":{"cached_tokens":-1,"cache_write_tokens":-2},
			"completion_tokens_details":{"reasoning_tokens":-3}`: {Input: 5, Reported: true},
	} {
		body := `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{` + counts + `}}`
		resp, err := unary(t, serve(t, reply(200, body, "X-Ratelimit-Remaining-Tokens", "-7")).provider(t), hello())
		if err != nil || resp.Usage != want || resp.RateLimit.RemainingTokens != 0 {
			t.Errorf("%s: %+v, %v", counts, resp, err)
		}
	}
}

func TestACompressedStreamIsRead(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/event-stream")
		z := gzip.NewWriter(w)
		for _, e := range []string{text("zip"), stop(), done} {
			_, _ = io.WriteString(z, e)
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = z.Close()
	})
	wantText(t, resp, "zip")
}

func TestReasoningComesUnderEitherName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"reasoning_content", "reasoning"} {
		got, resp := streamed(t, events(
			data(`{"`+name+`":"I th"}`, "null"), data(`{"`+name+`":"ink"}`, "null"), text("so"), stop(), done))
		want := llm.Parts{llm.Reasoning{Text: "I think"}, llm.Text{Text: "so"}}
		if !reflect.DeepEqual(resp.Message.Parts, want) || got[0].Kind != llm.EventReasoning || got[2].Index != 1 {
			t.Errorf("%s: %+v", name, resp.Message.Parts)
		}
	}
}

func TestAFilteredStreamIsAnErrorWithWhatHadCome(t *testing.T) {
	t.Parallel()
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter","content_filter_results":` +
		`{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"medium"}}}]}` + "\n\n"
	for _, last := range []string{counted + done, ""} {
		_, resp, err := stream(t, serve(t, events(text("some"), end, last)).provider(t), hello())
		e := failed(t, err, llm.ErrContentFiltered)
		if resp.Text() != "some" || resp.RawFinish != "content_filter" || e.Partial != resp ||
			!reflect.DeepEqual(e.Filtered, []string{"violence (medium)"}) || resp.Usage.Reported != (last != "") {
			t.Errorf("%+v, %+v", e, resp)
		}
	}
}

func TestTheSinksErrorComesBackAsItWas(t *testing.T) {
	t.Parallel()
	stopped := errors.New("enough")
	p := serve(t, thenHang(text("a"), text("b"), text("c"))).provider(t)
	n := 0
	resp, err := p.Generate(t.Context(), hello(), func(llm.Event) error {
		if n++; n == 3 {
			return stopped
		}
		return nil
	})
	if err != stopped || resp.Text() != "ab" { //nolint:errorlint // exactly as it was
		t.Errorf("%v, %+v", err, resp)
	}
}

func TestAPanicOfTheSinkIsTheCallers(t *testing.T) {
	t.Parallel()
	p := serve(t, thenHang(text("a"))).provider(t)
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, _ = p.Generate(t.Context(), hello(), func(llm.Event) error { panic("mine") })
	t.Error("no panic")
}

// panics is a body that panics in the hands of the SDK.
type panics struct{ io.Reader }

func (p panics) Read([]byte) (int, error) { panic("secret of the SDK") }

func (p panics) Close() error { return nil }

func TestAPanicUnderTheSDKIsBadOutputWithoutItsText(t *testing.T) {
	t.Parallel()
	p := keep(t)(azure.Compatible(&azure.CompatibleOptions{
		BaseURL: "http://localhost", Model: "m", HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: panics{}}, nil
		})},
	}))
	_, _, err := stream(t, p, hello())
	for range 2 {
		if e := failed(t, err, llm.ErrBadOutput); e.Code != "sdk_panic" || strings.Contains(fmt.Sprintf("%+v %v", e, e.Err), "secret") {
			t.Errorf("%+v", e)
		}
		_, err = unary(t, p, hello())
	}
}
