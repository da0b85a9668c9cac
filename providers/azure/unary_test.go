package azure_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestAWholeAnswerSaysAllThatIsKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, `{"id":"c1","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi",
		"reasoning_content":"hm"},"finish_reason":"stop"}],"usage":{"prompt_tokens":347,"completion_tokens":18,"total_tokens":365,
		"prompt_tokens_details":{"cached_tokens":403},"completion_tokens_details":{"reasoning_tokens":7}}}`,
		"X-Ratelimit-Remaining-Requests", "99", "X-Ratelimit-Limit-Requests", "100", "X-Ratelimit-Reset-Requests", "600ms",
		"X-Ratelimit-Remaining-Tokens", "10", "X-Ratelimit-Limit-Tokens", "1000", "X-Ratelimit-Reset-Tokens", "1m30s"))
	resp, err := unary(t, s.provider(t), hello())
	if err != nil {
		t.Fatal(err)
	}
	model := llm.ModelRef{Provider: "openai", Model: "m"}
	want := &llm.Response{
		ID: "c1", Model: model, ModelVersion: "m-1", Finish: llm.FinishStop, RawFinish: "stop",
		Message: llm.Message{Role: llm.RoleAssistant, From: model, Parts: llm.Parts{llm.Reasoning{Text: "hm"}, llm.Text{Text: "hi"}}},
		Usage:   llm.Usage{Input: 347, Output: 18, CacheRead: 403, Reasoning: 7, Reported: true}, // Grok counts like this
		RateLimit: llm.RateLimit{
			RemainingRequests: 99, RemainingTokens: 10, Reset: 90 * time.Second, Reported: true,
		},
	}
	if !reflect.DeepEqual(resp, want) {
		t.Errorf("want %+v\ngot  %+v", want, resp)
	}
}

func TestTheTighterLimitSaysWhenItIsFullAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header []string
		want   llm.RateLimit
	}{
		"none": {nil, llm.RateLimit{}},
		"Azure": {[]string{
			"X-Ratelimit-Remaining-Requests", "119", "X-Ratelimit-Limit-Requests", "120", "X-Ratelimit-Reset-Requests", "500",
			"X-Ratelimit-Renewalperiod-Requests", "60", "X-Ratelimit-Remaining-Tokens", "119986", "X-Ratelimit-Limit-Tokens", "120000",
		}, llm.RateLimit{RemainingRequests: 119, RemainingTokens: 119986, Reset: 500 * time.Millisecond, Reported: true}},
		"tokens only": {[]string{"X-Ratelimit-Remaining-Tokens", "7", "X-Ratelimit-Reset-Tokens", "1.5"}, llm.RateLimit{RemainingTokens: 7, Reset: 1500 * time.Millisecond, Reported: true}},
		"unreadable":  {[]string{"X-Ratelimit-Remaining-Tokens", "7", "X-Ratelimit-Reset-Tokens", "soon"}, llm.RateLimit{RemainingTokens: 7, Reported: true}},
	} {
		resp, err := unary(t, serve(t, reply(200, ok, c.header...)).provider(t), hello())
		if err != nil || resp.RateLimit != c.want {
			t.Errorf("%s: %+v, %v", name, resp.RateLimit, err)
		}
	}
}

func TestFinishReasonsAreMapped(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.FinishReason{
		"stop": llm.FinishStop, "length": llm.FinishLength, "tool_calls": llm.FinishOther, "eos": llm.FinishOther,
	} {
		if resp := answered(t, message(`{"content":"hi"}`, `"`+word+`"`)); resp.Finish != want || resp.RawFinish != word {
			t.Errorf("%s: %s, %s", word, resp.Finish, resp.RawFinish)
		}
	}
}

