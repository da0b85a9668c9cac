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

// TestVertexConformanceUnderFaults: what the way to the service does to an answer without harming it changes nothing.
func TestVertexConformanceUnderFaults(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "token", nil }
	for _, fault := range []string{"trickle=4096/1us", "write=997,gzip", "ping=1ms/5ms"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if fault != "write=997,gzip" {
				adaptertest.Variant(t)
			}
			conformance.Run(t, conformance.Harness{
				New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
					t.Helper()
					o := &vertexcloud.Options{}
					for _, s := range script {
						o.Script = append(o.Script, vertexcloud.Turn{Step: s, Fault: fault})
					}
					server := vertexcloud.StartOptions(o)
					t.Cleanup(server.Close)
					p, err := vertex.New(&vertex.Options{
						Project: "p", Location: "us-central1", Model: "gemini-3.5-flash", TokenSource: token, Endpoint: server.URL,
					})
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
