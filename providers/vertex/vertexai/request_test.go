package vertexai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// full uses what the SDK's own types have no place for.
func full(t *testing.T) *llm.Request {
	t.Helper()
	seed := int64(7)
	from := llm.ModelRef{Provider: "vertex", Model: "gemini-2.5-flash"}
	req := &llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			llm.User("weather?"),
			{Role: llm.RoleAssistant, From: from, Parts: llm.Parts{
				llm.ToolCall{ID: "id-7", Name: "weather", Arguments: `{"city":"Paris","days":2}`, Signature: []byte("sig")},
			}},
			llm.ToolResults(llm.ToolResult{CallID: "id-7", Name: "weather", Parts: llm.Parts{
				llm.Text{Text: "rain"}, llm.Media{MediaType: "image/png", Data: []byte{1}},
			}}),
		},
		Tools: []llm.Tool{{
			Name: "weather", Description: "d",
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
		ToolChoice:  llm.ToolChoice{Mode: llm.ToolRequired},
		Output:      &llm.Schema{JSON: json.RawMessage(`{"type":"object"}`)},
		Temperature: new(0.0), MaxTokens: 9, Seed: &seed, Stop: []string{"END"},
		Thinking: llm.Thinking{MaxTokens: 100},
		Metadata: map[string]string{"run": "1"},
	}
	extra := vertex.Extra{
		CachedContent:  "c1",
		SafetySettings: []vertex.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE"}},
		ModelArmor:     &vertex.ModelArmor{PromptTemplate: "a", ResponseTemplate: "b"},
		Tools:          []json.RawMessage{json.RawMessage(`{"googleSearch":{}}`)},
	}
	if err := extra.Set(req); err != nil {
		t.Fatal(err)
	}
	return req
}

const fullMessage = `{
 "model":"projects/p1/locations/us-central1/publishers/google/models/gemini-2.5-flash",
 "systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]},
 "contents":[{"role":"user","parts":[{"text":"weather?"}]},
  {"role":"model","parts":[{"functionCall":{"id":"id-7","name":"weather","args":{"city":"Paris","days":2}},"thoughtSignature":"c2ln"}]},
  {"role":"user","parts":[{"functionResponse":{"id":"id-7","name":"weather","response":{"output":"rain"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AQ=="}}]}}]}],
 "tools":[{"functionDeclarations":[{"name":"weather","description":"d","parametersJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]},{"googleSearch":{}}],
 "toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
 "generationConfig":{"temperature":0,"maxOutputTokens":9,"seed":7,"stopSequences":["END"],"responseMimeType":"application/json",
  "responseJsonSchema":{"type":"object"},"thinkingConfig":{"includeThoughts":true,"thinkingBudget":100}},
 "safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],
 "modelArmorConfig":{"promptTemplateName":"a","responseTemplateName":"b"},
 "cachedContent":"projects/p1/locations/us-central1/cachedContents/c1","labels":{"run":"1"}}`

func TestTheWholeRequestReachesTheService(t *testing.T) {
	t.Parallel()
	want := new(request)
	if err := protojson.Unmarshal([]byte(fullMessage), want); err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		s := serve(t, answers(chunk(stop, text("{}"))))
		s.answered(t, full(t), stream)
		if got := s.last(t); !proto.Equal(got.request, want) {
			t.Errorf("want %v\ngot %v", want, got.request)
		} else if name := got.header.Get("x-goog-request-params"); len(name) != 1 || !strings.Contains(name[0], "gemini-2.5-flash") {
			t.Errorf("the model for routing is %q", name)
		}
	})
}

// with sets a member of the body that the request has no field for.
func with(t *testing.T, fields string) *llm.Request {
	t.Helper()
	req := hello()
	req.Extra = map[string]json.RawMessage{"vertex": json.RawMessage(fields)}
	return req
}

