package vertex_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func canned(tb testing.TB, status int, contentType string, body []byte) *vertex.Provider {
	tb.Helper()
	return keep(tb)(vertex.New(&vertex.Options{APIKey: "k", Model: "gemini-2.5-flash", HTTP: adaptertest.Same(status, contentType, body)}))
}

// FuzzStream: whatever a stream holds, nothing panics, the response is what the sink accepted, and there is no
// success without an end mark.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", said("a") + stop(), said("a"), data(`{"error":{"code":"x"}}`), "event: error\ndata: oops\n\n", ": c\r\rdata: {}\r\n\r\n",
		"[" + chunk(text("a"), "") + "\n,\r\n" + counted(chunk("", "STOP")) + "]", "[{},", "[", ok, "data: [1]\n\ndata: \"x\"\n\ndata: nul\n\n",
		data(chunk(`{"functionCall":{"name":"f","args":{"a":1}}},{"functionCall":null},{"x":1},null`, "STOP")),
		data(chunk(`{"text":"t","thought":true,"thoughtSignature":"-_=="},{"thoughtSignature":"AA"}`, "SAFETY")),
		data(`{"candidates":[{"finishReason":1}],"promptFeedback":{"blockReason":2}}`), data(`{"candidates":[{"content":{"parts":{}}}]}`),
	} {
		f.Add(true, []byte(s))
		f.Add(false, []byte(s))
	}
	f.Fuzz(func(t *testing.T, labelled bool, body []byte) {
		var acc llm.Accumulator
		resp, err := canned(t, 200, map[bool]string{true: "text/event-stream", false: ""}[labelled], body).
			Generate(t.Context(), hello(), func(e llm.Event) error {
				if e.Kind != llm.EventToolCall && e.Delta == "" {
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
		if err == nil && plain && !strings.Contains(strings.ToLower(string(body)), "finishreason") {
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
		"", "<html>", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"1s"}]}}`,
		`{"error":"x"}`, `[{"error":{}}]`, `{"error":{"message":["a"],"code":{}}}`, `{"error":{"details":[{"violations":[{"quotaId":"PerDay"}]}]}}`, `"`,
	} {
		f.Add(uint16(400), []byte(s))
		f.Add(uint16(200), []byte(s))
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		code := 200 + int(status)%400
		resp, err := canned(t, code, "application/json", body).Generate(t.Context(), hello(), nil)
		if err == nil {
			if code >= 300 || !strings.Contains(strings.ToLower(string(body)), `andidates"`) && bytes.IndexByte(body, '\\') < 0 {
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
