package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// events are the data of the whole events in body, comments left out.
func events(body string) (data []string) {
	body = body[:strings.LastIndex(body, "\n\n")+1]
	for block := range strings.SplitSeq(body, "\n\n") {
		if text, ok := strings.CutPrefix(block, "data: "); ok {
			data = append(data, strings.TrimSuffix(text, "\n"))
		}
	}
	return data
}

// digest says in a line what an event brings.
func digest(t *testing.T, event string) string {
	t.Helper()
	if event == "[DONE]" {
		return event
	}
	var k struct {
		chunk
		Error *struct{ Code string }
	}
	if err := json.Unmarshal([]byte(event), &k); err != nil {
		t.Fatalf("%v in %q", err, event)
	}
	switch {
	case k.Error != nil:
		return "error " + k.Error.Code
	case k.Prompt != nil:
		return "filter"
	case len(k.Choices) == 0:
		return "usage"
	case k.Choices[0].Finish != nil:
		return "finish " + *k.Choices[0].Finish
	}
	d := k.Choices[0].Delta
	text := strings.TrimSpace(d.Role + " " + d.Reasoning + string(d.Content))
	for _, c := range d.ToolCalls {
		f := c.Function
		text += "; call " + string(rune('0'+*c.Index)) + " " + c.ID + " " + f.Name + f.Arguments
	}
	return text
}

func digests(t *testing.T, body string) string {
	t.Helper()
	var all []string
	for _, e := range events(body) {
		all = append(all, digest(t, e))
	}
	return strings.Join(all, " | ")
}

func TestStreams(t *testing.T) {
	parts := func(p ...llm.Part) llmtest.Step {
		return llmtest.Respond(&llm.Response{Message: llm.Message{Parts: p}})
	}
	tests := []struct {
		name string
		path string
		step llmtest.Step
		body string
		want string
	}{
		{"text", "", llmtest.Text("Why did it?"), helloStream, `filter | assistant "" | "Why " | "did " | "it?" | finish stop | usage | [DONE]`},
		{"no usage asked", "", llmtest.Text("hi"), strings.Replace(helloStream, `,"stream_options":{"include_usage":true}`, "", 1), `filter | assistant "" | "hi" | finish stop | [DONE]`},
		{"OpenAI", openAIPath, llmtest.Text("hi"), helloStream, `assistant "" | "hi" | finish stop | usage | [DONE]`},
		{
			"calls", "",
			llmtest.Calls(llm.ToolCall{ID: "a", Name: "add", Arguments: `{"x":1,"y":2}`}, llm.ToolCall{ID: "b", Name: "now"}), helloStream,
			`filter | assistant null; call 0 a add | ; call 0  {"x":1," | ; call 0  y":2} | ; call 1 b now | ; call 1  {} | finish tool_calls | usage | [DONE]`,
		},
		{
			"thought, text, call", "",
			parts(llm.Reasoning{Text: "so so"}, llm.Text{Text: "hi"}, llm.ToolCall{Name: "f", Arguments: "{}"}), helloStream,
			`filter | assistant "" | so | so | "hi" | ; call 0 call_2 f | ; call 0  {} | finish tool_calls | usage | [DONE]`,
		},
		{
			"length", "", llmtest.Respond(&llm.Response{Finish: llm.FinishLength}), helloStream,
			`filter | assistant "" | finish length | usage | [DONE]`,
		},
		{
			"filtered by itself", "", llmtest.Respond(&llm.Response{RawFinish: "content_filter", Message: llm.User("some")}), helloStream,
			`filter | assistant "" | "some" | finish content_filter | usage | [DONE]`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Step: test.step}}})
			resp, body, err := request{path: test.path, body: test.body}.to(t, s).Answer(t)
			if err != nil || resp.Header.Get("Content-Type") != sseType {
				t.Fatal(err, resp.Header)
			}
			if got := digests(t, body); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestStreamShape: ids, model, usage and the filter's words are where the service has them.
func TestStreamShape(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Respond(&llm.Response{
		ID: "id-1", Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "<hi>"}}},
		Usage: llm.Usage{Input: 10, Output: 7, CacheRead: 4, Reasoning: 2, Reported: true},
	})}}})
	_, body, err := request{body: helloStream}.to(t, s).Answer(t)
	if err != nil {
		t.Fatal(err)
	}
	all := events(body)
	var content, last chunk
	if json.Unmarshal([]byte(all[2]), &content) != nil || json.Unmarshal([]byte(all[4]), &last) != nil {
		t.Fatalf("%q", all)
	}
	if content.ID != "id-1" || content.Model != "gpt-4o-2024-11-20" || content.Object != "chat.completion.chunk" ||
		content.Created == 0 || content.Fingerprint == "" || string(content.Usage) != "null" {
		t.Errorf("%+v", content)
	}
	if !strings.Contains(all[2], `"content":"<hi>"`) || !strings.Contains(all[2], `"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}`) ||
		!strings.Contains(all[1], `"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null`) {
		t.Errorf("%q", all)
	}
	var u usage
	if err := json.Unmarshal(last.Usage, &u); err != nil || u.Prompt != 10 || u.Completion != 7 || u.Total != 17 ||
		u.PromptDetails["cached_tokens"] != 4 || u.CompletionDetails["reasoning_tokens"] != 2 {
		t.Errorf("%v %s", err, last.Usage)
	}
}

func TestUnaryShape(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Respond(&llm.Response{
		Message: llm.Message{Parts: llm.Parts{
			llm.Reasoning{Text: "so"},
			llm.Text{Text: "a "},
			llm.Text{Text: "b"},
			llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"},
		}},
		RateLimit: llm.RateLimit{RemainingRequests: 3, RemainingTokens: 4, Reported: true},
	})}}})
	resp, body, err := request{}.to(t, s).Answer(t)
	if err != nil {
		t.Fatal(err)
	}
	var got completion
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Choices[0]
	if *c.Message.Content != "a b" || c.Message.Reasoning != "so" || c.Finish != "tool_calls" || c.Message.ToolCalls[0].ID != "c" ||
		got.Usage.Total != 8 || got.Model != "gpt-4o-2024-11-20" || got.Object != "chat.completion" || c.Filter == nil || got.Prompt == nil {
		t.Errorf("%s", body)
	}
	for name, want := range map[string]string{
		"X-Ratelimit-Remaining-Requests": "3", "X-Ratelimit-Remaining-Tokens": "4", "X-Ms-Region": "East US 2",
		"X-Request-Id": "00000002-0000-4000-8000-000000000001", "Apim-Request-Id": "00000001-0000-4000-8000-000000000001",
	} {
		if resp.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, resp.Header.Get(name), want)
		}
	}
	_, body, _ = request{path: openAIPath}.to(t, s).Answer(t)
	if strings.Contains(body, "filter") {
		t.Errorf("OpenAI does not speak of filters: %s", body)
	}
}
