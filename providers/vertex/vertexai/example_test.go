package vertexai_test

import (
	"context"
	"fmt"
	"net"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

type triage struct {
	aiplatformpb.UnimplementedPredictionServiceServer
}

func (triage) GenerateContent(_ context.Context, r *aiplatformpb.GenerateContentRequest) (*aiplatformpb.GenerateContentResponse, error) {
	fmt.Println(r.GetModel())
	return chunk(stop, text("urgent")), nil
}

func Example() {
	// A server in place of https://europe-west4-aiplatform.googleapis.com.
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer()
	aiplatformpb.RegisterPredictionServiceServer(server, triage{})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	provider, err := vertex.New(&vertex.Options{
		Project:     "my-project",
		Location:    "europe-west4",
		Model:       "gemini-2.5-flash",
		Endpoint:    "http://" + listener.Addr().String(), // not needed for Google's own
		TokenSource: func(context.Context) (string, error) { return "token", nil },
		Engine:      vertexai.Engine,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = provider.Close() }()
	client := llm.NewClient(provider, nil) // without retries and fallback: see fallback.NewClient
	resp, err := client.Generate(context.Background(), &llm.Request{
		System:   "Answer urgent, normal or spam.",
		Messages: []llm.Message{llm.User("The server room is on fire.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output:
	// projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash
	// urgent
}
