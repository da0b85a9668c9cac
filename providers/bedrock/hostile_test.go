package bedrock_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// reading is a provider whose every answer is read from body.
func reading(t *testing.T, contentType string, body io.ReadCloser) *bedrock.Provider {
	t.Helper()
	return keep(t)(bedrock.New(&bedrock.Options{
		Region: "us-east-1", Model: claude, Credentials: keys("AKID"), HTTP: adaptertest.Reading(contentType, body),
	}))
}

func TestAnEndlessStreamIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("eHh4", mib/4)
	serverTool := event("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s","name":"f","type":"server_tool_use"}}}`)
	serverResult := event("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolResult":{"toolUseId":"s"}}}`)
	for name, c := range map[string]struct{ first, again string }{
		"text":                    {"", text(0, long)},
		"thought":                 {"", delta(0, `{"reasoningContent":{"text":"`+long+`"}}`)},
		"signature":               {"", delta(0, `{"reasoningContent":{"signature":"`+long+`"}}`)},
		"redacted":                {"", delta(0, `{"reasoningContent":{"redactedContent":"`+long+`"}}`)},
		"arguments":               {callStart(0, "u", "f"), callInput(0, long)},
		"arguments of theirs":     {serverTool, callInput(0, long)},
		"results of theirs":       {serverResult, delta(0, `{"toolResult":[{"text":"`+long+`"}]}`)},
		"results in small pieces": {serverResult, delta(0, `{"toolResult":[`+strings.Repeat("1,", mib)+`1]}`)},
		"citations":               {"", delta(0, `{"citation":{"source":"`+long+`"}}`)},
		"image":                   {"", delta(0, `{"image":{"source":{"bytes":"`+long+`"}}}`)},
		"a stop in between":       {"", text(0, long) + stop("end_turn")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "text" && name != "image" {
				adaptertest.Heavy(t)
			}
			p := reading(t, eventStream, adaptertest.Pieces(func(i int) string {
				if i == 0 {
					return c.first + c.again
				}
				return c.again
			}))
			accepted := 0
			resp, err := p.Generate(t.Context(), hello(), func(e llm.Event) error { accepted += len(e.Delta); return nil })
			e := failed(t, err, llm.ErrBadOutput)
			if e.Code != "answer_too_large" || e.Partial != resp || accepted > 32*mib || accepted != 0 && accepted < 31*mib {
				t.Errorf("%d bytes: %s, %v", accepted, e.Code, e)
			}
		})
	}
}

func TestAnEndlessNumberOfBlocksIsCutAtItsBound(t *testing.T) { //nolint:paralleltest // it measures memory
	for name, c := range map[string]struct {
		piece func(i int) string
		code  string
	}{
		"texts":      {func(i int) string { return text(i, "x") }, "answer_too_large"},
		"signatures": {func(i int) string { return delta(i, `{"reasoningContent":{"signature":"x"}}`) }, "answer_too_large"},
		"citations":  {func(i int) string { return delta(i, `{"citation":1}`) }, "answer_too_large"},
		"calls":      {func(i int) string { return callStart(i, fmt.Sprint("u", i), "f") }, "too_many_tool_calls"},
	} {
		var err error
		mibs := allocated(func() {
			_, err = reading(t, eventStream, adaptertest.Pieces(c.piece)).Generate(t.Context(), hello(), func(llm.Event) error { return nil })
		})
		if e := failed(t, err, llm.ErrBadOutput); e.Code != c.code || mibs > 128 && !raceEnabled {
			t.Errorf("%s: %s after %d MiB", name, e.Code, mibs)
		}
	}
	req := hello()
	req.ToolChoice.Single = true
	req.Tools = []llm.Tool{{Name: "f"}}
	_, err := reading(t, eventStream, adaptertest.Pieces(func(i int) string { return callStart(i, fmt.Sprint("u", i), "f") })).
		Generate(t.Context(), req, func(llm.Event) error { return nil })
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "too_many_tool_calls" {
		t.Errorf("left out: %+v", e)
	}
}

func TestAnEndlessBodyIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{"blanks": strings.Repeat(" ", mib), "text": `{"a":"` + strings.Repeat("x", mib)} {
		_, err := reading(t, "application/json", adaptertest.Pieces(func(int) string { return piece })).Generate(t.Context(), hello(), nil)
		if e := failed(t, err, llm.ErrBadOutput); e.Code != "answer_too_large" {
			t.Errorf("%s: %+v", name, e)
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
	for name, c := range map[string]struct{ body, code string }{
		"blocks":            {`{"output":{"message":{"content":` + list("{}") + `}},"stopReason":"end_turn"}`, "answer_too_large"},
		"calls":             {`{"output":{"message":{"content":` + list(`{"toolUse":{"toolUseId":"u","name":"f"}}`) + `}},"stopReason":"end_turn"}`, "too_many_tool_calls"},
		"cited texts":       {answer(`{"citationsContent":{"content":`+list("{}")+`}}`, "end_turn"), "answer_too_large"},
		"an error":          {`{"__type":"ThrottlingException","message":"m","details":` + list("{}") + `}`, "ThrottlingException"},
		"a guardrail trace": {answer(`{"text":"no"}`, "guardrail_intervened", `,"trace":{"guardrail":{"outputAssessments":{"g":`+list("{}")+`}}}`), "guardrail_intervened"},
	} {
		var err error
		mibs := allocated(func() {
			_, err = canned(t, 200, "application/json", []byte(c.body)).Generate(t.Context(), hello(), nil)
		})
		if e := failed(t, err, llm.KindOf(err)); e.Code != c.code || mibs > 32 && !raceEnabled {
			t.Errorf("%s: %s, %d MiB", name, e.Code, mibs)
		}
	}
}

func TestAnExceptionInsideAStreamIsReadAsFarAsAnErrorBody(t *testing.T) { //nolint:paralleltest // it measures memory
	for name, payload := range map[string]string{
		"details":   `{"message":"m","details":` + list("{}") + `}`,
		"a message": `{"originalStatusCode":429,"message":"` + strings.Repeat("{", 2*mib) + `"}`,
		"no JSON":   strings.Repeat("<", 2*mib),
	} {
		body := []byte(begin() + exception("throttlingException", payload))
		var err error
		mibs := allocated(func() { _, _, err = stream(t, canned(t, 200, eventStream, body), hello()) })
		if e := failed(t, err, llm.ErrRateLimited); e.Code != "throttlingException" || e.Status != 200 || len(e.Message) > 512 || mibs > 16 && !raceEnabled {
			t.Errorf("%s: %d MiB, %+v", name, mibs, e)
		}
	}
}

func TestNoCountOfTokensIsNegative(t *testing.T) {
	t.Parallel()
	const counts = `{"inputTokens":-5,"outputTokens":-3,"cacheReadInputTokens":9223372036854775807,"cacheWriteInputTokens":9223372036854775807}`
	whole := answered(t, `{"output":{"message":{"content":[{"text":"hi"}]}},"stopReason":"end_turn","usage":`+counts+`}`)
	_, pieces := streamed(t, events(begin(), text(0, "hi"), stop("end_turn"), event("metadata", `{"usage":`+counts+`}`)))
	for _, r := range []*llm.Response{whole, pieces} {
		if u := r.Usage; u.Input <= 0 || u.Output != 0 || u.CacheRead <= 0 || u.CacheWrite <= 0 || !u.Reported {
			t.Errorf("%+v", u)
		}
	}
}