func TestAnErrorInsideAWhole200IsThatError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		kind llm.Kind
	}{
		"filtered prompt": {`{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":` +
			`{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"medium"}}}}}`, llm.ErrContentFiltered},
		"spaced":            {` { "error" : {"code": 429, "message":"slow"} }`, llm.ErrRateLimited},
		"beside choices":    {`{"choices":[],"error":{"code":"context_length_exceeded","message":"long"}}`, llm.ErrContextTooLong},
		"inside a choice":   {`{"choices":[{"index":0,"message":{"content":""},"error":{"code":502,"message":"upstream"}}]}`, llm.ErrUnavailable},
		"only text":         {`{"error":"model is loading"}`, llm.ErrUnavailable},
		"a number for code": {`{"error":{"code":404,"message":"no such model"}}`, llm.ErrNotFound},
	} {
		_, err := unary(t, serve(t, reply(200, c.body)).provider(t), hello())
		if e := failed(t, err, c.kind); e.Status != 200 || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestAnErrorMemberThatSaysNothingIsNone(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"null", "false", `""`, "{}"} {
		body := `{"error":` + member + "," + ok[1:]
		wantText(t, answered(t, body), "hi")
	}
}

func TestAnUnusable200IsBadOutput(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no choices":        `{"id":"c1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5}}`,
		"null choices":      `{"id":"c1","choices":null}`,
		"empty message":     message(`{"role":"assistant","content":""}`, `"stop"`),
		"null content":      message(`{"role":"assistant","content":null}`, `"stop"`),
		"other JSON":        `{"detail":"what?"}`,
		"a list":            `[]`,
		"empty body":        ``,
		"HTML":              `<html>`,
		"choices of a kind": `{"choices":"none"}`,
	} {
		_, err := unary(t, serve(t, reply(200, body)).provider(t), hello())
		e := failed(t, err, llm.ErrBadOutput)
		if e.Code == "" || e.Status != 200 {
			t.Errorf("%s: %+v", name, e)
		}
		if name == "no choices" && e.Partial.Usage.Input != 5 {
			t.Errorf("%s: what it cost is lost: %+v", name, e.Partial)
		}
	}
}

func TestABodyThatStopsIsAConnectionThatFailed(t *testing.T) {
	t.Parallel()
	half := ok[:len(ok)/2]
	for name, handle := range map[string]http.HandlerFunc{
		"clean end": reply(200, half),
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(ok)))
			_, _ = io.WriteString(w, half)
		},
	} {
		_, err := unary(t, serve(t, handle).provider(t), hello())
		if e := failed(t, err, llm.ErrConnection); e.NotSent || e.Partial != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestOddFormsOfAnAnswerAreRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"content as a list":        message(`{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}`, `"stop"`),
		"a byte-order mark":        "\ufeff" + ok,
		"blanks around it":         "\n\n" + ok + "\n\n",
		"created is a fraction":    `{"created":1.5,` + ok[1:],
		"counts are fractions":     `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":5.5}}`,
		"no finish reason":         `{"choices":[{"index":0,"message":{"content":"hi"}}]}`,
		"two choices":              `{"choices":[{"index":1,"message":{"content":"no"}},{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`,
		"escapes":                  message(`{"content":"\u0068\u0069"}`, `"stop"`),
		"members we do not know":   message(`{"content":"hi","annotations":[{"x":1}],"audio":null}`, `"stop"`),
		"more behind the answer":   ok + ok,
		"logprobs of another form": `{"choices":[{"index":0,"logprobs":[1],"message":{"content":"hi"},"finish_reason":"stop"}]}`,
	} {
		if resp := answered(t, body); resp.Text() != "hi" || resp.Finish != llm.FinishStop {
			t.Errorf("%s: %+v", name, resp)
		}
	}
}

