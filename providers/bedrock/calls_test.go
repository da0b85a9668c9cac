package bedrock_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// keys are static credentials.
func keys(id string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: "wJalrXUtnFEMI"}, nil
	})
}

// provider opens a provider on s, for Claude with static credentials.
func (s *server) provider(tb testing.TB, change ...func(*bedrock.Options)) *bedrock.Provider {
	tb.Helper()
	o := &bedrock.Options{Region: "us-east-1", Model: claude, Endpoint: s.URL, Credentials: keys("AKIDEXAMPLE")}
	for _, c := range change {
		c(o)
	}
	return keep(tb)(bedrock.New(o))
}

func model(name string) func(*bedrock.Options) {
	return func(o *bedrock.Options) { o.Model = name }
}

// streamed makes one call that must be answered.
func streamed(t *testing.T, handle http.HandlerFunc) ([]llm.Event, *llm.Response) {
	t.Helper()
	return adaptertest.Streamed(t, serve(t, handle).provider(t))
}

// answered makes one call without a sink that must be answered.
func answered(t *testing.T, body string) *llm.Response {
	t.Helper()
	return adaptertest.Answered(t, serve(t, reply(200, body)).provider(t))
}

// sent makes one call and returns the body that was sent and the warnings.
func sent(t *testing.T, req *llm.Request, change ...func(*bedrock.Options)) (seen, []llm.Warning) {
	t.Helper()
	s := serve(t, reply(200, ok))
	resp, err := unary(t, s.provider(t, change...), req)
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return s.Last(t), resp.Warnings
}

// wantJSON compares a part of a body with JSON.
func wantJSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	g, _ := json.Marshal(got)
	x, _ := json.Marshal(w)
	if string(g) != string(x) {
		t.Errorf("%s: want\n%s\ngot\n%s", what, x, g)
	}
}

func codes(ws []llm.Warning) string {
	var all []string
	for _, w := range ws {
		all = append(all, w.Code+" "+w.Field)
	}
	return strings.Join(all, ", ")
}
