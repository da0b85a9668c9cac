package bedrock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// decoded is one frame as a client reads it, its checksums verified.
type decoded struct {
	kind, name string // "event" "messageStart"
	payload    string
}

// decodeFrames reads the whole frames of body; rest is what is left of one that is not.
func decodeFrames(t *testing.T, body string) (all []decoded, rest string) {
	t.Helper()
	for body != "" {
		in := bytes.NewReader([]byte(body))
		m, err := eventstream.NewDecoder().Decode(in, nil)
		if err != nil {
			return all, body
		}
		body = body[len(body)-in.Len():]
		text := func(name string) string {
			if v := m.Headers.Get(name); v != nil {
				return v.String()
			}
			return ""
		}
		d := decoded{kind: text(":message-type"), payload: string(m.Payload)}
		switch d.kind {
		case "event":
			d.name = text(":event-type")
		case "exception":
			d.name = text(":exception-type")
		default:
			d.name, d.payload = text(":error-code"), text(":error-message")
		}
		all = append(all, d)
	}
	return all, ""
}

// payload has every member that an event may have.
type payload struct {
	Role  string
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse struct{ Name, ToolUseID string }
	}
	Delta struct {
		Text             *string
		ReasoningContent *struct{ Text, Signature, RedactedContent string }
		ToolUse          *struct{ Input string }
		Citation         *struct{ Title string }
	}
	StopReason string
	Usage      *usage
	Message    string
	P          string
}

// digest says in a word what a frame brings.
func (d decoded) digest(t *testing.T) string {
	t.Helper()
	if d.kind != "event" {
		return d.kind + " " + d.name
	}
	var p payload
	if err := json.Unmarshal([]byte(d.payload), &p); err != nil {
		t.Fatalf("%v in %q", err, d.payload)
	}
	index := string(rune('0' + p.Index))
	switch d.name {
	case "messageStart":
		return p.Role
	case "contentBlockStart":
		return index + " call " + p.Start.ToolUse.ToolUseID + " " + p.Start.ToolUse.Name
	case "contentBlockStop":
		return index + " end"
	case "messageStop":
		return "stop " + p.StopReason
	case "contentBlockDelta":
		switch delta := p.Delta; {
		case delta.Text != nil:
			return index + " " + *delta.Text
		case delta.ReasoningContent != nil:
			r := delta.ReasoningContent
			return index + " (" + r.Text + r.Signature + r.RedactedContent + ")"
		case delta.ToolUse != nil:
			return index + " <" + delta.ToolUse.Input + ">"
		case delta.Citation != nil:
			return index + " [" + delta.Citation.Title + "]"
		}
	}
	return d.name
}

// digests are those of the whole frames of a body, pings left out.
func digests(t *testing.T, body string) string {
	t.Helper()
	frames, _ := decodeFrames(t, body)
	var all []string
	for _, d := range frames {
		if d.name != "ping" {
			all = append(all, d.digest(t))
		}
	}
	return strings.Join(all, " | ")
}

func TestStreams(t *testing.T) {
	parts := func(p ...llm.Part) llmtest.Step {
		return llmtest.Respond(&llm.Response{Message: llm.Message{Parts: p}})
	}
	for _, test := range []struct {
		name string
		step llmtest.Step
		want string
	}{
		{"text", llmtest.Text("Why did it?"), `assistant | 0 Why  | 0 did  | 0 it? | 0 end | stop end_turn | metadata`},
		{
			"calls", llmtest.Calls(llm.ToolCall{ID: "a", Name: "add", Arguments: `{"x":1,"y":2}`}, llm.ToolCall{ID: "b", Name: "now"}),
			`assistant | 0 call a add | 0 <{"x":1,"> | 0 <y":2}> | 0 end | 1 call b now | 1 <> | 1 end | stop tool_use | metadata`,
		},
		{
			"thought, text, call",
			parts(llm.Reasoning{Text: "so so", Signature: []byte("sig")}, llm.Text{Text: "hi"}, llm.ToolCall{Name: "f", Arguments: `{"a":1}`}),
			`assistant | 0 (so ) | 0 (so) | 0 (sig) | 0 end | 1 hi | 1 end | 2 call call_2 f | 2 <{"a":1}> | 2 end | stop tool_use | metadata`,
		},
		{
			"signed by bytes", parts(llm.Reasoning{Signature: []byte{0xff}}, llm.Text{Text: "hi"}),
			`assistant | 0 (/w==) | 0 end | 1 hi | 1 end | stop end_turn | metadata`,
		},
		{
			"redacted, cited, unknown",
			parts(
				llm.Opaque{Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"YWI="}}`)},
				llm.Opaque{Data: json.RawMessage(`[1]`)}, llm.CachePoint{},
				llm.Opaque{Data: json.RawMessage(`{"citationsContent":{"citations":[{"title":"facts"}],"content":[{"text":"it is"}]}}`)},
			),
			`assistant | 0 (YWI=) | 0 end | 1 [facts] | 1 it  | 1 is | 1 end | stop end_turn | metadata`,
		},
		{"length", llmtest.Respond(&llm.Response{Finish: llm.FinishLength}), `assistant | stop max_tokens | metadata`},
		{"other", llmtest.Respond(&llm.Response{Finish: llm.FinishOther}), `assistant | stop other | metadata`},
		{"its own word", llmtest.Respond(&llm.Response{RawFinish: "stop_sequence"}), `assistant | stop stop_sequence | metadata`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Step: test.step}}})
			resp, body, err := request{path: streamPath}.to(t, s).Answer(t)
			if err != nil || resp.Header.Get("Content-Type") != streamType {
				t.Fatal(err, resp.Header)
			}
			if got := digests(t, body); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if _, rest := decodeFrames(t, body); rest != "" {
				t.Errorf("%d bytes are no frame", len(rest))
			}
		})
	}
}

// TestStreamShape: frames are byte for byte what the service's are, but for the length of the padding.
func TestStreamShape(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Respond(&llm.Response{
		ID: "id-1", Message: llm.User("<hi>"),
		Usage: llm.Usage{Input: 1040, Output: 7, CacheRead: 1028, Reasoning: 2, Reported: true},
	})}}})
	resp, body, err := request{path: streamPath, body: strings.Replace(hello, "}]}]", `}]}],"performanceConfig":{"latency":"optimized"}`, 1)}.to(t, s).Answer(t)
	if err != nil || resp.Header.Get("X-Amzn-Requestid") != "id-1" {
		t.Fatal(err, resp.Header)
	}
	frames, _ := decodeFrames(t, body)
	lengths := map[int]bool{}
	var got []string
	for _, d := range frames {
		var p payload
		if err := json.Unmarshal([]byte(d.payload), &p); err != nil || !strings.HasPrefix(padding, p.P) || len(p.P) < 4 {
			t.Errorf("%v %q", err, d.payload)
		}
		lengths[len(p.P)] = true
		got = append(got, strings.Replace(d.payload, p.P, "…", 1))
	}
	want := []string{
		`{"p":"…","role":"assistant"}`,
		`{"contentBlockIndex":0,"delta":{"text":"<hi>"},"p":"…"}`,
		`{"contentBlockIndex":0,"p":"…"}`,
		`{"p":"…","stopReason":"end_turn"}`,
		`{"metrics":{"latencyMs":1},"p":"…","performanceConfig":{"latency":"optimized"},"usage":{"cacheReadInputTokenCount":1028,"cacheReadInputTokens":1028,"cacheWriteInputTokenCount":0,"cacheWriteInputTokens":0,"inputTokens":12,"outputTokens":7,"totalTokens":1047}}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(lengths) != len(want) {
		t.Errorf("%d lengths in %s", len(lengths), strings.Join(got, "\n"))
	}
}

