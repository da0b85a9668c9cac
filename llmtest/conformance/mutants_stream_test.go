package conformance

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func streamMutants() []mutant {
	return []mutant{
		{"stream_folds", "streams no arguments of the third part", editing(func(e llm.Event) []llm.Event {
			if e.Kind == llm.EventToolArguments && e.Index == 2 {
				return nil
			}
			return []llm.Event{e}
		})},
		{"stream_equals_unary", "has no usage in a stream", changing(func(m mode, r *llm.Response) {
			if m == stream {
				r.Usage = llm.Usage{}
			}
		})},
		{"stream_is_live", "keeps all events until the end", around(buffers)},
		{"events_not_empty", "sends an empty event in front of each text", editing(func(e llm.Event) []llm.Event {
			if e.Kind != llm.EventText {
				return []llm.Event{e}
			}
			return []llm.Event{{Kind: llm.EventText, Index: e.Index}, e}
		})},
		{"events_no_done", "sends EventDone at the end", around(saysDone)},
		{"events_index", "counts parts from one", editing(func(e llm.Event) []llm.Event {
			e.Index++
			return []llm.Event{e}
		})},
	}
}

func buffers(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if sink == nil {
			return g.Generate(ctx, req, nil)
		}
		var kept, accepted tape
		resp, err := g.Generate(ctx, req, kept.sink)
		for _, e := range kept.events {
			if refused := sink(e); refused != nil {
				return accepted.partial(), refused
			}
			_ = accepted.sink(e)
		}
		return resp, err
	}
}

func saysDone(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, sink)
		if err == nil && sink != nil {
			err = sink(llm.Event{Kind: llm.EventDone, Response: resp})
		}
		return resp, err
	}
}

// sinking returns a mutant that wraps the sink of each call. after runs when the call returns.
func sinking(wrap func(sink llm.Sink) (wrapped llm.Sink, after func(*llm.Response, error) (*llm.Response, error))) func([]llmtest.Step) llm.Generator {
	return around(func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if sink == nil {
				return g.Generate(ctx, req, nil)
			}
			wrapped, after := wrap(sink)
			return after(g.Generate(ctx, req, wrapped))
		}
	})
}

func unchanged(resp *llm.Response, err error) (*llm.Response, error) { return resp, err }

func sinkMutants() []mutant {
	return []mutant{
		{"sink_goroutine", "runs the sink on another goroutine", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			return func(e llm.Event) error { return elsewhere(sink, e) }, unchanged
		})},
		{"sink_after_return", "sends the sink of the call before one event more", around(haunts)},
		{"sink_error", "wraps the sink's error", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			return func(e llm.Event) error {
				if err := sink(e); err != nil {
					return fmt.Errorf("in the sink: %w", err)
				}
				return nil
			}, unchanged
		})},
		{"sink_error_stops", "sends one event after the sink refused one", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			return func(e llm.Event) error {
				err := sink(e)
				if err != nil {
					_ = sink(llm.Event{Kind: llm.EventText, Index: e.Index})
				}
				return err
			}, unchanged
		})},
		{"sink_error_response", "counts the refused event as accepted", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			var seen tape
			refused := false
			return func(e llm.Event) error {
					_ = seen.sink(e)
					err := sink(e)
					refused = refused || err != nil
					return err
				}, func(resp *llm.Response, err error) (*llm.Response, error) {
					if refused {
						resp = seen.partial()
					}
					return resp, err
				}
		})},
		{"sink_error_response", "has no response beside a sink's error", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			refused := false
			return func(e llm.Event) error {
					err := sink(e)
					refused = refused || err != nil
					return err
				}, func(resp *llm.Response, err error) (*llm.Response, error) {
					if refused {
						resp = nil
					}
					return resp, err
				}
		})},
		{"sink_panic", "makes an error of the sink's panic", around(recovers)},
		{"sink_panic", "panics with a text of its own", around(rewords)},
		{"sink_panic", "fails for ever after a panic", around(neverAfter(true))},
		{"sink_goexit", "fails for ever after a runtime.Goexit", around(neverAfter(false))},
		{"sink_slow", "gives the sink 150 ms an event", sinking(func(sink llm.Sink) (llm.Sink, func(*llm.Response, error) (*llm.Response, error)) {
			return func(e llm.Event) error {
				start := time.Now()
				err := sink(e)
				if err == nil && time.Since(start) > 150*time.Millisecond {
					err = &llm.Error{Kind: llm.ErrTimeout}
				}
				return err
			}, unchanged
		})},
	}
}

// elsewhere runs the sink on a goroutine of its own and carries everything back: error, panic and Goexit.
func elsewhere(sink llm.Sink, e llm.Event) (err error) {
	var panicked any
	exited := true
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = sink(e)
		exited = false
	}()
	<-done
	switch {
	case panicked != nil:
		panic(panicked)
	case exited:
		runtime.Goexit()
	}
	return err
}

func haunts(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	var last atomic.Pointer[llm.Sink]
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if old := last.Swap(nil); old != nil {
			_ = (*old)(llm.Event{Kind: llm.EventText, Delta: "boo"})
		}
		resp, err := g.Generate(ctx, req, sink)
		if sink != nil {
			last.Store(&sink)
		}
		return resp, err
	}
}

func recovers(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (resp *llm.Response, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &llm.Error{Kind: llm.ErrUnknown}
			}
		}()
		return g.Generate(ctx, req, sink)
	}
}

func rewords(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		defer func() {
			if p := recover(); p != nil {
				panic(fmt.Sprintf("in the sink: %v", p))
			}
		}()
		return g.Generate(ctx, req, sink)
	}
}

// neverAfter fails all calls after a sink panicked (or, with panics false, ended its goroutine).
func neverAfter(panics bool) func(*llmtest.Fake, []llmtest.Step) llm.GeneratorFunc {
	return func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		var broken atomic.Bool
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if broken.Load() {
				return nil, &llm.Error{Kind: llm.ErrUnavailable}
			}
			returned := false
			defer func() {
				p := recover()
				if !returned && (p != nil) == panics {
					broken.Store(true)
				}
				if p != nil {
					panic(p)
				}
			}()
			resp, err := g.Generate(ctx, req, sink)
			returned = true
			return resp, err
		}
	}
}
