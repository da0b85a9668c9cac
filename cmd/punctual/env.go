package main

import (
	"fmt"
	"strings"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// The variables that make a provider known without a file.
const (
	envAzureEndpoint   = "AZURE_OPENAI_ENDPOINT"
	envAzureKey        = "AZURE_OPENAI_API_KEY"
	envAzureDeployment = "AZURE_OPENAI_DEPLOYMENT"
	envAzureVersion    = "AZURE_OPENAI_API_VERSION"
)

// errNoProvider is what a command says when the environment names none.
const errNoProvider = `no provider: none of these is set:
  AZURE_OPENAI_ENDPOINT (+ AZURE_OPENAI_API_KEY, AZURE_OPENAI_DEPLOYMENT)
next: punctual generate -demo "Hello"   (a simulated cloud, no key)`

// environmentTargets opens a target for every provider the environment names.
func environmentTargets(lookup func(string) string) ([]fallback.Target, error) {
	if lookup(envAzureEndpoint) == "" {
		return nil, nil
	}
	for _, name := range []string{envAzureKey, envAzureDeployment} {
		if lookup(name) == "" {
			return nil, fmt.Errorf("%s is set, but %s is not\nnext: export %s=…", envAzureEndpoint, name, name)
		}
	}
	t, err := azureTarget("azure", &azure.Options{
		Endpoint: lookup(envAzureEndpoint), Deployment: lookup(envAzureDeployment),
		APIVersion: lookup(envAzureVersion), Key: lookup(envAzureKey),
	})
	if err != nil {
		return nil, err
	}
	return []fallback.Target{t}, nil
}

func azureTarget(name string, o *azure.Options) (fallback.Target, error) {
	p, err := azure.New(o)
	if err != nil {
		return fallback.Target{}, err
	}
	return fallback.Target{
		Name: name, Generator: p, Prompt: true,
		Model: llm.ModelRef{Provider: "azure", Model: o.Deployment},
	}, nil
}

// credentialOf and placeOf name the variables that a target was made from.
func credentialOf(target string) string {
	if target == "azure" {
		return envAzureKey
	}
	return "its key"
}

func hostOf(target string) string {
	if target == "azure" {
		return envAzureEndpoint
	}
	return "its endpoint"
}

func placeOf(target string) string {
	if target == "azure" {
		return envAzureDeployment + ", " + envAzureEndpoint + " and " + envAzureVersion
	}
	return "its deployment and endpoint"
}

// environmentName is the variable behind a field of the options, for messages.
func environmentName(field string) string {
	switch strings.ToLower(field) {
	case "endpoint":
		return envAzureEndpoint
	case "deployment":
		return envAzureDeployment
	case "api_version":
		return envAzureVersion
	case "key", "api_key":
		return envAzureKey
	default:
		return field
	}
}
