package azure_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// canned returns a provider whose every response is the same, without a socket.
func canned(tb testing.TB, status int, contentType string, body []byte) *azure.Provider {
	tb.Helper()
	return keep(tb)(azure.Compatible(&azure.CompatibleOptions{
		BaseURL: "http://localhost", Model: "m", HTTP: adaptertest.Same(status, contentType, body),
	}))
}

// FuzzStream: whatever a stream holds, nothing panics, the response is what the sink accepted, and there is no
// success without an end mark.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", done, text("a") + stop() + counted + done, text("a"), data(`{"refusal":"no"}`, `"stop"`) + done,
		`data: {"error":{"code":"x"}}` + "\n\n", "event: error\ndata: oops\n\n", "{\n\"error\" : \"x\"}\n", ": c\r\rdata: {}\r\n\r\n",
		streamedCalls(`{"index":3,"id":"t","function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`) + callsEnd,
		streamedCalls(`{"custom":{"name":"f","input":"x"}}`, `{"id":"1"}`, `{"index":-1,"function":{"name":"g"}}`) + done,
		data(`{"function_call":{"name":"f"}}`, `"function_call"`), data(`{"content":[{"text":"a"},1],"tool_calls":[null]}`, `"content_filter"`),
		ok, "data: [1]\n\ndata: \"x\"\n\ndata: nul\n\n", `data: {"choices":[{"index":1,"delta":{"content":"b"}}]}` + "\n\n" + done,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var acc llm.Accumulator
		resp, err := canned(t, 200, "text/event-stream", body).Generate(t.Context(), hello(), func(e llm.Event) error {
			if (e.Kind == llm.EventText || e.Kind == llm.EventReasoning || e.Kind == llm.EventToolArguments) && e.Delta == "" {
				t.Errorf("an empty event: %+v", e)
			}
			acc.Add(e)
			return nil
		})
		if resp != nil && resp.Text() != acc.Response().Text() {
			t.Errorf("the sink accepted %q, the response is %q", acc.Response().Text(), resp.Text())
		}
		// Go matches the names of members without their case, and they may be escaped.
		plain := bytes.IndexByte(body, '\\') < 0 && bytes.IndexFunc(body, func(r rune) bool { return r >= 0x80 }) < 0
		marked := strings.Contains(string(body), "[DONE]") || strings.Contains(strings.ToLower(string(body)), "finish_reason")
		if err == nil && plain && !marked {
			t.Errorf("an answer without an end mark: %+v", resp)
		}
		if err == nil && len(resp.Message.Parts) == 0 && resp.Finish != llm.FinishLength {
			t.Errorf("an answer without a part: %+v", resp)
		}
	})
}

// FuzzErrorBody: whatever the body of an error is, there is an error, of the status, and its text is short.
func FuzzErrorBody(f *testing.F) {
	for _, s := range []string{
		"", "<html>", `{"error":{"code":"content_filter","innererror":{"content_filter_result":{"x":{"filtered":true}}}}}`,
		`{"error":"x"}`, `[{"error":{}}]`, `{"error":{"message":["a"],"code":{}}}`, `{"statusCode":401,"message":"expired"}`, `"`,
	} {
		f.Add(uint16(400), []byte(s))
		f.Add(uint16(200), []byte(s))
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		code := 200 + int(status)%400
		resp, err := canned(t, code, "application/json", body).Generate(t.Context(), hello(), nil)
		if err == nil {
			if code >= 300 || !strings.Contains(strings.ToLower(string(body)), `hoices"`) && bytes.IndexByte(body, '\\') < 0 {
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
