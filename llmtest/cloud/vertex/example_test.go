package vertex_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

const model = "projects/p/locations/global/publishers/google/models/gemini-2.5-flash"

// ask sends one request and prints how it was answered.
func ask(cloud *vertex.Server, body, fault string) {
	req, err := http.NewRequest(http.MethodPost, cloud.URL+"/v1beta1/"+model+":generateContent", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer any")
	req.Header.Set("X-Punctual-Fault", fault)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println("no answer")
		return
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, len(answer) > 0, err)
}

const question = `{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`

func ExampleStart() {
	cloud := vertex.Start(
		llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 2 * time.Second}),
		llmtest.Text("Hello!"),
	)
	defer cloud.Close()
	ask(cloud, question, "")
	ask(cloud, question, "")
	ask(cloud, `{"contents":[]}`, "")
	for _, r := range cloud.Requests() {
		fmt.Println(r.N, r.Model, r.Status)
	}
	// Output:
	// 429 true <nil>
	// 200 true <nil>
	// 400 true <nil>
	// 1 gemini-2.5-flash 429
	// 2 gemini-2.5-flash 200
	// 3 gemini-2.5-flash 400
}

// The same port speaks gRPC.
func ExampleServer_gRPC() {
	cloud := vertex.Start(llmtest.Text("Hello!"))
	defer cloud.Close()
	conn, err := grpc.NewClient(cloud.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer any")
	resp, err := aiplatformpb.NewPredictionServiceClient(conn).GenerateContent(ctx, &aiplatformpb.GenerateContentRequest{
		Model: model,
		Contents: []*aiplatformpb.Content{{
			Role: "user", Parts: []*aiplatformpb.Part{{Data: &aiplatformpb.Part_Text{Text: "Hello"}}},
		}},
	})
	fmt.Println(resp.GetCandidates()[0].GetContent().GetParts()[0].GetText(), err)
	fmt.Println(string(cloud.Requests()[0].Body[:15]))
	// Output:
	// Hello! <nil>
	// {"model":"proje
}

// A client may order a fault for its own request.
func ExampleServer_faults() {
	cloud := vertex.Start(llmtest.Text("Hello!"))
	defer cloud.Close()
	ask(cloud, question, "status=429,retry-after=2")
	ask(cloud, question, "cut=start")
	ask(cloud, question, "cut")
	// Output:
	// 429 true <nil>
	// no answer
	// 200 true unexpected EOF
}

// Raw sends what no service should.
func ExampleServer_Raw() {
	cloud := vertex.Start()
	defer cloud.Close()
	cloud.Raw(vertex.Reply{Status: 502, Body: []byte("<html>")}, vertex.Reply{Chunks: []vertex.Chunk{
		{Data: []byte("data: {")},
		{At: 10 * time.Millisecond, Data: []byte("}\r\n\r\n")},
	}, End: "cut"})
	ask(cloud, question, "")
	ask(cloud, question, "")
	// Output:
	// 502 true <nil>
	// 200 true unexpected EOF
}
