package vertexai_test

import (
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// The server is in the same process, so its allocations count too.
func BenchmarkStreamOf200Events(b *testing.B) {
	all := make([]*message, 200)
	for i := range all {
		all[i] = chunk(none, text("some words "))
	}
	all[len(all)-1] = counted(chunk(stop, text("end")))
	p := serve(b, answers(all...)).provider(b)
	req := hello()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Generate(b.Context(), req, func(llm.Event) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	p := serve(b, answers(counted(chunk(stop, text("hi"))))).provider(b)
	req := hello()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Generate(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
