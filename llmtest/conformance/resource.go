package conformance

import (
	"context"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func resourceCases() []testCase {
	return []testCase{
		{"goroutines", "However calls end, none leaves a goroutine behind, though its context lives on.", goroutinesEnd},
	}
}

// goroutinesEnd makes many calls of each kind, one after the other. Connections are kept, so a few more
// goroutines may run at the end than after the first round, but not one a call.
func goroutinesEnd(c *check) {
	const rounds = 12
	kinds := []func(){
		endsWell(c, unary), endsWell(c, stream), endsFailing(c), endsCut(c), endsRefused(c), endsCanceled(c),
	}
	round := func() {
		for _, call := range kinds {
			call()
		}
	}
	round()
	before := c.started.running()
	for range rounds {
		round()
	}
	if left := c.started.settle(before + rounds/2); left != "" {
		c.Errorf("%d goroutines after one round of calls, %d after %d more:\n%s",
			before, c.started.running(), rounds, left)
	}
}

func endsWell(c *check, m mode) func() {
	g := c.open(mixed())
	return func() { _, _, _ = c.generate(c.ctx, g, withTools(), m) }
}

func endsFailing(c *check) func() {
	g := c.open(unavailable())
	return func() { _, _, _ = c.generate(c.ctx, g, hello(), stream) }
}

func endsCut(c *check) func() {
	g := c.open(llmtest.Cut("one two three"))
	return func() { _, _, _ = c.generate(c.ctx, g, hello(), stream) }
}

func endsRefused(c *check) func() {
	g := c.open(mixed())
	return func() {
		_, _ = g.Generate(c.ctx, withTools(), func(llm.Event) error { return errRefused })
	}
}

func endsCanceled(c *check) func() {
	g := c.open(llmtest.Hang(llmtest.PhaseStream))
	return func() {
		ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
		defer cancel()
		_, _ = g.Generate(ctx, hello(), func(llm.Event) error {
			cancel()
			return nil
		})
	}
}
