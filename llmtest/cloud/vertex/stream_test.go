package vertex

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// chunk is a response as it is read back.
type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text         *string
				Thought      bool
				FunctionCall *functionCall
				Signature    []byte `json:"thoughtSignature"`
			}
		}
		FinishReason any
		Ratings      []rating `json:"safetyRatings"`
	}
	Feedback *struct{ BlockReason any } `json:"promptFeedback"`
	Usage    *usage                     `json:"usageMetadata"`
	Error    *struct{ Status string }
}

// digest says in a line what a response brings.
func digest(t *testing.T, event string) string {
	t.Helper()
	var k chunk
	if err := json.Unmarshal([]byte(event), &k); err != nil {
		t.Fatalf("%v in %q", err, event)
	}
	switch {
	case k.Error != nil:
		return "error " + k.Error.Status
	case k.Feedback != nil:
		return "blocked " + word(k.Feedback.BlockReason)
	case len(k.Candidates) == 0:
		return "nothing"
	}
	var words []string
	c := k.Candidates[0]
	for _, p := range c.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			words = append(words, "call "+p.FunctionCall.ID+" "+p.FunctionCall.Name+compact(p.FunctionCall.Args))
		case p.Thought:
			words = append(words, "thought "+*p.Text)
		case p.Text != nil:
			words = append(words, `"`+*p.Text+`"`)
		}
		if len(p.Signature) > 0 {
			words = append(words, "signed")
		}
	}
	for _, r := range c.Ratings {
		if r.Blocked {
			words = append(words, word(r.Category)+" "+word(r.Probability))
		}
	}
	if c.FinishReason != nil {
		words = append(words, word(c.FinishReason))
	}
	return strings.Join(words, " ")
}

func compact(raw json.RawMessage) string { return string(marshal(raw)) }

func word(v any) string { return strings.Trim(string(marshal(v)), `"`) }

// events are the JSON values of the events, of the array, or of the body, and a bare value behind events.
func events(body string) (all []string) {
	if strings.HasPrefix(body, "data: ") || strings.HasPrefix(body, ": ") {
		for block := range strings.SplitSeq(body, "\r\n\r\n") {
			text, isData := strings.CutPrefix(block, "data: ")
			if isData && json.Valid([]byte(text)) || strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
				all = append(all, text)
			}
		}
		return all
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(body), "[")))
	for {
		var one json.RawMessage
		if d.Decode(&one) != nil {
			return all
		}
		all = append(all, string(one))
		rest := body[strings.Index(body, string(one))+len(one):]
		body = rest
		d = json.NewDecoder(strings.NewReader(strings.TrimLeft(rest, " \r\n,")))
	}
}

func digests(t *testing.T, body string) string {
	t.Helper()
	var all []string
	for _, e := range events(body) {
		all = append(all, digest(t, e))
	}
	return strings.Join(all, " | ")
}

func parts(p ...llm.Part) llmtest.Step {
	return llmtest.Respond(&llm.Response{Message: llm.Message{Parts: p}})
}

func TestAnswers(t *testing.T) {
	const gemini35 = "/v1beta1/" + resource + "gemini-3.5-flash:"
	calls := llmtest.Calls(llm.ToolCall{ID: "a", Name: "add", Arguments: `{"x":1,"y":[2]}`}, llm.ToolCall{ID: "b", Name: "now"})
	tests := []struct {
		name, path    string // method left out
		step          llmtest.Step
		stream, unary string
	}{
		{"text", "", llmtest.Text("Why did it?"), `"Why " | "did " | "it?" | "" STOP`, `"Why did it?" STOP`},
		{"Gemini API", "/v1beta/models/gemini-2.0-flash:", llmtest.Text("hi"), `"hi" | "" STOP`, `"hi" STOP`},
		{"express", "/v1beta1/publishers/google/models/gemini-2.5-flash:", llmtest.Text("hi"), `"hi" | "" STOP`, `"hi" STOP`},
		{"endpoint", "/v1/projects/p/locations/us-central1/endpoints/123:", llmtest.Text("hi"), `"hi" | "" STOP`, `"hi" STOP`},
		{"calls", "", calls, `call  add{"x":1,"y":[2]} | call  now{} STOP`, `call  add{"x":1,"y":[2]} call  now{} STOP`},
		{"signed calls with ids", gemini35, calls, `call a add{"x":1,"y":[2]} signed | call b now{} STOP`, `call a add{"x":1,"y":[2]} signed call b now{} STOP`},
		{"signed calls", "/v1beta1/" + resource + "gemini-3-pro-preview:", calls, `call  add{"x":1,"y":[2]} signed | call  now{} STOP`, `call  add{"x":1,"y":[2]} signed call  now{} STOP`},
		{"ids of the Gemini API", "/v1beta/models/gemini-3-pro-preview:", calls, `call a add{"x":1,"y":[2]} signed | call b now{} STOP`, `call a add{"x":1,"y":[2]} signed call b now{} STOP`},
		{
			"thought, text, signature", "", parts(llm.Reasoning{Text: "so so"}, llm.Text{Text: "hi", Signature: []byte("s")}),
			`thought so  | thought so | "hi" | "" signed | "" STOP`, `thought so so "hi" signed STOP`,
		},
		{"length", "", llmtest.Respond(&llm.Response{Finish: llm.FinishLength}), `"" MAX_TOKENS`, `MAX_TOKENS`},
		{"other", "", llmtest.Respond(&llm.Response{Finish: llm.FinishOther, Message: llm.User("x")}), `"x" | "" OTHER`, `"x" OTHER`},
		{"no parts", "", parts(), `"" STOP`, `STOP`},
		{"raw finish", "", llmtest.Respond(&llm.Response{RawFinish: "RECITATION", Message: llm.User("x")}), `"x" | "" RECITATION`, `"x" RECITATION`},
		{"filtered by itself", "", llmtest.Respond(&llm.Response{RawFinish: "SAFETY", Message: llm.User("x")}), `"x" | "" HARM_CATEGORY_DANGEROUS_CONTENT HIGH SAFETY`, `"x" HARM_CATEGORY_DANGEROUS_CONTENT HIGH SAFETY`},
		{"arguments are no JSON", "", parts(llm.Text{Text: "x"}, llm.ToolCall{Name: "f", Arguments: `{"a":`}, llm.Text{Text: "y"}), `"x" | MALFORMED_FUNCTION_CALL`, `MALFORMED_FUNCTION_CALL`},
		{"opaque", "", parts(llm.Opaque{Type: "executableCode", Data: []byte(`{"language":"PYTHON","code":"1"}`)}), ` | "" STOP`, `STOP`},
		{"media", "", parts(llm.Media{MediaType: "image/png", Data: []byte("d")}, llm.Media{MediaType: "image/png", URI: "gs://b/o"}), ` |  | "" STOP`, `STOP`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Step: test.step}}})
			path := cmp.Or(test.path, "/v1beta1/"+resource+"gemini-2.5-flash:")
			for method, want := range map[string]struct{ contentType, digests string }{
				"streamGenerateContent?alt=sse": {sseType, test.stream}, "streamGenerateContent": {jsonType, test.stream},
				"generateContent": {jsonType, test.unary}, "generateContent?alt=json": {jsonType, test.unary},
			} {
				resp, body, err := request{path: path + method}.to(t, s).Answer(t)
				if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != want.contentType {
					t.Fatalf("%v %d %v %s", err, resp.StatusCode, resp.Header, body)
				}
				if got := digests(t, body); got != want.digests {
					t.Errorf("%s: got  %s\nwant %s", method, got, want.digests)
				}
				if strings.HasPrefix(body, "data") != strings.Contains(method, "sse") || strings.HasPrefix(body, "[") != strings.HasSuffix(body, "]") {
					t.Errorf("%s: %q", method, body)
				}
			}
		})
	}
}

