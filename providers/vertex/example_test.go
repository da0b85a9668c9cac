package vertex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func ExampleNew() {
	// A server in place of https://aiplatform.googleapis.com.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"parts":[{"text":"urgent"}]},"finishReason":"STOP"}],"modelVersion":"gemini-2.5-flash"}`)
	}))
	defer server.Close()

	provider, err := vertex.New(&vertex.Options{
		Project:  "my-project",
		Location: "global",
		Model:    "gemini-2.5-flash",
		Endpoint: server.URL, // leave it out for Google's own
		// Without a source of tokens: Application Default Credentials.
		TokenSource: func(context.Context) (string, error) { return "token", nil },
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
	// POST /v1beta1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-flash:generateContent
	// urgent by gemini-2.5-flash
}

func ExampleExtra() {
	// A server in place of https://generativelanguage.googleapis.com.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s\n", r.URL, body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"on ", "time"} {
			fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":%q}]}}]}\n\n", word)
		}
		_, _ = io.WriteString(w, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n")
	}))
	defer server.Close()

	provider, err := vertex.New(&vertex.Options{APIKey: "key", Model: "gemini-3-flash-preview", Endpoint: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	req := &llm.Request{Messages: []llm.Message{llm.User("Finish: better late than")}, Temperature: new(0.0)}
	extra := vertex.Extra{
		GenerationConfig: map[string]any{"topK": 1},
		Tools:            []json.RawMessage{json.RawMessage(`{"googleSearch":{}}`)},
	}
	if err := extra.Set(req); err != nil {
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
	// /v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse {"contents":[{"role":"user","parts":[{"text":"Finish: better late than"}]}],"generationConfig":{"temperature":0,"topK":1},"tools":[{"googleSearch":{}}]}
	// on time
}
