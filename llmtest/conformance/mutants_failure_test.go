package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// failingAs returns a mutant that changes the outcome of calls that fail with an *llm.Error, here e, a copy.
func failingAs(f func(o *outcome)) func([]llmtest.Step) llm.Generator {
	return around(func(g *llmtest.Fake, script []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			var seen tape
			resp, err := g.Generate(ctx, req, taped(sink, &seen))
			e, ok := err.(*llm.Error) //nolint:errorlint // the Fake's own
			if !ok {
				return resp, err
			}
			o := outcome{ctx: ctx, req: req, m: sink != nil, at: script[0].Phase, seen: &seen, resp: resp, e: e, err: e}
			f(&o)
			return o.resp, o.err
		}
	})
}

// outcome is what a call came to. A mutant changes resp and e, or puts another err in the place of e.
type outcome struct {
	ctx  context.Context
	req  *llm.Request
	m    mode
	at   llmtest.Phase // of the script's first step
	seen *tape         // what the sink accepted
	resp *llm.Response
	e    *llm.Error
	err  error
}

func taped(sink llm.Sink, seen *tape) llm.Sink {
	if sink == nil {
		return nil
	}
	return func(e llm.Event) error {
		err := sink(e)
		if err == nil {
			_ = seen.sink(e)
		}
		return err
	}
}

func contextMutants() []mutant {
	all := []mutant{
		{"ended_canceled", "answers with a canceled context", around(deafTo(context.Canceled))},
		{"ended_canceled", "sends although the context is canceled", around(sendsAfter(context.Canceled))},
		{"ended_deadline", "answers after the deadline", around(deafTo(context.DeadlineExceeded))},
		{"ended_deadline", "sends although the deadline is over", around(sendsAfter(context.DeadlineExceeded))},
		{"context_cause", "judges by the cause", failingAs(func(o *outcome) {
			if o.ctx.Err() != nil && context.Cause(o.ctx) != o.ctx.Err() { //nolint:errorlint // the bare ones
				o.e.Kind = llm.KindOf(context.Cause(o.ctx))
			}
		})},
		{"end_mark", "takes 100 ms of silence after content for the end", around(giveUp)},
	}
	for _, p := range places() {
		for name, kind := range map[string]llm.Kind{"cancel_": llm.ErrCanceled, "deadline_": llm.ErrDeadlineExceeded} {
			all = append(all,
				mutant{name + string(p.phase), "is 130 ms late", failingAs(func(o *outcome) {
					if o.at == p.phase && o.e.Kind == kind {
						pause(context.Background(), 130*time.Millisecond)
					}
				})},
				mutant{name + string(p.phase), "takes it for a limit of its own", failingAs(func(o *outcome) {
					plain := o.ctx.Err() != nil && context.Cause(o.ctx) == o.ctx.Err() //nolint:errorlint // the bare ones
					if o.at == p.phase && o.e.Kind == kind && plain {
						o.e.Kind = llm.ErrTimeout
					}
				})})
		}
	}
	return all
}

// deafTo works on with a context that had ended so before the call.
func deafTo(end error) func(*llmtest.Fake, []llmtest.Step) llm.GeneratorFunc {
	return func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if errors.Is(ctx.Err(), end) {
				ctx = context.WithoutCancel(ctx)
			}
			return g.Generate(ctx, req, sink)
		}
	}
}

// sendsAfter fails as it should, but only after the request was sent.
func sendsAfter(end error) func(*llmtest.Fake, []llmtest.Step) llm.GeneratorFunc {
	return func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if errors.Is(ctx.Err(), end) {
				sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Millisecond)
				defer cancel()
				_, _ = g.Generate(sent, req, nil)
			}
			return g.Generate(ctx, req, sink)
		}
	}
}

func giveUp(g *llmtest.Fake, script []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if s := script[0]; s.Phase != llmtest.PhaseEnd || s.Error != nil {
			return g.Generate(ctx, req, sink)
		}
		enough := errors.New("enough")
		inner, cancel := context.WithTimeoutCause(ctx, 100*time.Millisecond, enough)
		defer cancel()
		resp, err := g.Generate(inner, req, sink)
		if errors.Is(err, enough) {
			return script[0].Answer(), nil
		}
		return resp, err
	}
}

func brokenMutants() []mutant {
	is := func(k llm.Kind, f func(o *outcome)) func([]llmtest.Step) llm.Generator {
		return failingAs(func(o *outcome) {
			if o.e.Kind == k {
				f(o)
			}
		})
	}
	dropResponse := func(o *outcome) { o.resp, o.e.Partial = nil, nil }
	return []mutant{
		{"cut_stream", "takes a broken stream for an answer", is(llm.ErrInterrupted, func(o *outcome) {
			o.resp, o.err = o.seen.fold(), nil
			o.resp.Message.Parts = o.resp.Message.Parts[:min(1, len(o.resp.Message.Parts))] // no half calls
		})},
		{"cut_unary", "takes half a body for an answer", is(llm.ErrConnection, func(o *outcome) {
			o.resp, o.err = llmtest.Text("one two").Answer(), nil
		})},
		{"cut_response", "forgets what came before a cut", is(llm.ErrInterrupted, dropResponse)},
		{"cut_tool_call", "keeps half a tool call", is(llm.ErrInterrupted, func(o *outcome) { o.resp = o.seen.fold() })},
		{"error_in_stream", "takes an error before content for a cut", failingAs(func(o *outcome) {
			if o.at == llmtest.PhaseFirst && o.ctx.Err() == nil {
				o.e.Kind = llm.ErrInterrupted
			}
		})},
		{"error_after_content", "takes an error after content for a cut", failingAs(func(o *outcome) {
			if o.at == llmtest.PhaseStream && o.ctx.Err() == nil {
				o.e.Kind = llm.ErrInterrupted
			}
		})},
		{"error_response", "forgets what came before an error", is(llm.ErrUnavailable, dropResponse)},
		{"cancel_response", "forgets what came before a cancel", is(llm.ErrCanceled, dropResponse)},
	}
}

func failureMutants() []mutant {
	all := []mutant{
		{"error_status", "drops the status", failingAs(func(o *outcome) { o.e.Status = 0 })},
		{"error_retry_after", "drops the wait", failingAs(func(o *outcome) { o.e.RetryAfter = 0 })},
		{"error_type", "returns the context's error bare", failingAs(func(o *outcome) {
			if o.e.Kind == llm.ErrCanceled {
				o.err = context.Canceled
			}
		})},
		{"error_sent", "says NotSent of a failed provider", failingAs(func(o *outcome) {
			o.e.NotSent = o.e.NotSent || o.e.Kind == llm.ErrUnavailable
		})},
		{"error_text", "makes the provider's words its code", failingAs(func(o *outcome) { o.e.Code = o.e.Message })},
		{"error_text", "quotes the prompt", failingAs(func(o *outcome) {
			o.err = fmt.Errorf("asked %q: %w", o.req.System, o.e)
		})},
		{"error_text", "quotes the answer", failingAs(func(o *outcome) {
			o.err = fmt.Errorf("after %q: %w", o.seen.fold().Text(), o.e)
		})},
	}
	for _, f := range failures() {
		all = append(all, mutant{f.name, fmt.Sprintf("does not know a %d of kind %s", f.err.Status, f.err.Kind), failingAs(func(o *outcome) {
			if o.at == "" && o.e.Kind == f.err.Kind && o.e.Status == f.err.Status {
				o.e.Kind = llm.ErrUnknown
			}
		})})
	}
	return all
}
