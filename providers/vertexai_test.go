package providers_test

import (
	"context"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	vertexcloud "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
	"github.com/punctual-llm/punctual/llmtest/conformance"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// The second engine of Vertex AI keeps the contract as the first does, over gRPC.
func TestVertexAIConformance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model, fault string
	}{
		"older":                {"gemini-2.5-flash", ""},
		"with ids":             {"gemini-3.5-flash", ""},
		"in pieces of a frame": {"gemini-3.5-flash", "write=61"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "older" {
				adaptertest.Variant(t)
			}
			skip := map[string]string{}
			if name == "older" {
				skip["tool_call_id"] = "models before 3.5 give calls no ids"
			}
			conformance.Run(t, conformance.Harness{
				Skip: skip,
				New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
					t.Helper()
					o := &vertexcloud.Options{Token: "token", Project: "p1", Location: "us-central1"}
					for _, s := range script {
						o.Script = append(o.Script, vertexcloud.Turn{Step: s, Fault: c.fault})
					}
					return vertexAIOn(t, o, c.model)
				},
			})
		})
	}
}

// vertexAIOn opens a provider on a simulated cloud of its own.
func vertexAIOn(t *testing.T, o *vertexcloud.Options, model string) *vertex.Provider {
	t.Helper()
	server := vertexcloud.StartOptions(o)
	t.Cleanup(server.Close)
	p, err := vertex.New(&vertex.Options{
		Project: "p1", Location: "us-central1", Model: model, Endpoint: server.URL, Engine: vertexai.Engine,
		TokenSource: func(context.Context) (string, error) { return "token", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
