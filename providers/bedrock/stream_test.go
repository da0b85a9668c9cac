package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestAStreamBecomesEventsAndTheSameAnswer(t *testing.T) {
	t.Parallel()
	events, resp := streamed(t, events(
		begin(),
		delta(0, `{"reasoningContent":{"text":"Let me "}}`), delta(0, `{"reasoningContent":{"text":"see."}}`),
		delta(0, `{"reasoningContent":{"signature":"c2ln"}}`), event("contentBlockStop", `{"contentBlockIndex":0}`),
		text(1, "I ask "), text(1, ""), text(1, "twice."),
		callStart(4, "u1", "weather"), callInput(4, ""), callInput(4, `{"city":`), callInput(4, `"Rome"}`),
		callStart(3, "u2", "time"), event("contentBlockStop", `{"contentBlockIndex":3}`),
		event("somethingNew", `{"a":1}`), stop("tool_use"),
		event("metadata", `{"usage":{"inputTokens":5,"outputTokens":3,"cacheReadInputTokens":100,"cacheWriteInputTokens":10}}`),
	))
	want := []llm.Event{
		{Kind: llm.EventReasoning, Delta: "Let me "},
		{Kind: llm.EventReasoning, Delta: "see."},
		{Kind: llm.EventText, Index: 1, Delta: "I ask "},
		{Kind: llm.EventText, Index: 1, Delta: "twice."},
		{Kind: llm.EventToolCall, Index: 2, ID: "u1", Name: "weather"},
		{Kind: llm.EventToolArguments, Index: 2, Delta: `{"city":`},
		{Kind: llm.EventToolArguments, Index: 2, Delta: `"Rome"}`},
		{Kind: llm.EventToolCall, Index: 3, ID: "u2", Name: "time"},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("want %+v\ngot  %+v", want, events)
	}
	parts := llm.Parts{
		llm.Reasoning{Text: "Let me see.", Signature: []byte("c2ln")},
		llm.Text{Text: "I ask twice."},
		llm.ToolCall{ID: "u1", Name: "weather", Arguments: `{"city":"Rome"}`},
		llm.ToolCall{ID: "u2", Name: "time", Arguments: "{}"},
	}
	if !reflect.DeepEqual(resp.Message.Parts, parts) {
		t.Errorf("want %+v\ngot  %+v", parts, resp.Message.Parts)
	}
	ref := llm.ModelRef{Provider: "bedrock", Model: claude}
	usage := llm.Usage{Input: 115, Output: 3, CacheRead: 100, CacheWrite: 10, Reported: true}
	if resp.Model != ref || resp.Message.From != ref || resp.ID != "r-1" || resp.Usage != usage ||
		resp.Finish != llm.FinishToolCall || resp.RawFinish != "tool_use" {
		t.Errorf("%+v", resp)
	}
}

