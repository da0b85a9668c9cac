package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	simbedrock "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	simvertex "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// simulated is one simulated account and the name under which it is a target.
type simulated struct {
	name   string
	server interface {
		Requests() []cloud.Request
		Wait(ctx context.Context, n int) error
		Close()
	}
	open func() (*fallback.Target, error)
}

// The only credentials the simulated accounts of the demo take: they check them as the real ones do.
const (
	simulatedKey    = "simulated-key"
	simulatedAccess = "AKIASIMULATEDACCOUNT"
	simulatedSecret = "simulated-secret"
	simulatedToken  = "simulated-token"

	simulatedRegion  = "us-east-1"
	simulatedProject = "simulated-project"
	simulatedClaude  = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	simulatedGemini  = "gemini-2.5-flash"
)

// simulatedAzure starts an account whose log counts from epoch, so that several logs can be laid side by side.
func simulatedAzure(name string, epoch time.Time, steps ...llmtest.Step) *simulated {
	server := simazure.StartOptions(&simazure.Options{
		Script: cloud.Steps(steps...), Key: simulatedKey, Epoch: epoch,
		Deployments: map[string]string{"gpt-4o": "gpt-4o"},
	})
	return &simulated{name: name, server: server, open: func() (*fallback.Target, error) {
		return azureTarget(name, &azure.Options{
			Endpoint: server.URL, Deployment: "gpt-4o", APIVersion: "2024-10-21", Key: simulatedKey,
		})
	}}
}

func simulatedBedrock(name string, epoch time.Time, steps ...llmtest.Step) *simulated {
	server := simbedrock.StartOptions(&simbedrock.Options{
		Script: cloud.Steps(steps...), AccessKey: simulatedAccess, SecretKey: simulatedSecret,
		Region: simulatedRegion, Epoch: epoch,
	})
	return &simulated{name: name, server: server, open: func() (*fallback.Target, error) {
		return bedrockTarget(name, &bedrock.Options{
			Region: simulatedRegion, Model: simulatedClaude, Endpoint: server.URL,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: simulatedAccess, SecretAccessKey: simulatedSecret}, nil
			}),
		})
	}}
}

func simulatedVertex(name string, epoch time.Time, steps ...llmtest.Step) *simulated {
	server := simvertex.StartOptions(&simvertex.Options{
		Script: cloud.Steps(steps...), Token: simulatedToken, Project: simulatedProject, Epoch: epoch,
	})
	return &simulated{name: name, server: server, open: func() (*fallback.Target, error) {
		return vertexTarget(name, &vertex.Options{
			Project: simulatedProject, Location: "global", Model: simulatedGemini, Endpoint: server.URL,
			TokenSource: func(context.Context) (string, error) { return simulatedToken, nil },
		})
	}}
}

// demoAnswer is what a simulated account answers to an operation: the text, its tokens, and the pace of a
// model that thinks for a moment.
func demoAnswer(op llm.Operation) llmtest.Step {
	var text string
	var tokens int64
	var delay, gap time.Duration
	switch op {
	case llm.Triage:
		text, tokens, delay = "normal", 38, 400*time.Millisecond
	case llm.Orchestration:
		text = `1. Find the invoice. 2. Compare it with the order. 3. Answer the customer.`
		tokens, delay = 212, 640*time.Millisecond
	default:
		text = "Thank you for writing. We found your invoice: the discount was missing, and the corrected one is on its way."
		tokens, delay, gap = 331, 200*time.Millisecond, 40*time.Millisecond
	}
	return llmtest.Respond(&llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: text}}},
		Usage:   llm.Usage{Input: 61, Output: tokens, Reported: true},
	}).After(delay).Every(gap)
}

// serverWords is what the log of a simulated account says of one request.
func serverWords(r cloud.Request) string {
	words := []string{fmt.Sprintf("request %d at %s", r.N, span(r.Time))}
	switch {
	case r.Status == 0:
		words = append(words, "nothing sent")
	case r.Stream && r.Status == 200:
		words = append(words, "200, a stream")
	default:
		words = append(words, fmt.Sprint(r.Status))
	}
	if r.Gone {
		words = append(words, "the client left after "+span(r.Took))
	} else {
		words = append(words, "done after "+span(r.Took))
	}
	return strings.Join(words, "; ")
}
