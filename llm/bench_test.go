package llm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// bare is the least a Generator can do: one allocation, its Response; with a sink, n events.
func bare(n int) llm.GeneratorFunc {
	return func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if sink != nil {
			for range n {
				if err := sink(llm.Event{Kind: llm.EventText, Delta: "word "}); err != nil {
					return nil, err
				}
			}
		}
		return &llm.Response{}, nil
	}
}

// agent is a request as an agent sends it in its tenth turn.
func agent() *llm.Request {
	r := ask()
	r.Operation, r.System, r.Temperature = llm.Orchestration, "Plan.", new(0.0)
	for i := range 20 {
		r.Tools = append(r.Tools, llm.Tool{Name: fmt.Sprint("tool", i), Parameters: []byte(`{"type":"object","properties":{}}`)})
	}
	for i := range 10 {
		id := fmt.Sprint("call", i)
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "I look."}, llm.ToolCall{ID: id, Name: "tool1", Arguments: "{}"}}},
			llm.ToolResults(llm.ToolResult{CallID: id, Parts: llm.Parts{llm.Text{Text: "found"}}}))
	}
	return r
}

// The bounds are counts, which repeat exactly; times are no test.
func TestAllocations(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun counts for the whole program
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	ctx := context.Background()
	none, observed := client(bare(0)), llm.NewClient(bare(0), &llm.ClientOptions{Observers: []*llm.Observer{
		{CallStart: func(ctx context.Context, _ *llm.Request) context.Context { return ctx }},
	}})
	plain, big := ask(), agent()
	discard := func(c *llm.Client) float64 {
		return testing.AllocsPerRun(200, func() {
			for _, err := range c.Stream(ctx, plain).Events() {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	short, long := discard(client(bare(1))), discard(client(bare(1001)))
	var a llm.Accumulator
	a.Add(text("x"))
	tests := []struct {
		name string
		got  float64
		max  float64
	}{
		{"Generate: the generator's Response and nothing of ours", testing.AllocsPerRun(200, func() { _, _ = none.Generate(ctx, plain) }), 1},
		{"Generate of an agent's request", testing.AllocsPerRun(200, func() { _, _ = none.Generate(ctx, big) }), 1},
		{"Generate with an observer: one context more", testing.AllocsPerRun(200, func() { _, _ = observed.Generate(ctx, plain) }), 2},
		{"a stream that is never read", testing.AllocsPerRun(200, func() { _ = none.Stream(ctx, plain) }), 1},
		{"a stream: itself, two closures, the loop's own two, the Response", short, 6},
		{"1,000 events more", long - short, 0},
		{"Detached", testing.AllocsPerRun(200, func() { _, _ = llm.Detached(bare(0)).Generate(ctx, plain, nil) }), 16},
		{"Accumulator, an event", testing.AllocsPerRun(200, func() { a.Add(text("x")) }), 0},
	}
	for _, tt := range tests {
		t.Logf("%-55s %v", tt.name, tt.got)
		if tt.got > tt.max {
			t.Errorf("%s: %v allocations, at most %v", tt.name, tt.got, tt.max)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for name, req := range map[string]*llm.Request{"plain": ask(), "agent": agent()} {
		b.Run(name, func(b *testing.B) {
			c := client(bare(0))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Generate(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("events=", n), func(b *testing.B) {
			c, req := client(bare(n)), ask()
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range c.Stream(b.Context(), req).Events() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkDetached(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("events=", n), func(b *testing.B) {
			c, req := client(llm.Detached(bare(n))), ask()
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range c.Stream(b.Context(), req).Events() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAccumulator(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var a llm.Accumulator
		for range 1000 {
			a.Add(llm.Event{Kind: llm.EventText, Delta: "word "})
		}
		if a.Response() == nil {
			b.Fatal("nothing")
		}
	}
}

func BenchmarkErrorText(b *testing.B) {
	e := failure
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Error()
	}
}

func BenchmarkHTTPError(b *testing.B) {
	body := []byte(`{"error":{"code":"429","message":"Requests have exceeded call rate limit."}}`)
	b.ReportAllocs()
	for b.Loop() {
		_ = llm.HTTPError(429, header{"Retry-After": {"6"}}, body)
	}
}
