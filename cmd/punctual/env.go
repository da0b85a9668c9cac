package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The variables that make a provider known without a file. Those with an address in place of the vendor's own
// are the adapters' to read, as the SDKs under them do.
const (
	envAzureEndpoint   = "AZURE_OPENAI_ENDPOINT"
	envAzureKey        = "AZURE_OPENAI_API_KEY"
	envAzureDeployment = "AZURE_OPENAI_DEPLOYMENT"
	envAzureVersion    = "AZURE_OPENAI_API_VERSION"

	envBedrockModel   = "LLM_BEDROCK_MODEL"
	envBedrockRegion  = "AWS_REGION"
	envBedrockRegion2 = "AWS_DEFAULT_REGION" // the older name, which AWS's own tools write

	envVertexModel    = "LLM_VERTEX_MODEL"
	envVertexProject  = "GOOGLE_CLOUD_PROJECT"
	envVertexLocation = "GOOGLE_CLOUD_LOCATION"
	envVertexKey      = "GOOGLE_API_KEY" // in place of Application Default Credentials
	envGeminiKey      = "GEMINI_API_KEY" // the same, as the documentation of the Gemini API names it
)

// errNoProvider is what a command says when the environment names none.
const errNoProvider = `no provider: none of these is set:
  AZURE_OPENAI_ENDPOINT | LLM_BEDROCK_MODEL + AWS_REGION |
  LLM_VERTEX_MODEL + GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY
next: punctual generate -demo "Hello"   (a simulated cloud, no key)`

// environmentTargets opens a target for every provider the environment names. They are asked in this order.
func environmentTargets(lookup func(string) string) ([]fallback.Target, error) {
	var targets []fallback.Target
	for _, open := range []func(func(string) string) (*fallback.Target, error){azureFrom, bedrockFrom, vertexFrom} {
		t, err := open(lookup)
		if err != nil {
			return nil, err
		}
		if t != nil {
			targets = append(targets, *t)
		}
	}
	return targets, nil
}

// missing says which of the further variables of a provider is not set, if one is not.
func missing(lookup func(string) string, first string, further ...string) error {
	for _, name := range further {
		if lookup(name) == "" {
			return fmt.Errorf("%s is set, but %s is not\nnext: export %s=…", first, name, name)
		}
	}
	return nil
}

func azureFrom(lookup func(string) string) (*fallback.Target, error) {
	if lookup(envAzureEndpoint) == "" {
		return nil, nil
	}
	if err := missing(lookup, envAzureEndpoint, envAzureKey, envAzureDeployment); err != nil {
		return nil, err
	}
	return azureTarget("azure", &azure.Options{
		Endpoint: lookup(envAzureEndpoint), Deployment: lookup(envAzureDeployment),
		APIVersion: lookup(envAzureVersion), Key: lookup(envAzureKey),
	})
}

func bedrockFrom(lookup func(string) string) (*fallback.Target, error) {
	if lookup(envBedrockModel) == "" {
		return nil, nil
	}
	region := cmp.Or(lookup(envBedrockRegion), lookup(envBedrockRegion2))
	if region == "" {
		return nil, missing(lookup, envBedrockModel, envBedrockRegion)
	}
	return bedrockTarget("bedrock", &bedrock.Options{
		Region: region, Model: lookup(envBedrockModel),
	})
}

func vertexFrom(lookup func(string) string) (*fallback.Target, error) {
	if lookup(envVertexModel) == "" {
		return nil, nil
	}
	key := cmp.Or(lookup(envVertexKey), lookup(envGeminiKey))
	if key == "" { // with a key alone it is the Gemini API
		if err := missing(lookup, envVertexModel, envVertexProject); err != nil {
			return nil, err
		}
	}
	return vertexTarget("vertex", &vertex.Options{
		Project: lookup(envVertexProject), Location: lookup(envVertexLocation), Model: lookup(envVertexModel),
		APIKey: key,
	})
}

func azureTarget(name string, o *azure.Options) (*fallback.Target, error) {
	p, err := azure.New(o)
	if err != nil {
		return nil, optionsError(name, err)
	}
	return promptTarget(name, p, llm.ModelRef{Provider: "azure", Model: o.Deployment}), nil
}

func bedrockTarget(name string, o *bedrock.Options) (*fallback.Target, error) {
	p, err := bedrock.New(o)
	if err != nil {
		return nil, optionsError(name, err)
	}
	return promptTarget(name, p, llm.ModelRef{Provider: "bedrock", Model: o.Model}), nil
}

func vertexTarget(name string, o *vertex.Options) (*fallback.Target, error) {
	p, err := vertex.New(o)
	if err != nil {
		return nil, optionsError(name, err)
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

// variablesOf names the variables that a target of the environment was made from.
type variablesOf struct {
	credential, host, place string
	fields                  map[string]string // of the options
}

func variables(target string) variablesOf {
	switch target {
	case "azure":
		return variablesOf{
			credential: envAzureKey, host: envAzureEndpoint,
			place: envAzureDeployment + ", " + envAzureEndpoint + " and " + envAzureVersion,
			fields: map[string]string{
				"endpoint": envAzureEndpoint, "deployment": envAzureDeployment, "api_version": envAzureVersion,
				"key": envAzureKey, "api_key": envAzureKey,
			},
		}
	case "bedrock":
		return variablesOf{
			credential: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK", host: envBedrockRegion + " and AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
			place:  envBedrockModel + " and " + envBedrockRegion,
			fields: map[string]string{"region": envBedrockRegion, "model": envBedrockModel},
		}
	case "vertex":
		return variablesOf{
			credential: envVertexKey + " or GOOGLE_APPLICATION_CREDENTIALS (gcloud auth application-default login)",
			host:       envVertexLocation + " and GOOGLE_VERTEX_BASE_URL",
			place:      envVertexModel + ", " + envVertexProject + " and " + envVertexLocation,
			fields: map[string]string{
				"project": envVertexProject, "location": envVertexLocation, "model": envVertexModel,
				"api_key": envVertexKey,
			},
		}
	default:
		return variablesOf{credential: "its key", host: "its endpoint", place: "its model and endpoint"}
	}
}

// optionsError names the variable behind the field of an options struct.
func optionsError(target string, err error) error {
	f, ok := errors.AsType[*llm.FieldError](err)
	if !ok {
		return err
	}
	name, known := variables(target).fields[strings.ToLower(f.Field)]
	if !known {
		name = target + "." + f.Field
	}
	problem := f.Problem
	if rest, ok := strings.CutPrefix(problem, "of "); ok { // the adapter found the value in a variable
		if variable, rest, ok := strings.Cut(rest, " "); ok {
			name, problem = variable, rest
		}
	}
	text := name + ": " + problem
	if f.Next != "" {
		text += "\nnext: " + f.Next
	}
	return configf("%s", text)
}
