package azure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/llm"
)

// The benchmarks run the bare SDK beside this package on the same bytes, without a socket.

func BenchmarkGenerate(b *testing.B) {
	body := message(fmt.Sprintf(`{"role":"assistant","content":%q}`, strings.Repeat("word ", 300)), `"stop"`)
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
		client := bare(body)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.CreateChatCompletion(b.Context(), chat()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	body := strings.Repeat(text("word "), 200) + stop() + counted + done
	b.Run("punctual", func(b *testing.B) {
		p := canned(b, 200, "text/event-stream", []byte(body))
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
		client := bare(body)
		b.ReportAllocs()
		for b.Loop() {
			if err := drain(b.Context(), client); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func drain(ctx context.Context, client *openai.Client) error {
	s, err := client.CreateChatCompletionStream(ctx, chat())
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func chat() openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hello"}}}
}

// bare is the SDK alone.
func bare(body string) *openai.Client {
	config := openai.DefaultConfig("k")
	config.BaseURL = "http://localhost"
	config.HTTPClient = &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	})}
	return openai.NewClientWithConfig(config)
}
