package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestAWholeAnswer(t *testing.T) {
	t.Parallel()
	resp := answered(t, answer(
		`{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},{"reasoningContent":{"redactedContent":"YWI="}},`+
			`{"citationsContent":{"content":[{"text":"So "},{"text":"it is."}],"citations":[{"title":"T"}]}},`+
			`{"toolUse":{"toolUseId":"u1","name":"f","input":{"n":12345678901234567890}}},{"toolUse":{"toolUseId":"u2","name":"g"}},`+
			`{"toolUse":{"toolUseId":"s1","name":"search","type":"server_tool_use","input":{}}},{"image":{"format":"png","source":{"bytes":"iVA="}}},{"new":{"a":1}}`,
		"tool_use", `,"trace":{"promptRouter":{"invokedModelId":"m-2"}},"additionalModelResponseFields":null`))
	want := llm.Parts{
		llm.Reasoning{Text: "Hm.", Signature: []byte("sig")},
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"YWI="}}`)},
		llm.Text{Text: "So it is."},
		llm.Opaque{Type: bedrock.CitationsType, Data: json.RawMessage(`[{"title":"T"}]`)},
		llm.ToolCall{ID: "u1", Name: "f", Arguments: `{"n":12345678901234567890}`},
		llm.ToolCall{ID: "u2", Name: "g", Arguments: "{}"},
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"toolUse":{"toolUseId":"s1","name":"search","type":"server_tool_use","input":{}}}`)},
		llm.Media{MediaType: "image/png", Data: []byte{0x89, 'P'}},
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"new":{"a":1}}`)},
	}
	if !reflect.DeepEqual(resp.Message.Parts, want) {
		t.Errorf("want %s\ngot  %s", show(want), show(resp.Message.Parts))
	}
	if resp.Finish != llm.FinishToolCall || resp.ModelVersion != "m-2" || !resp.Usage.Reported {
		t.Errorf("%+v", resp)
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]llm.FinishReason{
		"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "max_tokens": llm.FinishLength,
		"tool_use": llm.FinishOther, "": llm.FinishOther, "something_new": llm.FinishOther,
	} {
		if resp := answered(t, answer(`{"text":"hi"}`, reason)); resp.Finish != want || resp.RawFinish != reason {
			t.Errorf("%q is %q (%q)", reason, resp.Finish, resp.RawFinish)
		}
	}
	for reason, want := range map[string]llm.Kind{
		"guardrail_intervened": llm.ErrContentFiltered, "content_filtered": llm.ErrContentFiltered,
		"malformed_model_output": llm.ErrBadOutput, "malformed_tool_use": llm.ErrBadOutput,
		"model_context_window_exceeded": llm.ErrContextTooLong,
	} {
		_, err := unary(t, serve(t, reply(200, answer(`{"text":"hi"}`, reason))).provider(t), hello())
		if e := failed(t, err, want); e.Code != reason || e.Partial.Text() != "hi" || !e.Partial.Usage.Reported {
			t.Errorf("%s: %+v", reason, e)
		}
		_, resp, err := stream(t, serve(t, events(begin(), text(0, "hi"), stop(reason), metadata())).provider(t), hello())
		if e := failed(t, err, want); e.Code != reason || resp.Text() != "hi" || !resp.Usage.Reported {
			t.Errorf("%s: %+v", reason, e)
		}
	}
}

func TestWhatAGuardrailFoundIsNamedWithoutItsWords(t *testing.T) {
	t.Parallel()
	trace := `,"trace":{"guardrail":{"inputAssessment":{"g":{"topicPolicy":{"topics":[{"name":"finance","type":"DENY","action":"BLOCKED"}]},
		"contentPolicy":{"filters":[{"type":"VIOLENCE","confidence":"HIGH","action":"BLOCKED"},{"type":"HATE","confidence":"LOW","action":"NONE"}]}}},
		"outputAssessments":{"g":[{"wordPolicy":{"customWords":[{"match":"acme","action":"BLOCKED"}],"managedWordLists":[{"match":"x","type":"PROFANITY","action":"BLOCKED"}]},
		"sensitiveInformationPolicy":{"piiEntities":[{"type":"ADDRESS","match":"Tokyo","action":"ANONYMIZED"},{"type":"ADDRESS","match":"Rome","action":"ANONYMIZED"}],
		"regexes":[{"name":"id","match":"77","action":"BLOCKED"}]},"contextualGroundingPolicy":{"filters":[{"type":"GROUNDING","action":"BLOCKED"}]}}]}}}`
	_, err := unary(t, serve(t, reply(200, answer(`{"text":"no"}`, "guardrail_intervened", trace))).provider(t), hello())
	e := failed(t, err, llm.ErrContentFiltered)
	want := []string{"ADDRESS", "GROUNDING", "PROFANITY", "VIOLENCE (high)", "pattern id", "topic finance", "word"}
	if !reflect.DeepEqual(e.Filtered, want) {
		t.Errorf("want %q\ngot  %q", want, e.Filtered)
	}
	for _, s := range []string{"acme", "Tokyo", "77"} {
		if strings.Contains(e.Detail(), s) {
			t.Errorf("%q is in %q", s, e.Detail())
		}
	}
}

func TestAWholeAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		kind   llm.Kind
		code   string
	}{
		"an empty body":          {reply(200, ""), llm.ErrBadOutput, "empty_body"},
		"HTML":                   {reply(200, "<html>"), llm.ErrBadOutput, "malformed_answer"},
		"an object":              {reply(200, "{}"), llm.ErrBadOutput, "empty_answer"},
		"a list":                 {reply(200, "[]"), llm.ErrBadOutput, "empty_answer"},
		"no content":             {reply(200, answer("", "end_turn")), llm.ErrBadOutput, "empty_answer"},
		"an empty text":          {reply(200, answer(`{"text":""}`, "end_turn")), llm.ErrBadOutput, "empty_answer"},
		"a call without a name":  {reply(200, answer(`{"toolUse":{"toolUseId":"u","input":{}}}`, "tool_use")), llm.ErrBadOutput, "tool_call_without_name"},
		"an error":               {reply(200, `{"__type":"com.amazon#ThrottlingException","message":"x"}`), llm.ErrRateLimited, "ThrottlingException"},
		"an operation not there": {reply(200, `{"Output":{"__type":"x#UnknownOperationException"},"Version":"1"}`), llm.ErrBadOutput, "empty_answer"},
		"a cut body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(ok[:40]))
		}, llm.ErrConnection, "body_cut"},
		"half of it": {reply(200, ok[:40]), llm.ErrBadOutput, "malformed_answer"},
	} {
		_, err := unary(t, serve(t, c.handle).provider(t), hello())
		if e := failed(t, err, c.kind); e.Code != c.code || e.NotSent || e.Status != 200 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if resp := answered(t, answer("", "max_tokens")); resp.Finish != llm.FinishLength {
		t.Errorf("%+v", resp)
	}
}

func TestErrorsByStatusAndException(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		name, body string
		kind       llm.Kind
	}{
		{429, "ThrottlingException", `{"message":"Too many requests, please wait before trying again."}`, llm.ErrRateLimited},
		{429, "ModelNotReadyException", `{"message":"Model is not ready for inference."}`, llm.ErrUnavailable},
		{408, "ModelTimeoutException", `{"message":"x"}`, llm.ErrTimeout},
		{424, "ModelErrorException", `{"message":"x","originalStatusCode":500}`, llm.ErrUnavailable},
		{424, "ModelErrorException", `{"message":"x","originalStatusCode":400}`, llm.ErrInvalid},
		{500, "InternalServerException", `{"message":"x"}`, llm.ErrUnavailable},
		{503, "ServiceUnavailableException", `{"message":"x"}`, llm.ErrUnavailable},
		{400, "ServiceQuotaExceededException", `{"message":"x"}`, llm.ErrQuotaExceeded},
		{400, "ValidationException", `{"message":"x"}`, llm.ErrInvalid},
		{400, "ValidationException", `{"message":"The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum"}`, llm.ErrContextTooLong},
		{400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, llm.ErrNotFound},
		{400, "ValidationException", `{"message":"Invocation of model ID m with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model."}`, llm.ErrNotFound},
		{400, "ValidationException", `{"message":"This model doesn't support tool use."}`, llm.ErrUnsupported},
		{400, "ConflictException", `{"message":"x"}`, llm.ErrInvalid},
		{403, "AccessDeniedException", `{"message":"You don't have access to the model with the specified model ID."}`, llm.ErrAuth},
		{403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, llm.ErrAuth},
		{403, "InvalidSignatureException", `{"message":"x"}`, llm.ErrAuth},
		{404, "ResourceNotFoundException", `{"message":"x"}`, llm.ErrNotFound},
		{404, "UnknownOperationException", ``, llm.ErrNotFound},
		{502, "", `<html>bad gateway</html>`, llm.ErrUnavailable},
		{418, "", ``, llm.ErrUnavailable},
		{301, "", ``, llm.ErrNotFound},
	} {
		s := serve(t, reply(c.status, c.body, "X-Amzn-Errortype", c.name+":http://internal.amazon.com/coral/", "X-Amzn-Requestid", "r-9"))
		p := s.provider(t)
		_, err := unary(t, p, hello())
		e := failed(t, err, c.kind)
		if e.Status != c.status || e.Code != c.name || e.RequestID != "r-9" || e.NotSent || e.Err == nil {
			t.Errorf("%d %s: %+v", c.status, c.name, e)
		}
		if len(e.Message) > 1 && strings.Contains(e.Error(), e.Message) {
			t.Errorf("the provider's words are in the text: %v", e)
		}
		_, resp, err := stream(t, p, hello())
		if e := failed(t, err, c.kind); e.Status != c.status || resp != nil {
			t.Errorf("%d %s, streamed: %+v", c.status, c.name, e)
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%d %s: %d requests", c.status, c.name, n)
		}
	}
}

func TestTheSDKsErrorCanBeReached(t *testing.T) {
	t.Parallel()
	_, err := unary(t, serve(t, reply(429, `{"message":"m"}`, "X-Amzn-Errortype", "ThrottlingException", "Retry-After", "7")).provider(t), hello())
	if e := failed(t, err, llm.ErrRateLimited); e.RetryAfter != 7*time.Second || e.Model.Model != claude {
		t.Errorf("%+v", e)
	}
	if _, ok := errors.AsType[*types.ThrottlingException](err); !ok {
		t.Errorf("%+v", err)
	}
}

func TestAConnectionThatFails(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	s.Close()
	_, err := unary(t, p, hello())
	if e := failed(t, err, llm.ErrConnection); !e.NotSent {
		t.Errorf("%+v", e)
	}
	s = serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err = unary(t, s.provider(t), hello())
	if e := failed(t, err, llm.ErrConnection); e.NotSent || len(s.Requests()) != 1 {
		t.Errorf("%+v, %d requests", e, len(s.Requests()))
	}
}

func TestAUnaryCallReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"before headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(ok[:40]))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := serve(t, handle).provider(t).Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrDeadlineExceeded); e.NotSent || e.Status != 0 {
			t.Errorf("%s: %+v", name, e)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := serve(t, reply(200, ok))
	_, err := s.provider(t).Generate(ctx, hello(), nil)
	if e := failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 {
		t.Errorf("%+v", e)
	}
}

func TestAtMostOneCallIfSingle(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Tools = []llm.Tool{{Name: "f"}, {Name: "g"}}
	req.ToolChoice.Single = true
	body := answer(`{"toolUse":{"toolUseId":"u1","name":"f","input":{"a":1}}},{"toolUse":{"toolUseId":"u2","name":"g","input":{"b":2}}},{"text":"so"}`, "tool_use")
	whole, err := unary(t, serve(t, reply(200, body)).provider(t), req)
	if err != nil {
		t.Fatal(err)
	}
	events, streamed, err := stream(t, serve(t, events(begin(), callStart(0, "u1", "f"), callInput(0, `{"a":1}`),
		callStart(1, "u2", "g"), callInput(1, `{"b":2}`), text(2, "so"), stop("tool_use"), metadata())).provider(t), req)
	if err != nil || len(events) != 3 || events[2].Index != 1 {
		t.Fatalf("%v, %+v", err, events)
	}
	for _, r := range []*llm.Response{whole, streamed} {
		want := llm.Parts{llm.ToolCall{ID: "u1", Name: "f", Arguments: `{"a":1}`}, llm.Text{Text: "so"}}
		if !reflect.DeepEqual(r.Message.Parts, want) || codes(r.Warnings) != "changed tool_choice.single" {
			t.Errorf("%+v", r)
		}
	}
}
