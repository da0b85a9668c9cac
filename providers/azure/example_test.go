package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func ExampleNew() {
	// A server in place of https://NAME.openai.azure.com.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.RequestURI())
		_, _ = io.WriteString(w, `{"model":"gpt-4o-2024-11-20","choices":[{"message":{"content":"urgent"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()

	provider, err := azure.New(&azure.Options{
		Endpoint:   server.URL,
		Deployment: "gpt-4o",
		APIVersion: "2024-10-21",
		Key:        "key",
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
	fmt.Println(resp.Text(), "by", resp.ModelVersion)
	// Output:
	// POST /openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21
	// urgent by gpt-4o-2024-11-20
}

func ExampleCompatible() {
	// A server in place of vLLM, llama.cpp or a router.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s\n", r.URL, body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"on ", "time"} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", word)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()

	provider, err := azure.Compatible(&azure.CompatibleOptions{BaseURL: server.URL + "/v1", Model: "llama-4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	req := &llm.Request{Messages: []llm.Message{llm.User("Finish: better late than")}, Temperature: new(0.0)}
	if err := (azure.Extra{Fields: map[string]json.RawMessage{"top_k": json.RawMessage("1")}}).Set(req); err != nil {
		fmt.Println(err)
		return
	}
	for text, err := range llm.NewClient(provider, nil).Stream(context.Background(), req).Text() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(text)
	}
	// Output:
	// /v1/chat/completions {"messages":[{"role":"user","content":"Finish: better late than"}],"model":"llama-4","stream":true,"stream_options":{"include_usage":true},"temperature":0,"top_k":1}
	// on time
}
