package fallback_test

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// The primary hangs. It is cut at its limit, and the backup answers in the time that is left.
func Example() {
	client, err := fallback.NewClient([]fallback.Target{
		{Name: "primary", Generator: llmtest.New(llmtest.Hang()), Prompt: true},
		{Name: "backup", Generator: llmtest.New(llmtest.Text("urgent")), Prompt: true},
	}, &fallback.Options{Plans: policy.Plans{Operations: map[llm.Operation]policy.Plan{
		llm.Triage: {Limits: llm.Limits{Attempt: 100 * time.Millisecond, Total: time.Minute}}, // 30 s and 60 s by default
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Generate(context.Background(), &llm.Request{
		Operation: llm.Triage,
		Messages:  []llm.Message{llm.User("Urgent, normal or spam? The plant is on fire.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Target, "says:", resp.Text())
	for _, a := range resp.Attempts {
		fmt.Println(a.Target, a.Kind, a.Bound)
	}
	// Output:
	// backup says: urgent
	// primary timeout attempt
	// backup
}

// An error tells the whole trail, in a text that is safe to log.
func ExampleChain_Generate() {
	chain, err := fallback.New([]fallback.Target{
		{Name: "azure", Generator: llmtest.New(llmtest.Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401})), Prompt: true},
		{Name: "vertex", Generator: llmtest.New(llmtest.Fail(&llm.Error{
			Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 75 * time.Second,
		})), Prompt: true},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = chain.Generate(context.Background(), &llm.Request{
		Operation: llm.Triage, Messages: []llm.Message{llm.User("hello")},
	}, nil)
	fmt.Println(err)
	// Output: llm: triage: vertex: rate_limited (429, retry after 75s), 2 targets tried
}
