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
)

func TestVertexConformance(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "token", nil }
	for name, o := range map[string]vertex.Options{
		"token":      {Project: "p", Location: "us-central1", Model: "gemini-3.5-flash", TokenSource: token},
		"express":    {Location: "global", Model: "gemini-3.5-pro", APIKey: "key"},
		"gemini api": {Model: "gemini-3-flash-preview", APIKey: "key"},
		"older":      {Project: "p", Model: "gemini-2.5-flash", APIKey: "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "express" || name == "older" {
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
					server := vertexcloud.Start(script...)
					t.Cleanup(server.Close)
					o := o
					o.Endpoint = server.URL
					p, err := vertex.New(&o)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = p.Close() })
					return p
				},
			})
		})
	}
}
