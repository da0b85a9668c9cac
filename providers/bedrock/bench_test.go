package bedrock_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
)

// The benchmarks run the bare SDK beside this package on the same bytes, without a socket.

func BenchmarkGenerate(b *testing.B) {
	body := answer(fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 300)), "end_turn")
	b.Run("punctual", func(b *testing.B) {
		p := canned(b, 200, "application/json", []byte(body))
		req := hello()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Generate(b.Context(), req, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		client := bare(adaptertest.Same(200, "application/json", []byte(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Converse(b.Context(), &bedrockruntime.ConverseInput{ModelId: aws.String(claude), Messages: chat()}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	body := []byte(begin() + strings.Repeat(text(0, "word "), 200) + stop("end_turn") + metadata())
	b.Run("punctual", func(b *testing.B) {
		p := canned(b, 200, eventStream, body)
		req := hello()
		sink := func(llm.Event) error { return nil }
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Generate(b.Context(), req, sink); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		client := bare(adaptertest.Same(200, eventStream, body))
		b.ReportAllocs()
		for b.Loop() {
			if err := drain(b.Context(), client); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func drain(ctx context.Context, client *bedrockruntime.Client) error {
	out, err := client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(claude), Messages: chat()})
	if err != nil {
		return err
	}
	defer func() { _ = out.GetStream().Close() }()
	for range out.GetStream().Events() {
	}
	return out.GetStream().Err()
}

func chat() []types.Message {
	return []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "hello"}}}}
}

// bare is the SDK alone.
func bare(client *http.Client) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", Credentials: keys("AKID"), HTTPClient: client, Retryer: aws.NopRetryer{},
	})
}
