package conformance

import (
	"context"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// The times of the suite.
const (
	// bound is how soon after the end of its context a call must have returned.
	bound = 100 * time.Millisecond
	// tries is how often a case may try to keep the bound; see the package documentation.
	tries = 3
	// patience ends what should have ended long ago, so that a broken generator cannot hang the suite.
	patience = 10 * time.Second
)

// reporter is what a case needs of *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// check is what a case works with.
type check struct {
	reporter
	ctx     context.Context //nolint:containedctx // it lives as long as the case
	started *goroutines
	open    func(script ...llmtest.Step) llm.Generator
}

func newCheck(t reporter, started *goroutines, open func(...llmtest.Step) llm.Generator) *check {
	// Not the context of the test: it must live on while the case looks at what runs after a call.
	ctx, cancel := context.WithTimeout(started.ctx, patience)
	t.Cleanup(cancel)
	return &check{reporter: t, ctx: ctx, started: started, open: open}
}

// mode is one of the two ways to ask.
type mode bool

const (
	unary  mode = false
	stream mode = true
)

func (m mode) String() string {
	if m == stream {
		return "stream"
	}
	return "unary"
}

// each runs f for both modes.
func (c *check) each(f func(m mode)) {
	c.Helper()
	f(unary)
	f(stream)
}

// generate makes one call in the given mode. The tape of a unary call is empty.
func (c *check) generate(ctx context.Context, g llm.Generator, req *llm.Request, m mode) (*tape, *llm.Response, error) {
	c.Helper()
	t := new(tape)
	var sink llm.Sink
	if m == stream {
		sink = t.sink
	}
	resp, err := g.Generate(ctx, req, sink)
	if err == nil && resp == nil {
		c.Fatalf("%s: neither a response nor an error", m)
	}
	return t, resp, err
}

// answer makes one call that must be answered.
func (c *check) answer(g llm.Generator, req *llm.Request, m mode) (*tape, *llm.Response) {
	c.Helper()
	t, resp, err := c.generate(c.ctx, g, req, m)
	if err != nil {
		c.Fatalf("%s: want an answer, got %v", m, err)
	}
	return t, resp
}

// fails makes one call that must fail.
func (c *check) fails(g llm.Generator, req *llm.Request, m mode) (*tape, *llm.Response, error) {
	c.Helper()
	t, resp, err := c.generate(c.ctx, g, req, m)
	if err == nil {
		c.Fatalf("%s: want an error, got an answer: %s", m, outline(resp))
	}
	return t, resp, err
}

// wantText makes one unary call and compares its text.
func (c *check) wantText(g llm.Generator, want string) {
	c.Helper()
	c.wantTextFor(g, hello(), want)
}

// wantTextFor is wantText with a request of the case's own.
func (c *check) wantTextFor(g llm.Generator, req *llm.Request, want string) {
	c.Helper()
	if _, resp := c.answer(g, req, unary); resp.Text() != want {
		c.Errorf("want the text %s, got %s", short(want), short(resp.Text()))
	}
}

// returns runs f on a goroutine of its own and reports whether it came to its end while anyone would wait for
// it. f may also end by runtime.Goexit.
func (c *check) returns(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// pause waits d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// hello is the plainest request.
func hello() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.User("hello")}}
}
