package vertex_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func TestAnAnswerHasAllThatTheServiceSays(t *testing.T) {
	t.Parallel()
	resp := answered(t, `{"candidates":[{"content":{"parts":[
		{"text":"hm","thought":true,"thoughtSignature":"AQI="},
		{"text":"see "},{"text":"here","thoughtSignature":"Aw=="},{"text":"more"},
		{"functionCall":{"id":"c7","name":"f","args":{"b":9007199254740993,"a":[ 1 ]}},"thoughtSignature":"BA=="},
		{"functionCall":{"name":"g","args":null}},
		{"executableCode":{"language":"PYTHON","code":"1+1"}},
		{"inlineData":{"mimeType":"image/png","data":"_-8"}}],"role":"model"},
		"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"]},"citationMetadata":{"citations":[{}]}}],
		"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,
		"cachedContentTokenCount":6,"totalTokenCount":19},"modelVersion":"m-1","responseId":"r1"}`)
	calls := resp.Message.ToolCalls()
	if len(calls) != 2 || !strings.HasPrefix(calls[1].ID, "vertex-call-") {
		t.Fatalf("calls %+v", calls)
	}
	want := llm.Parts{
		llm.Reasoning{Text: "hm", Signature: []byte{1, 2}},
		llm.Text{Text: "see here", Signature: []byte{3}},
		llm.Text{Text: "more"},
		llm.ToolCall{ID: "c7", Name: "f", Arguments: `{"b":9007199254740993,"a":[1]}`, Signature: []byte{4}},
		llm.ToolCall{ID: calls[1].ID, Name: "g", Arguments: "{}"},
		llm.Opaque{Type: vertex.PartType, Data: json.RawMessage(`{"executableCode":{"language":"PYTHON","code":"1+1"}}`)},
		llm.Media{MediaType: "image/png", Data: []byte{0xff, 0xef}},
		llm.Opaque{Type: vertex.GroundingType, Data: json.RawMessage(`{"webSearchQueries":["q"]}`)},
		llm.Opaque{Type: vertex.CitationsType, Data: json.RawMessage(`{"citations":[{}]}`)},
	}
	if !reflect.DeepEqual(resp.Message.Parts, want) {
		t.Errorf("parts\n%+v\nwant\n%+v", resp.Message.Parts, want)
	}
	ref := llm.ModelRef{Provider: "vertex", Model: "gemini-2.5-flash"}
	if resp.ID != "r1" || resp.ModelVersion != "m-1" || resp.Model != ref || resp.Message.From != ref ||
		resp.Finish != llm.FinishToolCall || resp.RawFinish != "STOP" {
		t.Errorf("response %+v", resp)
	}
	if u := (llm.Usage{Input: 14, Output: 5, CacheRead: 6, Reasoning: 2, Reported: true}); resp.Usage != u {
		t.Errorf("usage %+v", resp.Usage)
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	const content = `{"text":"some"}`
	for finish, want := range map[string]any{
		`"STOP"`: llm.FinishStop, `1`: llm.FinishStop, `"MAX_TOKENS"`: llm.FinishLength, `2`: llm.FinishLength,
		`"OTHER"`: llm.FinishOther, `"LANGUAGE"`: llm.FinishOther, `"SOMETHING_NEW"`: llm.FinishOther, `77`: llm.FinishOther,
		`"FINISH_REASON_UNSPECIFIED"`: llm.FinishStop, `null`: llm.FinishStop,
		`"SAFETY"`: llm.ErrContentFiltered, `3`: llm.ErrContentFiltered, `"RECITATION"`: llm.ErrContentFiltered,
		`"BLOCKLIST"`: llm.ErrContentFiltered, `"PROHIBITED_CONTENT"`: llm.ErrContentFiltered, `"SPII"`: llm.ErrContentFiltered,
		`"MODEL_ARMOR"`: llm.ErrContentFiltered, `10`: llm.ErrContentFiltered, `"IMAGE_SAFETY"`: llm.ErrContentFiltered,
		`"MALFORMED_FUNCTION_CALL"`: llm.ErrBadOutput, `9`: llm.ErrBadOutput, `"UNEXPECTED_TOOL_CALL"`: llm.ErrBadOutput,
	} {
		body := `{"candidates":[{"content":{"parts":[` + content + `]},"finishReason":` + finish + `}]}`
		resp, err := unary(t, serve(t, reply(200, body)).provider(t), hello())
		raw := strings.Trim(strings.ReplaceAll(strings.ReplaceAll(finish, "null", ""), "FINISH_REASON_UNSPECIFIED", ""), `"`)
		switch want := want.(type) {
		case llm.FinishReason:
			if err != nil || resp.Finish != want || resp.RawFinish != raw {
				t.Errorf("%s: %+v, %v", finish, resp, err)
			}
		case llm.Kind:
			if e := failed(t, err, want); e.Partial.Text() != "some" || e.Code == "" || e.Partial.RawFinish != raw || resp != e.Partial {
				t.Errorf("%s: %+v", finish, e)
			}
		}
	}
}

func TestAFilteredAnswerSaysWhatWasFiltered(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"why","safetyRatings":[
			{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"HIGH"},{"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW"}]}}`: {"SAFETY", "hate_speech (high)"},
		`{"candidates":[{"finishReason":"SAFETY","finishMessage":"why","safetyRatings":[
			{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"HIGH"},{"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW","blocked":true}]}]}`: {"SAFETY", "harassment (low)"},
		`{"promptFeedback":{"blockReason":"MODEL_ARMOR","blockReasonMessage":"why"},"usageMetadata":{"trafficType":"ON_DEMAND"}}`: {"MODEL_ARMOR", "model_armor"},
		`{"promptFeedback":{"blockReason":7,"blockReasonMessage":"why"}}`:                                                         {"7", "7"},
	} {
		_, err := unary(t, serve(t, reply(200, body)).provider(t), hello())
		e := failed(t, err, llm.ErrContentFiltered)
		if e.Code != want[0] || len(e.Filtered) != 1 || e.Filtered[0] != want[1] || e.Message != "why" || e.Status != 200 {
			t.Errorf("%s: %+v", body, e)
		}
		if strings.Contains(err.Error(), "why") {
			t.Errorf("the service's words are in %q", err)
		}
	}
}

func TestFeedbackWithoutAReasonBlocksNothing(t *testing.T) {
	t.Parallel()
	const harmless = `"promptFeedback":{"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]}`
	if got := answered(t, strings.TrimSuffix(ok, "}")+","+harmless+"}"); got.Text() != "hi" {
		t.Errorf("answer %+v", got)
	}
	_, err := unary(t, serve(t, reply(200, `{"candidates":[],`+harmless+`}`)).provider(t), hello())
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "empty_answer" {
		t.Errorf("%+v", e)
	}
}

