package azure_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// ask sends one chat completion and prints how it was answered.
func ask(cloud *azure.Server, body, fault string) {
	req, err := http.NewRequest(http.MethodPost,
		cloud.URL+"/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Api-Key", "any")
	req.Header.Set("X-Punctual-Fault", fault)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println("no answer")
		return
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"), len(answer) > 0, err)
}

const question = `{"messages":[{"role":"user","content":"Hello"}]}`

func ExampleStart() {
	cloud := azure.Start(
		llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 2 * time.Second}),
		llmtest.Text("Hello!"),
	)
	defer cloud.Close()
	ask(cloud, question, "")
	ask(cloud, question, "")
	ask(cloud, `{"messages":[]}`, "")
	for _, r := range cloud.Requests() {
		fmt.Println(r.N, r.Model, r.Status)
	}
	// Output:
	// 429 2 true <nil>
	// 200  true <nil>
	// 400  true <nil>
	// 1 gpt-4o 429
	// 2 gpt-4o 200
	// 3 gpt-4o 400
}

// A client may order a fault for its own request.
func ExampleServer_faults() {
	cloud := azure.Start(llmtest.Text("Hello!"))
	defer cloud.Close()
	ask(cloud, question, "status=429,retry-after=2")
	ask(cloud, question, "cut=start")
	ask(cloud, question, "cut")
	// Output:
	// 429 2 true <nil>
	// no answer
	// 200  true unexpected EOF
}

// Raw sends what no service should.
func ExampleServer_Raw() {
	cloud := azure.Start()
	defer cloud.Close()
	cloud.Raw(azure.Reply{Status: 502, Body: []byte("<html>")}, azure.Reply{Chunks: []azure.Chunk{
		{Data: []byte("data: {")},
		{At: 10 * time.Millisecond, Data: []byte("}\n\n")},
	}, End: "cut"})
	ask(cloud, question, "")
	ask(cloud, question, "")
	// Output:
	// 502  true <nil>
	// 200  true unexpected EOF
}