func TestTheEndOfAStreamIsMetadataBehindMessageStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle  http.HandlerFunc
		counted bool
		most    time.Duration
	}{
		"a clean end":                      {events(begin(), text(0, "hi"), stop("end_turn"), metadata()), true, patience},
		"metadata, then a hang":            {thenHang(begin(), text(0, "hi"), stop("end_turn"), metadata()), true, 500 * time.Millisecond},
		"metadata in front of messageStop": {thenHang(begin(), text(0, "hi"), metadata(), stop("end_turn")), true, 500 * time.Millisecond},
		"no metadata, then the end":        {events(begin(), text(0, "hi"), stop("end_turn")), false, patience},
		"no metadata, then a cut":          {thenAbort(begin(), text(0, "hi"), stop("end_turn")), false, patience},
		"no metadata, then a hang":         {thenHang(begin(), text(0, "hi"), stop("end_turn")), false, 3 * time.Second},
		"rubbish behind messageStop":       {events(begin(), text(0, "hi"), stop("end_turn"), "rubbish and more rubbish"), false, patience},
		"an exception behind messageStop":  {events(begin(), text(0, "hi"), stop("end_turn"), exception("internalServerException", "{}")), false, patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			_, resp := streamed(t, c.handle)
			if resp.Text() != "hi" || resp.Finish != llm.FinishStop || resp.Usage.Reported != c.counted {
				t.Errorf("%+v", resp)
			}
			if took := time.Since(begun); took > c.most {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAStreamWithoutItsEndMarkIsInterrupted(t *testing.T) {
	t.Parallel()
	bad := []byte(text(0, "lo"))
	bad[len(bad)-6] ^= 1
	whole := text(0, "lo")
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		kind   llm.Kind
		code   string
	}{
		"a clean end":                 {events(begin(), text(0, "hi")), llm.ErrInterrupted, "no_end_mark"},
		"a cut":                       {thenAbort(begin(), text(0, "hi")), llm.ErrInterrupted, "stream_cut"},
		"half a frame, a cut":         {thenAbort(begin(), text(0, "hi"), whole[:20]), llm.ErrInterrupted, "stream_cut"},
		"half a frame, a clean end":   {events(begin(), text(0, "hi"), whole[:20]), llm.ErrInterrupted, ""},
		"a wrong checksum":            {events(begin(), text(0, "hi"), string(bad), stop("end_turn"), metadata()), llm.ErrInterrupted, "stream_corrupt"},
		"rubbish":                     {events(begin(), text(0, "hi"), strings.Repeat("rubbish", 9)), llm.ErrInterrupted, "stream_corrupt"},
		"a payload that is no JSON":   {events(begin(), text(0, "hi"), event("contentBlockDelta", "{")), llm.ErrBadOutput, "malformed_event"},
		"arguments without a call":    {events(begin(), text(0, "hi"), callInput(1, "{}")), llm.ErrBadOutput, "tool_arguments_without_call"},
		"a call without a name":       {events(begin(), text(0, "hi"), callStart(1, "u", "")), llm.ErrBadOutput, "tool_call_without_name"},
		"a call that was half sent":   {events(begin(), text(0, "hi"), callStart(1, "u", "f"), callInput(1, `{"a`)), llm.ErrInterrupted, "no_end_mark"},
		"a call that had not started": {events(begin(), text(0, "hi"), callStart(1, "u", "f")), llm.ErrInterrupted, "no_end_mark"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, resp, err := stream(t, serve(t, c.handle).provider(t), hello())
			e := failed(t, err, c.kind)
			if c.code != "" && e.Code != c.code || e.NotSent || e.Status != 200 || e.RequestID != "r-1" {
				t.Errorf("%+v", e)
			}
			if resp == nil || resp != e.Partial || resp.Text() != "hi" || len(resp.Message.Parts) != 1 {
				t.Errorf("the response is %+v", resp)
			}
		})
	}
}

func TestAnEmptyAnswerIsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		kind   llm.Kind
	}{
		"an empty body":             {events(), llm.ErrInterrupted},
		"an empty body of JSON":     {reply(200, ""), llm.ErrBadOutput},
		"HTML":                      {reply(200, "<html>hello</html>", "Content-Type", "text/html"), llm.ErrBadOutput},
		"JSON":                      {reply(200, `{"hello":"hello"}`), llm.ErrBadOutput},
		"JSON with a message":       {reply(200, `{"message":"hello"}`), llm.ErrUnavailable}, // as of a whole answer
		"an answer without content": {events(begin(), stop("end_turn"), metadata()), llm.ErrBadOutput},
	} {
		_, resp, err := stream(t, serve(t, c.handle).provider(t), hello())
		if e := failed(t, err, c.kind); e.Partial != resp {
			t.Errorf("%s: %+v", name, e)
		}
	}
	_, resp := streamed(t, events(begin(), stop("max_tokens"), metadata()))
	if resp.Finish != llm.FinishLength || len(resp.Message.Parts) != 0 {
		t.Errorf("%+v", resp)
	}
}

func TestAnExceptionInsideAStreamIsThatError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frame string
		kind  llm.Kind
	}{
		"throttled":            {exception("throttlingException", `{"message":"Too many tokens, please wait"}`), llm.ErrRateLimited},
		"failed":               {exception("internalServerException", `{"message":"The system encountered an unexpected error"}`), llm.ErrUnavailable},
		"overloaded":           {exception("serviceUnavailableException", `{"message":"busy"}`), llm.ErrUnavailable},
		"the model stopped":    {exception("modelStreamErrorException", `{"message":"x","originalStatusCode":400}`), llm.ErrUnavailable},
		"the model is slow":    {exception("modelStreamErrorException", `{"message":"x","originalStatusCode":408}`), llm.ErrTimeout},
		"the model took long":  {exception("modelTimeoutException", `{"message":"x"}`), llm.ErrTimeout},
		"refused":              {exception("validationException", `{"message":"malformed"}`), llm.ErrInvalid},
		"too long":             {exception("validationException", `{"message":"Input is too long for requested model."}`), llm.ErrContextTooLong},
		"an unknown exception": {exception("newException", `{"message":"x"}`), llm.ErrUnavailable},
		"an error":             {frame("", ":message-type", "error", ":error-code", "InternalFailure", ":error-message", "x"), llm.ErrUnavailable},
		"an error by throttle": {frame("", ":message-type", "error", ":error-code", "ThrottlingException", ":error-message", "x"), llm.ErrRateLimited},
		"no JSON":              {exception("throttlingException", `<html>`), llm.ErrRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, before := range [][]string{{begin()}, {begin(), text(0, "hi")}} {
				_, resp, err := stream(t, serve(t, thenHang(append(before, c.frame)...)).provider(t), hello())
				e := failed(t, err, c.kind)
				if e.NotSent || e.RequestID != "r-1" || e.Code == "" || resp != e.Partial {
					t.Errorf("%+v", e)
				}
				if len(before) == 2 && (resp == nil || resp.Text() != "hi") || len(before) == 1 && resp != nil {
					t.Errorf("the response is %+v", resp)
				}
			}
		})
	}
	_, _, err := stream(t, serve(t, events(exception("throttlingException", `{"message":"slow down"}`))).provider(t), hello())
	if e, ok := errors.AsType[*types.ThrottlingException](err); !ok || e.ErrorMessage() != "slow down" {
		t.Errorf("the SDK's own error is not there: %+v", err)
	}
	if strings.Contains(err.Error(), "slow down") {
		t.Errorf("the provider's words are in the text: %v", err)
	}
}

