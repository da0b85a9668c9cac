package bedrock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// printed is a server in place of Bedrock's: it prints what it is sent and answers with one block after the other.
func printed(blocks ...string) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
		fmt.Fprintf(w, `{"output":{"message":{"role":"assistant","content":[%s]}},"stopReason":"end_turn"}`, blocks[n])
		n++
	}))
}

// open returns a client for Claude at a server.
func open(url string) (*llm.Client, func()) {
	provider, err := bedrock.New(&bedrock.Options{
		Region: "us-east-1", Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		Endpoint: url, BearerToken: "key",
	})
	if err != nil {
		panic(err)
	}
	return llm.NewClient(provider, nil), func() { _ = provider.Close() }
}

// A picture and a document beside a question. Documents need a name that Bedrock takes: others are changed, with a
// Warning.
func ExampleProvider_media() {
	server := printed(`{"text":"They agree."}`)
	defer server.Close()
	client, done := open(server.URL)
	defer done()

	resp, err := client.Generate(context.Background(), &llm.Request{Messages: []llm.Message{{
		Role: llm.RoleUser,
		Parts: llm.Parts{
			llm.Media{MediaType: "image/png", Data: []byte("PNG…")},
			llm.Media{MediaType: "application/pdf", Name: "invoice", Data: []byte("PDF…")},
			llm.Text{Text: "Do the two agree?"},
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output:
	// {"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"UE5H4oCm"}}},{"document":{"name":"invoice","format":"pdf","source":{"bytes":"UERG4oCm"}}},{"text":"Do the two agree?"}]}]}
	// They agree.
}

// Output with a JSON schema.
func ExampleProvider_schema() {
	server := printed(`{"text":"{\"urgent\":true}"}`)
	defer server.Close()
	client, done := open(server.URL)
	defer done()

	resp, err := client.Generate(context.Background(), &llm.Request{
		Messages: []llm.Message{llm.User("The server room is on fire.")},
		Output: &llm.Schema{Name: "triage", JSON: json.RawMessage(
			`{"type":"object","properties":{"urgent":{"type":"boolean"}},"required":["urgent"]}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var triage struct{ Urgent bool }
	if err := json.Unmarshal([]byte(resp.Text()), &triage); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(triage.Urgent)
	// Output:
	// {"messages":[{"role":"user","content":[{"text":"The server room is on fire."}]}],"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"triage","schema":"{\"additionalProperties\":false,\"properties\":{\"urgent\":{\"type\":\"boolean\"}},\"required\":[\"urgent\"],\"type\":\"object\"}"}}}}}
	// true
}

// A thought has a signature, and Claude wants both back with the results of the calls it led to. To append the answer
// as it came is all there is to do.
func ExampleProvider_thinking() {
	server := printed(
		`{"reasoningContent":{"reasoningText":{"text":"I need the clock.","signature":"sig-1"}}},{"toolUse":{"toolUseId":"t1","name":"clock","input":{}}}`,
		`{"text":"It is noon."}`,
	)
	defer server.Close()
	client, done := open(server.URL)
	defer done()

	req := &llm.Request{
		Messages: []llm.Message{llm.User("What time is it?")},
		Tools:    []llm.Tool{{Name: "clock"}},
		Thinking: llm.Thinking{MaxTokens: 2048},
	}
	for {
		resp, err := client.Generate(context.Background(), req)
		if err != nil {
			fmt.Println(err)
			return
		}
		calls := resp.Message.ToolCalls()
		if len(calls) == 0 {
			fmt.Println(resp.Text())
			return
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(calls[0].Result("12:00")))
	}
	// Output:
	// {"messages":[{"role":"user","content":[{"text":"What time is it?"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"clock","inputSchema":{"json":{"type":"object","properties":{}}}}}]},"additionalModelRequestFields":{"thinking":{"budget_tokens":2048,"type":"enabled"}}}
	// {"messages":[{"role":"user","content":[{"text":"What time is it?"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"I need the clock.","signature":"sig-1"}}},{"toolUse":{"toolUseId":"t1","name":"clock","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"12:00"}]}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"clock","inputSchema":{"json":{"type":"object","properties":{}}}}}]},"additionalModelRequestFields":{"thinking":{"budget_tokens":2048,"type":"enabled"}}}
	// It is noon.
}

// A long system prompt and tools that stay the same are cached with CachePrefix; a CachePoint marks the end of what
// else shall be.
func ExampleProvider_cache() {
	server := printed(`{"text":"yes"}`)
	defer server.Close()
	client, done := open(server.URL)
	defer done()

	_, err := client.Generate(context.Background(), &llm.Request{
		System: "A long text.", CachePrefix: true,
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{
			llm.Text{Text: "A long document."}, llm.CachePoint{}, llm.Text{Text: "Is it signed?"},
		}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"messages":[{"role":"user","content":[{"text":"A long document."},{"cachePoint":{"type":"default"}},{"text":"Is it signed?"}]}],"system":[{"text":"A long text."},{"cachePoint":{"type":"default"}}]}
}