// TestStreamShape: byte for byte as recorded streams have it.
func TestStreamShape(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Respond(&llm.Response{
		ID: "id-1", Message: llm.Message{Parts: llm.Parts{llm.Text{Text: `<a>: "b\"`}}},
		Usage: llm.Usage{Input: 10, Output: 7, CacheRead: 4, Reasoning: 2, Reported: true},
	})}}})
	_, sse, err := request{path: geminiSSE}.to(t, s).Answer(t)
	const wantSSE = `data: {"candidates": [{"content": {"role": "model","parts": [{"text": "<a>: "}]}}],"usageMetadata": {"promptTokenCount": 10,"totalTokenCount": 10,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 10}]},"modelVersion": "gemini-2.5-flash","responseId": "id-1"}` + "\r\n\r\n" +
		`data: {"candidates": [{"content": {"role": "model","parts": [{"text": "\"b\\\""}]}}],"usageMetadata": {"promptTokenCount": 10,"totalTokenCount": 10,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 10}]},"modelVersion": "gemini-2.5-flash","responseId": "id-1"}` + "\r\n\r\n" +
		`data: {"candidates": [{"content": {"role": "model","parts": [{"text": ""}]},"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 5,"totalTokenCount": 17,"cachedContentTokenCount": 4,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 10}],"candidatesTokensDetails": [{"modality": "TEXT","tokenCount": 5}],"thoughtsTokenCount": 2},"modelVersion": "gemini-2.5-flash","responseId": "id-1"}` + "\r\n\r\n"
	if err != nil || sse != wantSSE {
		t.Errorf("%v\ngot  %s\nwant %s", err, sse, wantSSE)
	}
	_, array, err := request{path: intsPath}.to(t, s).Answer(t)
	if err != nil || !strings.HasPrefix(array, "[{\n  \"candidates\": [\n    {\n      \"content\": {\n") || !strings.HasSuffix(array, "\"responseId\": \"id-1\"\n}\n]") ||
		strings.Count(array, "\n}\n,\r\n{\n") != 2 || !strings.Contains(array, `"finishReason": 1`) || !strings.Contains(array, `"trafficType": 1`) || !strings.Contains(array, `"modality": 1`) {
		t.Errorf("%v\n%s", err, array)
	}
	if first := events(array)[0]; !strings.Contains(first, `"trafficType": 1`) || strings.Contains(first, "promptTokenCount") || !strings.Contains(first, `"createTime": "20`) {
		t.Errorf("%s", first)
	}
}

func TestEnumsAsNumbers(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered, Filtered: []string{"hate (medium)"}})}}})
	for path, want := range map[string]string{
		unaryPath + "?%24alt=json%3Benum-encoding=int": `"category": 1,
        "probability": 3,
        "blocked": true`,
		geminiPath + "?$alt=json;enum-encoding=int": `"category": 8,
        "probability": 3,
        "blocked": true`,
	} {
		got := request{path: path}.to(t, s).Outcome(t)
		if got.Err != nil || !strings.Contains(got.Body, want) || !strings.Contains(got.Body, `"blockReason": 1`) {
			t.Errorf("%+v", got)
		}
	}
}
