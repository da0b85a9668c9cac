package llmtest_test

import (
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// The Fake is the base line of the benchmarks of the layers above it, so it must cost next to nothing itself.
func BenchmarkFake(b *testing.B) {
	req := hello()
	b.Run("unary", func(b *testing.B) {
		f := llmtest.New(llmtest.Text("ok")).Unrecorded()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Generate(b.Context(), req, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stream of 100 events", func(b *testing.B) {
		f := llmtest.New(llmtest.Text(strings.Repeat("word ", 100))).Unrecorded()
		sink := func(llm.Event) error { return nil }
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Generate(b.Context(), req, sink); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unary, recorded", func(b *testing.B) {
		f := llmtest.New(llmtest.Text("ok"))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Generate(b.Context(), req, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func hello() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.User("hello")}}
}
