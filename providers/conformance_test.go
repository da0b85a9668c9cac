package providers_test

import (
	"context"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	azurecloud "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	"github.com/punctual-llm/punctual/llmtest/conformance"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestAzureConformance(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "token", nil }
	for name, open := range map[string]func(url string) (*azure.Provider, error){
		"api-version": func(url string) (*azure.Provider, error) {
			return azure.New(&azure.Options{Endpoint: url, Deployment: "gpt-4o", APIVersion: "2024-10-21", Key: "key"})
		},
		"v1 with a token": func(url string) (*azure.Provider, error) {
			return azure.New(&azure.Options{Endpoint: url, Deployment: "gpt-4o", Token: token})
		},
		"azure ai": func(url string) (*azure.Provider, error) {
			return azure.New(&azure.Options{Endpoint: url + "/models", Deployment: "gpt-4o", APIVersion: "2024-05-01-preview", Key: "key"})
		},
		"compatible": func(url string) (*azure.Provider, error) {
			return azure.Compatible(&azure.CompatibleOptions{BaseURL: url + "/v1", Model: "gpt-4o", Key: "key"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "azure ai" || name == "v1 with a token" {
				adaptertest.Variant(t)
			}
			conformance.Run(t, conformance.Harness{
				New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
					t.Helper()
					server := azurecloud.Start(script...)
					t.Cleanup(server.Close)
					p, err := open(server.URL)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = p.Close() })
					return p
				},
				Skip: map[string]string{
					"parts_interleaved": "chat completions have one text per answer, in front of its tool calls",
				},
			})
		})
	}
}