func TestARefusalIsAnAnswerWithoutText(t *testing.T) {
	t.Parallel()
	whole := answered(t, message(`{"content":null,"refusal":"I'm sorry."}`, `"stop"`))
	got, pieces := streamed(t, events(data(`{"refusal":"I'm"}`, "null"), data(`{"refusal":" sorry."}`, "null"), stop(), done))
	for _, resp := range []*llm.Response{whole, pieces} {
		said, refused := azure.Refusal(resp)
		if said != "I'm sorry." || !refused || resp.Text() != "" || resp.Finish != llm.FinishOther || resp.RawFinish != "stop" {
			t.Errorf("%q, %v, %+v", said, refused, resp)
		}
	}
	if len(got) > 0 {
		t.Errorf("a refusal came as %v", got)
	}
	if said, refused := azure.Refusal(answered(t, ok)); refused {
		t.Errorf("an answer is the refusal %q", said)
	}
	req := hello()
	req.Messages = append(req.Messages, whole.Message, llm.User("why?"))
	sentNow, _ := sent(t, req)
	want(t, sentNow, map[string]string{"messages": `[{"role":"user","content":"hello"},
		{"role":"assistant","content":"I'm sorry."},{"role":"user","content":"why?"}]`})
}

// A spoken answer has no text, and is none the less an answer; a later turn names it.
func TestASpokenAnswerIsAPartThatGoesBackByItsID(t *testing.T) {
	t.Parallel()
	whole := answered(t, message(`{"content":null,"audio":{"id":"a1","data":"UklGRg==","transcript":"Hi you","expires_at":7}}`, `"stop"`))
	_, pieces := streamed(t, events(data(`{"audio":{"id":"a1","transcript":"Hi"}}`, "null"), data(`{"audio":{"data":"UklG","transcript":" you"}}`, "null"),
		data(`{"audio":{"data":"Rg=="}}`, "null"), data(`{"audio":{"expires_at":7}}`, "null"), stop(), done))
	for name, resp := range map[string]*llm.Response{"whole": whole, "pieces": pieces} {
		part, _ := resp.Message.Parts[0].(llm.Opaque)
		const want = `{"id":"a1","data":"UklGRg==","transcript":"Hi you","expires_at":7}`
		if part.Type != azure.AudioType || string(part.Data) != want || resp.Finish != llm.FinishStop || resp.Text() != "" {
			t.Errorf("%s: %+v", name, resp)
		}
	}
	req := hello()
	req.Messages = append(req.Messages, whole.Message, llm.User("again"))
	got, _ := sent(t, req)
	if said := got.Body["messages"].([]any)[1].(map[string]any); said["audio"].(map[string]any)["id"] != "a1" {
		t.Errorf("sent %v", said)
	}
	req.Messages[1].From.Provider = "another"
	if got, resp := sent(t, req); len(got.Body["messages"].([]any)) != 2 || len(resp.Warnings) == 0 {
		t.Errorf("sent %v, %+v", got.Body, resp.Warnings)
	}
}

func TestAFilteredAnswerIsAnErrorWithWhatItCost(t *testing.T) {
	t.Parallel()
	_, err := unary(t, serve(t, reply(200, `{"choices":[{"content_filter_results":{"hate":{"filtered":true,"severity":"high"}},
		"finish_reason":"content_filter","index":0}],"usage":{"prompt_tokens":15,"completion_tokens":19}}`)).provider(t), hello())
	e := failed(t, err, llm.ErrContentFiltered)
	if !reflect.DeepEqual(e.Filtered, []string{"hate (high)"}) || e.Partial.Usage.Input != 15 || e.Partial.RawFinish != "content_filter" {
		t.Errorf("%+v, partial %+v", e, e.Partial)
	}
}

func TestBothErrorTypesOfTheSDKCanBeReached(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504} {
		_, err := unary(t, serve(t, reply(status, `{"error":{"code":"x","message":"said"}}`)).provider(t), hello())
		if sdk, ok := errors.AsType[*openai.APIError](err); !ok || sdk.HTTPStatusCode != status || sdk.Message != "said" {
			t.Errorf("%d: %+v", status, err)
		}
		_, _, err = stream(t, serve(t, reply(status, `<html>`)).provider(t), hello())
		if sdk, ok := errors.AsType[*openai.RequestError](err); !ok || sdk.HTTPStatusCode != status || string(sdk.Body) != "<html>" {
			t.Errorf("%d: %+v", status, err)
		}
	}
}
