package bedrock_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// canned returns a provider whose every response is the same, without a socket.
func canned(tb testing.TB, status int, contentType string, body []byte) *bedrock.Provider {
	tb.Helper()
	return keep(tb)(bedrock.New(&bedrock.Options{
		Region: "us-east-1", Model: claude, Credentials: keys("AKID"), HTTP: adaptertest.Same(status, contentType, body),
	}))
}

const eventStream = "application/vnd.amazon.eventstream"

// FuzzStream: whatever a stream holds, nothing panics, the response is what the sink accepted, and there is no
// success without an end mark.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", text(0, "a") + stop("end_turn") + metadata(), text(0, "a"), begin() + text(0, "a")[:30],
		callStart(0, "u", "f") + callInput(0, "{}") + stop("tool_use"), exception("throttlingException", "{}"),
		frame("", ":message-type", "error", ":error-code", "x"), text(0, "a") + stop("guardrail_intervened"),
		delta(0, `{"reasoningContent":{"redactedContent":"YQ=="}}`) + delta(0, `{"citation":{}}`) + stop("end_turn") + metadata(),
		event("contentBlockDelta", `[]`) + event("messageStop", `{}`) + event("metadata", `null`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var acc llm.Accumulator
		resp, err := canned(t, 200, eventStream, body).Generate(t.Context(), hello(), accept(t, &acc))
		check(t, &acc, resp, err, body)
	})
}

// FuzzEvents is FuzzStream behind right frames: pairs of a line with the name of an event and one with its payload.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		"contentBlockDelta\n{\"delta\":{\"text\":\"a\"}}\nmessageStop\n{\"stopReason\":\"end_turn\"}\nmetadata\n" + `{"usage":{"inputTokens":1}}`,
		"contentBlockStart\n" + `{"start":{"toolUse":{"toolUseId":"u","name":"f","type":"x"}}}` + "\ncontentBlockDelta\n" + `{"delta":{"toolUse":{"input":"{"}}}` + "\nmessageStop\n{}",
		"contentBlockStart\n" + `{"start":{"toolResult":{"a":1}}}` + "\ncontentBlockDelta\n" + `{"delta":{"toolResult":[1]}}` + "\nmessageStop\n" + `{"additionalModelResponseFields":1}`,
		"contentBlockDelta\n" + `{"contentBlockIndex":-1,"delta":{"reasoningContent":{"signature":"s"},"image":{}}}` + "\nmessageStop\n" + `{"trace":{"guardrail":1},"stopReason":"content_filtered"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var body strings.Builder
		all := strings.Split(lines, "\n")
		for i := 0; i+1 < len(all) && len(all[i]) < 1<<10; i += 2 {
			body.WriteString(event(all[i], all[i+1]))
		}
		var acc llm.Accumulator
		resp, err := canned(t, 200, eventStream, []byte(body.String())).Generate(t.Context(), hello(), accept(t, &acc))
		check(t, &acc, resp, err, []byte(body.String()))
	})
}

func accept(t *testing.T, acc *llm.Accumulator) llm.Sink {
	t.Helper()
	return func(e llm.Event) error {
		if (e.Kind == llm.EventText || e.Kind == llm.EventReasoning || e.Kind == llm.EventToolArguments) && e.Delta == "" {
			t.Errorf("an empty event: %+v", e)
		}
		acc.Add(e)
		return nil
	}
}

func check(t *testing.T, acc *llm.Accumulator, resp *llm.Response, err error, body []byte) {
	t.Helper()
	if resp != nil && resp.Text() != acc.Response().Text() {
		t.Errorf("the sink accepted %q, the response is %q", acc.Response().Text(), resp.Text())
	}
	switch {
	case err != nil:
		if e, ok := err.(*llm.Error); !ok || e.Kind == "" || e.NotSent { //nolint:errorlint // the contract says so
			t.Errorf("%+v", err)
		}
	case !bytes.Contains(body, []byte("messageStop")):
		t.Errorf("an answer without an end mark: %+v", resp)
	case len(resp.Message.Parts) == 0 && resp.Finish != llm.FinishLength:
		t.Errorf("an answer without a part: %+v", resp)
	}
}

// FuzzBody: whatever a body is, an error has its status and a short text, and a success has content.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"", "<html>", `{"message":"x"}`, `{"__type":"a#B"}`, `{"message":{"a":1}}`, ok, answer(`{"toolUse":{"toolUseId":"u","name":"f","input":[1]}},{"x":null},null,1`, "tool_use"),
		answer(`{"citationsContent":{"content":[{"text":"a"}],"citations":[1]}}`, "end_turn"), `{"output":null}`, `{"output":{"message":{"content":[{}]}}}`, `"`,
	} {
		f.Add(uint16(200), []byte(s))
		f.Add(uint16(0), []byte(s))
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		code := 200 + int(status)%400
		resp, err := canned(t, code, "application/json", body).Generate(t.Context(), hello(), nil)
		if err == nil {
			if code >= 300 || len(resp.Message.Parts) == 0 && resp.Finish != llm.FinishLength {
				t.Fatalf("%d and %q are the answer %+v", code, body, resp)
			}
			return
		}
		e, ok := err.(*llm.Error) //nolint:errorlint // the contract says so
		if !ok || e.Kind == "" || e.Status != code || len(e.Error()) > 200 || e.NotSent {
			t.Errorf("%d and %q are the error %+v", code, body, err)
		}
	})
}
