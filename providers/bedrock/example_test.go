package bedrock_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func ExampleNew() {
	// A server in place of https://bedrock-runtime.us-east-1.amazonaws.com.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.RequestURI())
		fmt.Fprint(w, `{"output":{"message":{"role":"assistant","content":[{"text":"urgent"}]}},"stopReason":"end_turn",
			"usage":{"inputTokens":20,"outputTokens":1,"totalTokens":21}}`)
	}))
	defer server.Close()

	provider, err := bedrock.New(&bedrock.Options{
		Region:      "us-east-1",
		Model:       "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		Endpoint:    server.URL, // leave it out for AWS's own
		BearerToken: "key-1",    // or Credentials; leave both out for AWS's standard chain
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	client := llm.NewClient(provider, nil) // without retries and fallback: see fallback.NewClient
	resp, err := client.Generate(context.Background(), &llm.Request{
		System:   "Answer urgent, normal or spam.",
		Messages: []llm.Message{llm.User("The server room is on fire.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text(), resp.Usage.Input, resp.Usage.Output)
	// Output:
	// POST /model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse
	// urgent 20 1
}

func ExampleExtra() {
	req := &llm.Request{Messages: []llm.Message{llm.User("hello")}}
	extra := bedrock.Extra{ServiceTier: "flex", ModelFields: map[string]any{"top_k": 40}}
	if err := extra.Set(req); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(req.Extra["bedrock"]))
	// Output: {"additionalModelRequestFields":{"top_k":40},"serviceTier":{"type":"flex"}}
}
