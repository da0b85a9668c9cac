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

// printed is a server in place of Google's: it prints what it is sent and answers with the parts, one list after the
// other.
func printed(parts ...string) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}]}`, parts[n])
		n++
	}))
}

// open returns a client for a model at a server.
func open(url, model string) (*llm.Client, func()) {
	provider, err := vertex.New(&vertex.Options{
		Project: "my-project", Model: model, Endpoint: url,
		TokenSource: func(context.Context) (string, error) { return "token", nil },
	})
	if err != nil {
		panic(err)
	}
	return llm.NewClient(provider, nil), func() { _ = provider.Close() }
}

// A picture, and a document that lies in a bucket, beside a question.
func ExampleProvider_media() {
	server := printed(`{"text":"They agree."}`)
	defer server.Close()
	client, done := open(server.URL, "gemini-2.5-flash")
	defer done()

	resp, err := client.Generate(context.Background(), &llm.Request{Messages: []llm.Message{{
		Role: llm.RoleUser,
		Parts: llm.Parts{
			llm.Media{MediaType: "image/png", Data: []byte("PNG…")},
			llm.Media{MediaType: "application/pdf", URI: "gs://my-bucket/invoice.pdf"},
			llm.Text{Text: "Do the two agree?"},
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output:
	// {"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"UE5H4oCm"}},{"fileData":{"mimeType":"application/pdf","fileUri":"gs://my-bucket/invoice.pdf"}},{"text":"Do the two agree?"}]}]}
	// They agree.
}

// Output with a JSON schema. With tools beside it, it needs Gemini 3 or later.
func ExampleProvider_schema() {
	server := printed(`{"text":"{\"urgent\":true}"}`)
	defer server.Close()
	client, done := open(server.URL, "gemini-2.5-flash")
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
	// {"contents":[{"role":"user","parts":[{"text":"The server room is on fire."}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"urgent":{"type":"boolean"}},"required":["urgent"]}}}
	// true
}

// Gemini 3 signs its calls and wants the signatures back with the results. To append the answer as it came is all
// there is to do.
func ExampleProvider_thinking() {
	server := printed(
		`{"text":"I need the clock.","thought":true},{"functionCall":{"name":"clock","args":{}},"thoughtSignature":"c2lnLTE="}`,
		`{"text":"It is noon."}`,
	)
	defer server.Close()
	client, done := open(server.URL, "gemini-3-flash-preview")
	defer done()

	req := &llm.Request{
		Messages: []llm.Message{llm.User("What time is it?")},
		Tools:    []llm.Tool{{Name: "clock"}},
		Thinking: llm.Thinking{Effort: "low"},
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
	// {"contents":[{"role":"user","parts":[{"text":"What time is it?"}]}],"tools":[{"functionDeclarations":[{"name":"clock"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}
	// {"contents":[{"role":"user","parts":[{"text":"What time is it?"}]},{"role":"model","parts":[{"functionCall":{"name":"clock","args":{}},"thoughtSignature":"c2lnLTE="}]},{"role":"user","parts":[{"functionResponse":{"name":"clock","response":{"output":"12:00"}}}]}],"tools":[{"functionDeclarations":[{"name":"clock"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}
	// It is noon.
}
