package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"

	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/providers/azure"
)

// simulated is one simulated account and the name under which it is a target.
type simulated struct {
	name   string
	server *simazure.Server
}

// simulatedKey is the only key the simulated accounts of the demo take: they check it as the real ones do.
const simulatedKey = "simulated-key"

func newSimulated(name string, steps ...llmtest.Step) *simulated {
	return newSimulatedAt(name, time.Now(), steps...)
}

// newSimulatedAt counts the times of its log from epoch, so that several logs can be laid side by side.
func newSimulatedAt(name string, epoch time.Time, steps ...llmtest.Step) *simulated {
	turns := make([]simazure.Turn, len(steps))
	for i, step := range steps {
		turns[i] = simazure.Turn{Step: step}
	}
	return &simulated{name: name, server: simazure.StartOptions(&simazure.Options{
		Script: turns, Key: simulatedKey, Epoch: epoch,
		Deployments: map[string]string{"gpt-4o": "gpt-4o"},
	})}
}

func (s *simulated) target() (fallback.Target, error) {
	return azureTarget(s.name, &azure.Options{
		Endpoint: s.server.URL, Deployment: "gpt-4o", APIVersion: "2024-10-21", Key: simulatedKey,
	})
}

func (s *simulated) close() { s.server.Close() }

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
func serverWords(r simazure.Request) string {
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
