package deadline_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// deep is an execution under as many contexts as a call in an agent has around it.
func deep(tb testing.TB) context.Context {
	tb.Helper()
	type key int
	ctx, cancel := deadline.With(context.Background(), time.Hour, nil)
	tb.Cleanup(cancel)
	for i := range 8 {
		inner, cancel := context.WithCancel(context.WithValue(ctx, key(i), i))
		tb.Cleanup(cancel)
		ctx = inner //nolint:fatcontext // deep on purpose
	}
	return ctx
}

// The bounds are counts, which repeat exactly; times are no test.
func TestAllocations(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun counts for the whole program
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	ctx, free := deep(t), context.Background()
	header := make(http.Header)
	var gateway *deadline.Header
	gateway.Set(ctx, header)
	for _, tt := range []struct {
		name string
		most float64
		f    func()
	}{
		{"Remaining", 0, func() { deadline.Remaining(ctx) }},
		{"Elapsed", 0, func() { deadline.Elapsed(ctx) }},
		{"Total", 0, func() { deadline.Total(ctx) }},
		{"End", 0, func() { deadline.End(ctx) }},
		{"Check", 0, func() { _ = deadline.Check(ctx) }},
		{"Check without an execution", 0, func() { _ = deadline.Check(free) }},
		{"Share", 0, func() { deadline.Share(ctx, 3) }},
		{"Warned", 0, func() { deadline.Warned(ctx) }},
		{"Header.Get", 0, func() { _, _, _ = gateway.Get(header) }},
		{"Header.Set", 2, func() { gateway.Set(ctx, header) }},
		{"With", 6, func() {
			_, cancel := deadline.With(free, time.Hour, nil)
			cancel()
		}},
	} {
		if got := testing.AllocsPerRun(200, tt.f); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkWith(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, cancel := deadline.With(ctx, time.Hour, nil)
		cancel()
	}
}

// BenchmarkWithTimeout is what With is measured beside.
func BenchmarkWithTimeout(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, cancel := context.WithTimeout(ctx, time.Hour)
		cancel()
	}
}

func BenchmarkRemaining(b *testing.B) {
	ctx := deep(b)
	b.ReportAllocs()
	for b.Loop() {
		deadline.Remaining(ctx)
	}
}

func BenchmarkCheck(b *testing.B) {
	ctx := deep(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = deadline.Check(ctx)
	}
}

func BenchmarkHeaderSet(b *testing.B) {
	ctx, header := deep(b), make(http.Header)
	var h *deadline.Header
	b.ReportAllocs()
	for b.Loop() {
		h.Set(ctx, header)
	}
}
