package providers_test

import (
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	azurecloud "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	vertexcloud "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// What a strict cloud refuses because of the model is Unsupported, whether the adapter knows it or the service says it:
// a chain goes on to another target. Only a fault of the request itself is Invalid.
func TestASettingThatAModelRefusesIsNoFaultOfTheRequest(t *testing.T) {
	t.Parallel()
	tools := func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "clock"}} }
	settings := map[string]func(*llm.Request){
		"temperature": func(r *llm.Request) { r.Temperature = new(0.2) },
		"hot":         func(r *llm.Request) { r.Temperature = new(1.5) },
		"stop":        func(r *llm.Request) { r.Stop = []string{"."} },
		"many stops":  func(r *llm.Request) { r.Stop = []string{"a", "b", "c", "d", "e", "f"} },
		"long":        func(r *llm.Request) { r.MaxTokens = 1_000_000 },
		"tools":       tools,
		"tools and JSON": func(r *llm.Request) {
			tools(r)
			r.Output = &llm.Schema{Name: "x", JSON: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}
		},
		"effort": func(r *llm.Request) { r.Thinking = llm.Thinking{Effort: "low"} },
	}
	for model, refused := range map[string][]string{
		"azure gpt-5-mini": {"temperature", "hot", "stop", "many stops", "long"},
		"azure gpt-4o":     {"many stops", "long", "effort"},
		"bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0": {"hot", "long"},
		"bedrock amazon.titan-text-express-v1":                 {"tools", "tools and JSON"},
		"vertex gemini-2.5-flash":                              {"many stops", "long", "tools and JSON"},
		"vertex gemini-2.0-flash":                              {"many stops", "long", "tools and JSON", "effort"},
		"vertexai gemini-2.5-flash":                            {"many stops", "long", "tools and JSON"},
		"gemini gemini-2.5-flash":                              {"many stops", "long", "tools and JSON"},
	} {
		g := strictCloud(t, model)
		for _, name := range refused {
			t.Run(model+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
				settings[name](r)
				_, err := g.Generate(t.Context(), r, nil)
				if llm.KindOf(err) != llm.ErrUnsupported {
					t.Errorf("%+v", err)
				}
			})
		}
	}
}

// strictCloud opens the model of a simulated cloud.
func strictCloud(t *testing.T, name string) llm.Generator {
	t.Helper()
	var provider, model string
	for i := range name {
		if name[i] == ' ' {
			provider, model = name[:i], name[i+1:]
			break
		}
	}
	var g closer
	var err error
	switch provider {
	case "azure":
		server := azurecloud.Start(llmtest.Text("ok"))
		t.Cleanup(server.Close)
		g, err = azure.New(&azure.Options{Endpoint: server.URL, Deployment: model, APIVersion: "2024-10-21", Key: "key"})
	case "bedrock":
		server := bedrockcloud.Start(llmtest.Text("ok"))
		t.Cleanup(server.Close)
		g, err = bedrock.New(&bedrock.Options{Region: "us-east-1", Model: model, Endpoint: server.URL, BearerToken: "key-1"})
	default:
		server := vertexcloud.Start(llmtest.Text("ok"))
		t.Cleanup(server.Close)
		o := &vertex.Options{Project: "p", Location: "us-central1", Model: model, Endpoint: server.URL, TokenSource: simulatedToken}
		switch provider {
		case "vertexai":
			o.Engine = vertexai.Engine
		case "gemini":
			o = &vertex.Options{Model: model, Endpoint: server.URL, APIKey: "key"}
		}
		g, err = vertex.New(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}
