package cases_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// TestConnectLimit: through a chain, a target to which no connection is made is left when Limits.Connect is over, TLS
// included, and the next one answers.
func TestConnectLimit(t *testing.T) {
	t.Parallel()
	dials := map[string]func(context.Context) (net.Conn, error){
		"the dial hangs": func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"the handshake hangs": func(ctx context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			context.AfterFunc(ctx, func() { _ = theirs.Close() })
			return ours, nil
		},
	}
	adapters := map[string]func(*http.Client) (llm.Generator, error){
		"azure": func(h *http.Client) (llm.Generator, error) {
			return azure.New(&azure.Options{Endpoint: "https://azure.invalid", Deployment: "dep", Key: "k", HTTP: h})
		},
		"bedrock": func(h *http.Client) (llm.Generator, error) {
			return bedrock.New(&bedrock.Options{
				Endpoint: "https://bedrock.invalid", Region: "us-east-1", Model: models["bedrock"], HTTP: h,
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
				}),
			})
		},
		"vertex": func(h *http.Client) (llm.Generator, error) {
			return vertex.New(&vertex.Options{Endpoint: "https://vertex.invalid", Model: models["vertex"], APIKey: "k", HTTP: h})
		},
	}
	for how, dial := range dials {
		for name, adapter := range adapters {
			for _, streamed := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
					defer tr.CloseIdleConnections()
					g, err := adapter(&http.Client{Transport: tr})
					if err != nil {
						t.Fatal(err)
					}
					connectLimit(t, how+", "+name, g, streamed)
				})
			}
		}
	}
}

func connectLimit(t *testing.T, what string, g llm.Generator, streamed bool) {
	t.Helper()
	client, err := fallback.NewClient([]fallback.Target{
		{Name: "a", Generator: g, Prompt: true},
		{Name: "b", Generator: llmtest.New(llmtest.Text("ok")), Prompt: true},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Messages: []llm.Message{llm.User("hello")}, Limits: llm.Limits{Connect: 3 * time.Second}}
	begun := time.Now()
	var resp *llm.Response
	if streamed {
		resp, err = client.Stream(t.Context(), req).Response()
	} else {
		resp, err = client.Generate(t.Context(), req)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if a := resp.Attempts; len(a) != 2 || a[0].Kind != llm.ErrTimeout || a[0].Bound != llm.BoundConnect || !a[0].NotSent || a[0].Limit != 3*time.Second {
		t.Errorf("%s: %+v", what, a)
	}
	if took := time.Since(begun); took != 3*time.Second || resp.Target != "b" {
		t.Errorf("%s: %q after %v", what, resp.Target, took)
	}
}