func TestOddAnswersInA200(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, code string
		kind       llm.Kind
	}{
		"error":             {`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`, "UNAVAILABLE", llm.ErrUnavailable},
		"error in a list":   {`[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, "RESOURCE_EXHAUSTED", llm.ErrRateLimited},
		"error as text":     {`{"error":"model is overloaded"}`, "", llm.ErrUnavailable},
		"nothing":           {``, "empty_body", llm.ErrBadOutput},
		"blanks":            {" \n", "empty_body", llm.ErrBadOutput},
		"html":              {`<html>no</html>`, "malformed_answer", llm.ErrBadOutput},
		"text":              {`"hello"`, "malformed_answer", llm.ErrBadOutput},
		"another object":    {`{"object":"list"}`, "empty_answer", llm.ErrBadOutput},
		"candidates object": {`{"candidates":{}}`, "empty_answer", llm.ErrBadOutput},
		"cut":               {`{"candidates":[{"content":`, "body_cut", llm.ErrConnection},
	} {
		_, err := unary(t, serve(t, reply(200, test.body)).provider(t), hello())
		e := failed(t, err, test.kind)
		if e.Code != test.code || e.Status != 200 || e.NotSent || e.Partial != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a list":             "[" + ok + "]",
		"behind the answer":  ok + "\n\ntrailing",
		"byte order mark":    "\ufeff" + ok,
		"count of no number": strings.Replace(ok, `"promptTokenCount":5`, `"promptTokenCount":"5"`, 1),
		"two candidates":     strings.Replace(ok, `"index":0}]`, `"index":0},{"content":{"parts":[{"text":"other"}]},"index":1}]`, 1),
	} {
		if got := answered(t, body); got.Text() != "hi" || got.Finish != llm.FinishStop {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACutBodyIsAnErrorOfTheConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "400")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(ok[:20]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := unary(t, s.provider(t), hello())
	if e := failed(t, err, llm.ErrConnection); e.Code != "body_cut" || e.Status != 200 || e.NotSent {
		t.Errorf("%+v", e)
	}
}

func TestErrorsOfTheService(t *testing.T) {
	t.Parallel()
	const limited = `{"error":{"code":429,"message":"secret words","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}]}}`
	for name, test := range map[string]struct {
		status     int
		body, code string
		kind       llm.Kind
		wait       time.Duration
	}{
		"limited":   {429, limited, "RESOURCE_EXHAUSTED", llm.ErrRateLimited, 7500 * time.Millisecond},
		"in a list": {429, "[" + limited + "]", "RESOURCE_EXHAUSTED", llm.ErrRateLimited, 7500 * time.Millisecond},
		"daily": {429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure",
			"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`, "RESOURCE_EXHAUSTED", llm.ErrQuotaExceeded, 0},
		"key": {400, `{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[
			{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, "INVALID_ARGUMENT", llm.ErrAuth, 0},
		"too long": {
			400, `{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}`,
			"INVALID_ARGUMENT", llm.ErrContextTooLong, 0,
		},
		"argument": {400, `{"error":{"code":400,"message":"secret words","status":"INVALID_ARGUMENT"}}`, "INVALID_ARGUMENT", llm.ErrInvalid, 0},
		"denied":   {403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, "PERMISSION_DENIED", llm.ErrAuth, 0},
		"missing":  {404, `<!DOCTYPE html><title>Error 404</title>`, "", llm.ErrNotFound, 0},
		"internal": {500, `{"error":{"code":500,"status":"INTERNAL"}}`, "INTERNAL", llm.ErrUnavailable, 0},
		"deadline": {504, `{"error":{"code":504,"status":"DEADLINE_EXCEEDED"}}`, "DEADLINE_EXCEEDED", llm.ErrTimeout, 0},
		"moved":    {302, ``, "redirected", llm.ErrNotFound, 0},
	} {
		p := serve(t, reply(test.status, test.body, "Location", "https://elsewhere.example/")).provider(t)
		for _, call := range []func() error{
			func() error { _, err := unary(t, p, hello()); return err },
			func() error { _, _, err := stream(t, p, hello()); return err },
		} {
			err := call()
			e := failed(t, err, test.kind)
			if e.Code != test.code || e.Status != test.status || e.RetryAfter != test.wait || e.NotSent || e.Partial != nil ||
				e.Model.Model != "gemini-2.5-flash" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}
