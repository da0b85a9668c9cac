package main

import (
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The variables that make a provider known without a file.
const (
	envAzureEndpoint   = "AZURE_OPENAI_ENDPOINT"
	envAzureKey        = "AZURE_OPENAI_API_KEY"
	envAzureDeployment = "AZURE_OPENAI_DEPLOYMENT"
	envAzureVersion    = "AZURE_OPENAI_API_VERSION"

	envBedrockModel = "LLM_BEDROCK_MODEL"
	envVertexModel  = "LLM_VERTEX_MODEL"
)

func azureTarget(name string, o *azure.Options) (*fallback.Target, error) {
	p, err := azure.New(o)
	if err != nil {
		return nil, err
	}
	return promptTarget(name, p, llm.ModelRef{Provider: "azure", Model: o.Deployment}), nil
}

func bedrockTarget(name string, o *bedrock.Options) (*fallback.Target, error) {
	p, err := bedrock.New(o)
	if err != nil {
		return nil, err
	}
	return promptTarget(name, p, llm.ModelRef{Provider: "bedrock", Model: o.Model}), nil
}

func vertexTarget(name string, o *vertex.Options) (*fallback.Target, error) {
	p, err := vertex.New(o)
	if err != nil {
		return nil, err
	}
	return promptTarget(name, p, llm.ModelRef{Provider: "vertex", Model: o.Model}), nil
}

// provider is what all adapters have in common.
type provider interface {
	llm.Generator
	Close() error
}

func promptTarget(name string, p provider, model llm.ModelRef) *fallback.Target {
	return &fallback.Target{
		Name: name, Generator: p, Model: model, Prompt: true, Can: llm.Capabilities{Streams: true}, Close: p.Close,
	}
}