// TestFrameBytes is a frame as it was seen on the wire, headers in their order.
func TestFrameBytes(t *testing.T) {
	const start = "\x0b:event-type\x07\x00\x0cmessageStart\r:content-type\x07\x00\x10application/json\r:message-type\x07\x00\x05event"
	const payload = `{"p":"abcd","role":"assistant"}`
	got := string(Event("messageStart", []byte(payload)))
	if got[12:len(got)-4] != start+payload {
		t.Errorf("%q", got)
	}
	// Both checksums, worked out by another program.
	if base64.StdEncoding.EncodeToString([]byte(got[8:12]+got[len(got)-4:])) != "bMF2k/USoAU=" {
		t.Errorf("checksums %x %x", got[8:12], got[len(got)-4:])
	}
	frames, _ := decodeFrames(t, string(Exception("throttlingException", []byte(`{"message":"m"}`)))+string(errorFrame("Code", "text"))+ping())
	if len(frames) != 3 || frames[0] != (decoded{"exception", "throttlingException", `{"message":"m"}`}) ||
		frames[1] != (decoded{"error", "Code", "text"}) || frames[2] != (decoded{"event", "ping", `{"p":"abcd"}`}) {
		t.Errorf("%+v", frames)
	}
}

func TestUnaryShape(t *testing.T) {
	s := start(t, &Options{Script: []Turn{
		{Step: llmtest.Respond(&llm.Response{Message: llm.Message{Parts: llm.Parts{
			llm.Reasoning{Text: "so", Signature: []byte("sig")},
			llm.Text{Text: "<a>"},
			llm.ToolCall{ID: "c", Name: "f", Arguments: `{"x":[1, 2]}`},
			llm.ToolCall{ID: "d", Name: "g", Arguments: `{"x":`},
			llm.Opaque{Data: json.RawMessage(`{"reasoningContent":{"redactedContent":"YWI="}}`)},
			llm.CachePoint{},
		}}})},
		{Step: llmtest.Text("hi")},
	}})
	_, body, err := request{}.to(t, s).Answer(t)
	const want = `{"metrics":{"latencyMs":1},"output":{"message":{"content":[` +
		`{"reasoningContent":{"reasoningText":{"signature":"sig","text":"so"}}},{"text":"<a>"},` +
		`{"toolUse":{"input":{"x":[1,2]},"name":"f","toolUseId":"c"}},{"toolUse":{"input":"{\"x\":","name":"g","toolUseId":"d"}},` +
		`{"reasoningContent":{"redactedContent":"YWI="}}],"role":"assistant"}},` +
		`"stopReason":"tool_use","usage":{"inputTokens":5,"outputTokens":3,"totalTokens":8}}`
	if err != nil || body != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, body, want)
	}
	caching := `{"messages":[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default"}}]}],"serviceTier":{"type":"flex"},` +
		`"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"1","trace":"enabled"}}`
	resp, body, err := request{body: caching}.to(t, s).Answer(t)
	if err != nil || !strings.HasSuffix(body, `"serviceTier":{"type":"flex"},"stopReason":"end_turn","trace":{"guardrail":{"actionReason":"No action."}},`+
		`"usage":{"cacheReadInputTokenCount":0,"cacheReadInputTokens":0,"cacheWriteInputTokenCount":0,"cacheWriteInputTokens":0,"inputTokens":5,"outputTokens":3,"totalTokens":8}}`) {
		t.Errorf("%v %s", err, body)
	}
	if resp.Header.Get("X-Amzn-Requestid") != "00000001-0000-4000-8000-000000000002" || resp.Header.Get("Content-Type") != jsonType {
		t.Errorf("%v", resp.Header)
	}
}