func TestTheSinksErrorComesBackAndEndsTheCall(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		thenHang(begin(), text(0, "one "), text(0, "two "), text(0, "three"))(w, r)
	})
	n := 0
	resp, err := s.provider(t).Generate(t.Context(), hello(), func(llm.Event) error {
		if n++; n == 2 {
			return enough
		}
		return nil
	})
	if err != enough || resp.Text() != "one " { //nolint:errorlint // as it was
		t.Errorf("%v, %+v", err, resp)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-gone:
	case <-ctx.Done():
		t.Error("the connection is still open")
	}
}

func TestAPanicOfTheSinkIsTheCallers(t *testing.T) {
	t.Parallel()
	p := serve(t, thenHang(begin(), text(0, "hi"))).provider(t)
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, _ = p.Generate(t.Context(), hello(), func(llm.Event) error { panic("mine") })
}

func TestAStreamReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"before headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in front":       thenHang(),
		"in the middle":  thenHang(begin(), text(0, "hi")),
		"inside a frame": thenHang(begin(), text(0, "hi"), text(0, "there")[:9]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			p := serve(t, handle).provider(t)
			_, err := p.Generate(ctx, hello(), func(llm.Event) error { return nil })
			if e := failed(t, err, llm.ErrDeadlineExceeded); e.NotSent || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestBlocksWithoutAPartAreKept(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(
		begin(), delta(0, `{"reasoningContent":{"redactedContent":"YWI="}}`), delta(0, `{"reasoningContent":{"redactedContent":"Yw=="}}`),
		event("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"s1","name":"search","type":"server_tool_use"}}}`),
		callInput(1, `{"q":1}`),
		event("contentBlockStart", `{"contentBlockIndex":2,"start":{"toolResult":{"toolUseId":"s1","status":"success"}}}`),
		delta(2, `{"toolResult":[{"text":"found"}]}`),
		event("contentBlockStart", `{"contentBlockIndex":3,"start":{"image":{"format":"png"}}}`), delta(3, `{"image":{"source":{"bytes":"iVA="}}}`),
		text(4, "It is so."), delta(4, `{"citation":{"title":"Facts","sourceContent":[{"text":"so"}],"location":{"documentChar":{"start":1}}}}`),
		delta(4, `{"citation":{"title":"More","source":"m"}}`),
		event("messageStop", `{"stopReason":"end_turn","additionalModelResponseFields":{"stop":"x"}}`), metadata(),
	))
	want := llm.Parts{
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"YWJj"}}`)},
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"toolUse":{"input":{"q":1},"name":"search","toolUseId":"s1","type":"server_tool_use"}}`)},
		llm.Opaque{Type: bedrock.BlockType, Data: json.RawMessage(`{"toolResult":{"content":[{"text":"found"}],"status":"success","toolUseId":"s1"}}`)},
		llm.Media{MediaType: "image/png", Data: []byte{0x89, 'P'}},
		llm.Text{Text: "It is so."},
		llm.Opaque{Type: bedrock.CitationsType, Data: json.RawMessage(
			`[{"title":"Facts","sourceContent":[{"text":"so"}],"location":{"documentChar":{"start":1}}},{"title":"More","source":"m"}]`)},
		llm.Opaque{Type: bedrock.FieldsType, Data: json.RawMessage(`{"stop":"x"}`)},
	}
	if !reflect.DeepEqual(resp.Message.Parts, want) {
		t.Errorf("want %s\ngot  %s", show(want), show(resp.Message.Parts))
	}
	cited := bedrock.Citations(resp)
	if len(cited) != 2 || cited[0].Title != "Facts" || cited[0].Quotes[0] != "so" || cited[1].Source != "m" ||
		string(cited[0].Location) != `{"documentChar":{"start":1}}` {
		t.Errorf("%+v", cited)
	}
	if resp.Finish != llm.FinishStop || bedrock.Citations(nil) != nil {
		t.Errorf("%+v", resp)
	}
}

func show(parts llm.Parts) string {
	var all []string
	for _, p := range parts {
		if o, ok := p.(llm.Opaque); ok {
			all = append(all, o.Type+" "+string(o.Data))
		} else {
			all = append(all, fmt.Sprintf("%+v", p))
		}
	}
	return strings.Join(all, "\n")
}