func TestWhatGRPCCannotCarryIsUnsupportedByName(t *testing.T) {
	t.Parallel()
	level := hello()
	level.Thinking.Effort = "high"
	part := func(raw string) *llm.Request {
		req := hello()
		req.Messages[0].Parts = append(req.Messages[0].Parts, llm.Opaque{Type: vertex.PartType, Data: json.RawMessage(raw)})
		return req
	}
	schema := hello()
	schema.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`)}}
	for field, req := range map[string]*llm.Request{
		"thinking.effort":                                       level,
		"serviceTier":                                           with(t, `{"serviceTier":"FLEX"}`),
		"contents[0].parts[1].mediaResolution":                  part(`{"inlineData":{"mimeType":"a/b","data":""},"mediaResolution":{"level":"MEDIA_RESOLUTION_HIGH"}}`),
		"contents[0].parts[1].toolCall":                         part(`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB"}}`),
		"tools[0].fileSearch":                                   with(t, `{"tools":[{"fileSearch":{}}]}`),
		"toolConfig.includeServerSideToolInvocations":           with(t, `{"toolConfig":{"includeServerSideToolInvocations":true}}`),
		"safetySettings[0].threshold":                           with(t, `{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"NEWER"}]}`),
		"contents[0].parts[1].functionCall.args":                part(`{"functionCall":{"name":"f","args":{"n":[{"m":12345678901234567890}]}}}`),
		"tools[0].functionDeclarations[0].parametersJsonSchema": schema,
		"request": with(t, `{"generationConfig":{"maxOutputTokens":"many"}}`),
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answers(chunk(stop, text("hi"))))
			p := s.provider(t, func(o *vertex.Options) { o.Model = "gemini-3-pro" })
			_, _, err := ask(t, p, req, true)
			e := failed(t, err, llm.ErrUnsupported)
			if f, ok := errors.AsType[*llm.FieldError](err); !ok || f.Field != field || f.Next != "use engine genai" || !e.NotSent {
				t.Errorf("got %v", err)
			}
			if len(s.requests()) != 0 || s.accept.n.Load() != 0 {
				t.Error("something was sent")
			}
		})
	}
}

// Integers that a float carries exactly are fine, and so are digits that are no number.
func TestNumbersThatGRPCCarries(t *testing.T) {
	t.Parallel()
	s := serve(t, answers(chunk(stop, text("hi"))))
	req := hello()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{
		llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":9007199254740992,"b":"12345678901234567890","c":0.12345678901234567,"d":1152921504606846976}`},
	}}, llm.ToolResults(llm.ToolResult{CallID: "1", Name: "f", Parts: llm.Parts{llm.Text{Text: "ok"}}}))
	s.answered(t, req, false)
	if a := s.last(t).request.GetContents()[1].GetParts()[0].GetFunctionCall().GetArgs().AsMap(); a["a"] != float64(1<<53) || a["b"] != "12345678901234567890" {
		t.Errorf("got %v", a)
	}
}

func TestPartsOfThisEngineThatWereChangedAreUnsupported(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Messages[0].Parts = append(req.Messages[0].Parts, llm.Opaque{Type: vertex.PartType, Data: json.RawMessage(`{"vertexaiPart":"/w=="}`)})
	_, _, err := ask(t, serve(t, answers(chunk(stop, text("hi")))).provider(t), req, false)
	_ = failed(t, err, llm.ErrUnsupported)
}

func TestSettingsThatTheEngineCannotUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field  string
		change func(*vertex.Options)
	}{
		"an api key":       {"api_key", func(o *vertex.Options) { o.APIKey, o.TokenSource = "k", nil }},
		"express mode":     {"api_key", func(o *vertex.Options) { o.Project, o.APIKey, o.TokenSource = "", "k", nil }},
		"the Gemini API":   {"api_key", func(o *vertex.Options) { o.Project, o.Location, o.APIKey, o.TokenSource = "", "", "k", nil }},
		"an HTTP client":   {"http", func(o *vertex.Options) { o.HTTP = new(http.Client) }},
		"a path":           {"endpoint", func(o *vertex.Options) { o.Endpoint = "https://gateway.example/google" }},
		"another version":  {"endpoint", func(o *vertex.Options) { o.Endpoint = "https://gateway.example/v1" }},
		"no such location": {"location", func(o *vertex.Options) { o.Location = "a b" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := vertex.Options{Project: "p", Model: "m", TokenSource: func(context.Context) (string, error) { return "t", nil }}
			c.change(&o)
			o.Engine = vertexai.Engine
			_, err := vertex.New(&o)
			if f, ok := errors.AsType[*llm.FieldError](err); !ok || f.Field != c.field || f.Next == "" {
				t.Errorf("want %s, got %v", c.field, err)
			}
		})
	}
}
