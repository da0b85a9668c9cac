package bedrock_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// ask sends one Converse request and prints how it was answered.
func ask(cloud *bedrock.Server, body, fault string) {
	client := cloud.Client()
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodPost, cloud.URL+"/model/amazon.nova-pro-v1%3A0/converse", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer any")
	req.Header.Set("X-Punctual-Fault", fault)
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println("no answer")
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	exception, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
	fmt.Println(resp.StatusCode, exception, len(answer) > 0, err)
}

const question = `{"messages":[{"role":"user","content":[{"text":"Hello"}]}]}`

func ExampleStart() {
	cloud := bedrock.Start(
		llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 2 * time.Second}),
		llmtest.Text("Hello!"),
	)
	defer cloud.Close()
	ask(cloud, question, "")
	ask(cloud, question, "")
	ask(cloud, `{"messages":[{"role":"user","content":[{"text":""}]}]}`, "")
	for _, r := range cloud.Requests() {
		fmt.Println(r.N, r.Model, r.Status)
	}
	// Output:
	// 429 ThrottlingException true <nil>
	// 200  true <nil>
	// 400 ValidationException true <nil>
	// 1 amazon.nova-pro-v1:0 429
	// 2 amazon.nova-pro-v1:0 200
	// 3 amazon.nova-pro-v1:0 400
}

// Bearer tokens want TLS, and a token may have expired.
func ExampleStartOptions() {
	cloud := bedrock.StartOptions(&bedrock.Options{TLS: true, Expired: []string{"any"}})
	defer cloud.Close()
	ask(cloud, question, "")
	// Output: 403 ExpiredTokenException true <nil>
}

// A client may order a fault for its own request.
func ExampleServer_faults() {
	cloud := bedrock.Start(llmtest.Text("Hello!"))
	defer cloud.Close()
	ask(cloud, question, "status=503")
	ask(cloud, question, "cut=start")
	ask(cloud, question, "cut")
	// Output:
	// 503 ServiceUnavailableException true <nil>
	// no answer
	// 200  true unexpected EOF
}

// Raw sends what no service should.
func ExampleServer_Raw() {
	cloud := bedrock.Start()
	defer cloud.Close()
	cloud.Raw(bedrock.Reply{Status: 502, Body: []byte("<html>")}, bedrock.Reply{Chunks: []bedrock.Chunk{
		{Data: bedrock.Event("messageStart", []byte(`{"role":"user"}`))},
		{At: 10 * time.Millisecond, Data: bedrock.Exception("throttlingException", []byte(`{}`))},
	}, End: "cut"})
	ask(cloud, question, "")
	ask(cloud, question, "")
	// Output:
	// 502  true <nil>
	// 200  true unexpected EOF
}
