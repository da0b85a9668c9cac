package conformance

import (
	"errors"
	"runtime"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func sinkCases() []testCase {
	return []testCase{
		{"sink_goroutine", "The sink runs on the calling goroutine, and so one event at a time.", sinkGoroutine},
		{"sink_after_return", "No event reaches a sink after its call has returned.", sinkAfterReturn},
		{"sink_error", "An error of the sink comes back as it was, whichever event it refused.", sinkError},
		{"sink_error_stops", "An error of the sink ends the call at once: no further event.", sinkErrorStops},
		{
			"sink_error_response", "Beside an error of the sink the Response is exactly what the sink accepted.",
			sinkErrorResponse,
		},
		{
			"sink_panic", "A panic of the sink passes through as it was, and the Generator works on.",
			sinkPanic,
		},
		{"sink_goexit", "A sink may end its goroutine, and the Generator works on.", sinkGoexit},
		{"sink_slow", "The time that the sink takes is the caller's: it ends no call.", sinkSlow},
	}
}

func sinkGoroutine(c *check) {
	me := goroutineID()
	others := make(chan string, 1024)
	_, err := c.open(mixed()).Generate(c.ctx, withTools(), func(llm.Event) error {
		if id := goroutineID(); id != me {
			others <- id
		}
		return nil
	})
	if err != nil {
		c.Fatalf("want an answer, got %v", err)
	}
	if n := len(others); n > 0 {
		c.Errorf("%d events came on other goroutines, such as %s; the caller is %s", n, <-others, me)
	}
}

func sinkAfterReturn(c *check) {
	g := c.open(mixed())
	returned, late := make(chan struct{}), make(chan llm.Event, 1024)
	_, err := g.Generate(c.ctx, withTools(), func(e llm.Event) error {
		select {
		case <-returned:
			late <- e
		default:
		}
		return nil
	})
	close(returned)
	if err != nil {
		c.Fatalf("want an answer, got %v", err)
	}
	c.answer(g, withTools(), stream) // a kept sink may be used by the next call
	pause(c.ctx, 30*time.Millisecond)
	if n := len(late); n > 0 {
		c.Errorf("%d events came after the call had returned, such as %+v", n, <-late)
	}
}

var errRefused = errors.New("conformance: the sink refuses this event")

// refuseEach makes one call for every event of an answer, with a sink that refuses that event and takes
// those before and after it, and hands its outcome to judge.
func refuseEach(c *check, judge func(at, calls int, accepted *tape, resp *llm.Response, err error)) {
	c.Helper()
	g := c.open(mixed())
	all, _ := c.answer(g, withTools(), stream)
	for at := range all.events {
		calls, accepted := 0, new(tape)
		resp, err := g.Generate(c.ctx, withTools(), func(e llm.Event) error {
			calls++
			if calls == at+1 {
				return errRefused
			}
			return accepted.sink(e)
		})
		judge(at, calls, accepted, resp, err)
	}
}

func sinkError(c *check) {
	refuseEach(c, func(at, _ int, _ *tape, _ *llm.Response, err error) {
		if err != errRefused { //nolint:errorlint // as it was: the same value, not wrapped
			c.Errorf("event %d: want the sink's own error, got %T: %v", at, err, err)
		}
	})
}

func sinkErrorStops(c *check) {
	refuseEach(c, func(at, calls int, _ *tape, _ *llm.Response, _ error) {
		if calls != at+1 {
			c.Errorf("event %d was refused, and %d more came", at, calls-at-1)
		}
	})
}

func sinkErrorResponse(c *check) {
	refuseEach(c, func(at, _ int, accepted *tape, resp *llm.Response, err error) {
		if got, want := outline(resp), outline(accepted.partial()); got != want {
			c.Errorf("event %d was refused with %v: the sink had accepted\n%sthe response is\n%s", at, err, want, got)
		}
	})
}

func sinkPanic(c *check) {
	g := c.open(llmtest.Text("one two three"))
	want := new(int) // no other value is the same
	var got any
	in := c.returns(func() {
		defer func() { got = recover() }()
		_, _ = g.Generate(c.ctx, hello(), func(llm.Event) error { panic(want) })
	})
	if !in {
		c.Fatalf("Generate hangs after a panic of the sink")
	}
	if got != any(want) {
		c.Errorf("want the sink's own panic value, got %T: %v", got, got)
	}
	worksOn(c, g, "a panic")
}

func sinkGoexit(c *check) {
	g := c.open(llmtest.Text("one two three"))
	returned := false
	in := c.returns(func() {
		_, _ = g.Generate(c.ctx, hello(), func(llm.Event) error { runtime.Goexit(); return nil })
		returned = true
	})
	if !in {
		c.Fatalf("Generate hangs after the sink ended its goroutine")
	}
	if returned {
		c.Errorf("Generate returned although its goroutine was ended")
	}
	worksOn(c, g, "runtime.Goexit")
}

// worksOn makes another call that must be answered.
func worksOn(c *check, g llm.Generator, after string) {
	c.Helper()
	var err error
	switch in := c.returns(func() { _, err = g.Generate(c.ctx, hello(), nil) }); {
	case !in:
		c.Errorf("the next call after %s in a sink hangs", after)
	case err != nil:
		c.Errorf("the next call after %s in a sink fails: %v", after, err)
	}
}

// sinkSlow takes 200 ms for the second event.
func sinkSlow(c *check) {
	g := c.open(llmtest.Text("one two three"))
	n := 0
	_, err := g.Generate(c.ctx, hello(), func(llm.Event) error {
		if n++; n == 2 {
			pause(c.ctx, 200*time.Millisecond)
		}
		return nil
	})
	if err != nil {
		c.Errorf("the sink took 200 ms for one event, and the call ended with %v", err)
	}
}
