package vertex_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
)

// The benchmarks run the bare SDK beside this package on the same bytes, without a socket.

func BenchmarkGenerate(b *testing.B) {
	body := counted(chunk(text(strings.Repeat("word ", 300)), "STOP"))
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
		client := bare(b, "application/json", body)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Models.GenerateContent(b.Context(), "gemini-2.5-flash", genai.Text("hello"), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for _, events := range []int{20, 200} {
		body := strings.Repeat(data(counted(chunk(text("word "), ""))), events) + stop()
		b.Run(fmt.Sprintf("%d/punctual", events), func(b *testing.B) {
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
		b.Run(fmt.Sprintf("%d/sdk", events), func(b *testing.B) {
			client := bare(b, "text/event-stream", body)
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range client.Models.GenerateContentStream(b.Context(), "gemini-2.5-flash", genai.Text("hello"), nil) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// bare is the SDK alone.
func bare(b *testing.B, contentType, body string) *genai.Client {
	b.Helper()
	client, err := genai.NewClient(b.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: adaptertest.Same(200, contentType, []byte(body)),
	})
	if err != nil {
		b.Fatal(err)
	}
	return client
}
