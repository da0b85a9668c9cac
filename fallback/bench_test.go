package fallback_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// bare is a target without the cost of a fake that records.
func bare(name string, steps ...llmtest.Step) fallback.Target {
	t := target(name)
	t.Generator = llmtest.New(steps...).Unrecorded()
	return t
}

func benchClients(tb testing.TB) (fake, chained, second *llm.Client) {
	tb.Helper()
	answer := llmtest.Text("ok")
	fake = llm.NewClient(bare("a", answer).Generator, nil)
	var err error
	if chained, err = fallback.NewClient([]fallback.Target{bare("a", answer), bare("b"), bare("c")}, nil); err != nil {
		tb.Fatal(err)
	}
	patient := &fallback.Options{Breakers: breaker.NewSet(&breaker.Options{Threshold: math.MaxInt32})} // a is to be asked each time
	if second, err = fallback.NewClient([]fallback.Target{bare("a", fail(llm.ErrUnavailable)), bare("b", answer)}, patient); err != nil {
		tb.Fatal(err)
	}
	return fake, chained, second
}

// BenchmarkGenerate puts the chain beside the bare fake, in the same run.
func BenchmarkGenerate(b *testing.B) {
	fake, chained, second := benchClients(b)
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	req := triage()
	for _, c := range []struct {
		name   string
		client *llm.Client
	}{{"fake", fake}, {"chain", chained}, {"second target", second}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.client.Generate(ctx, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream is a stream of 1,000 events.
func BenchmarkStream(b *testing.B) {
	long := llmtest.Text(strings.Repeat("word ", 1000))
	fake := llm.NewClient(bare("a", long).Generator, nil)
	chained, err := fallback.NewClient([]fallback.Target{bare("a", long)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	req := triage()
	for _, c := range []struct {
		name   string
		client *llm.Client
	}{{"fake", fake}, {"chain", chained}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.client.Stream(b.Context(), req).Response(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations holds what a call costs over the bare fake: allocations repeat exactly, times do not.
func TestAllocations(t *testing.T) {
	fake, chained, second := benchClients(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	req := triage()
	allocs := func(c *llm.Client) float64 {
		return testing.AllocsPerRun(200, func() { _, _ = c.Generate(ctx, req) })
	}
	base := allocs(fake)
	if got := allocs(chained) - base; got > 10 {
		t.Errorf("a first try costs %v allocations over the fake, want 10 at the most", got)
	}
	if got := bytesPerRun(ctx, chained, req) - bytesPerRun(ctx, fake, req); got > 1228 {
		t.Errorf("a first try costs %d bytes over the fake, want 1.2 KB at the most", got)
	}
	first := allocs(chained)
	if got := allocs(second) - first; got > 9 {
		t.Errorf("a further target costs %v allocations, want 9 at the most", got)
	}
}

// bytesPerRun is what a call allocates, in bytes. No other test runs beside this one.
func bytesPerRun(ctx context.Context, c *llm.Client, req *llm.Request) uint64 {
	const runs = 500
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		_, _ = c.Generate(ctx, req)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}
