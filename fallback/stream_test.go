package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

func TestSinkErrorComesBackAsItWas(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a", llmtest.Text("one two three")), target("b", llmtest.Text("no")))
	mine := errors.New("mine")
	n := 0
	resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error {
		if n++; n == 2 {
			return mine
		}
		return nil
	})
	if err != mine { //nolint:errorlint // the very same error is promised
		t.Errorf("got %v", err)
	}
	if resp.Text() != "one " {
		t.Errorf("accepted %q", resp.Text())
	}
}

func TestSinkPanicPassesThrough(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a", llmtest.Text("one two three")))
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("the call still counts as running: %v", err)
		}
	}()
	_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { panic("mine") })
}

func TestTargetThatRecoversTheSinksPanicIsNamed(t *testing.T) {
	t.Parallel()
	bad := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		defer func() { _ = recover() }()
		return nil, sink(llm.Event{Kind: llm.EventText, Delta: "x"})
	})
	c := chain(t, fallback.Target{Name: "greedy", Generator: bad, Prompt: true})
	defer func() {
		if p, ok := recover().(string); !ok || !strings.Contains(p, "greedy") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { panic("mine") })
}

// TestTargetsThatBreakTheContract: what is no content never reaches the caller, and what a target says after
// a limit fell is no answer.
func TestTargetsThatBreakTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chatty := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			for _, e := range []llm.Event{{Kind: llm.EventText}, {Kind: llm.EventDone}, {Kind: llm.EventText, Delta: "x"}} {
				_ = sink(e)
			}
			time.Sleep(31 * s) // beyond idle
			_ = sink(llm.Event{Kind: llm.EventText, Delta: "y"})
			return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "xy"}}}}, nil
		})
		var seen []llm.Event
		c := chain(t, fallback.Target{Name: "a", Generator: chatty, Prompt: true})
		_, err := c.Generate(t.Context(), triage(), func(e llm.Event) error { seen = append(seen, e); return nil })
		if len(seen) != 1 || llm.KindOf(err) != llm.ErrTimeout {
			t.Errorf("%d events, %v", len(seen), err)
		}
	})
}

// TestTheTrailOfAReaderWhoLeaves: what was tried is told to him, too.
func TestTheTrailOfAReaderWhoLeaves(t *testing.T) {
	t.Parallel()
	for leave := range 2 { // at the first event, and at the second
		c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("one two three")))
		stream := llm.NewClient(c, nil).Stream(t.Context(), triage())
		n := 0
		for _, err := range stream.Events() {
			if err != nil {
				t.Error(err)
			}
			if n++; n > leave {
				break
			}
		}
		_, err := stream.Response()
		e := &llm.Error{}
		if !errors.As(err, &e) || e.Kind != llm.ErrCanceled || e.Target != "b" || len(e.Attempts) != 2 {
			t.Errorf("left at event %d: %+v", leave, err)
			continue
		}
		if e.Attempts[0].Kind != llm.ErrUnavailable || e.Attempts[1].Kind != llm.ErrCanceled {
			t.Errorf("left at event %d: %s", leave, trail(e.Attempts))
		}
		if (e.Partial != nil) != (leave > 0) {
			t.Errorf("left at event %d: partial %+v", leave, e.Partial)
		}
	}
}

// TestTheEndFallsWhileTheSinkRuns: a stream without a deadline ends after ten minutes, also when the caller is
// busy just then; what comes after it is refused.
func TestTheEndFallsWhileTheSinkRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ended := make(chan time.Duration, 1)
		patient := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			context.AfterFunc(ctx, func() { ended <- time.Since(start) })
			var err error
			for range 3 {
				if err = sink(llm.Event{Kind: llm.EventText, Delta: "w "}); err != nil {
					return nil, err
				}
			}
			return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "w w w "}}}}, nil
		})
		events := 0
		c := planned(t, exact(), named("a", patient))
		_, err := c.Generate(t.Context(), triage(), func(llm.Event) error {
			events++
			time.Sleep(400 * s)
			return nil
		})
		want(t, "the call", told(nil, err, time.Since(start)), outcome{
			kind: llm.ErrTimeout, bound: llm.BoundEnd, stopped: llm.StopContent, trail: "a:timeout(end)@13m20s", took: 800 * s,
		})
		if after := <-ended; events != 2 || after != 600*s {
			t.Errorf("%d events, the attempt's context ended after %v", events, after)
		}
	})
}

// TestTheDeadlineFallsWhileTheSinkRuns: the call is over when the sink is done, and nothing more reaches it.
func TestTheDeadlineFallsWhileTheSinkRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*s)
		defer cancel()
		start, events := time.Now(), 0
		c := planned(t, exact(), target("a", llmtest.Text("one two three")))
		_, err := c.Generate(ctx, triage(), func(llm.Event) error {
			events++
			time.Sleep(15 * s)
			return nil
		})
		want(t, "the call", told(nil, err, time.Since(start)), outcome{
			text: "one ", kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline, trail: "a:deadline_exceeded(caller)@15s", took: 15 * s,
		})
		if events != 1 {
			t.Errorf("%d events", events)
		}
	})
}

// TestAnAnswerThatEndsInTheSink: the last event, the end mark, and meanwhile the end of the stream: whole is whole.
func TestAnAnswerThatEndsInTheSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", llmtest.Text("whole")))
		resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error { time.Sleep(700 * s); return nil })
		if err != nil || resp.Text() != "whole" {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// TestPartial has what the sink accepted, and no half of a tool call.
func TestPartial(t *testing.T) {
	t.Parallel()
	answer := llmtest.Respond(&llm.Response{Message: llm.Message{Parts: llm.Parts{
		llm.Text{Text: "calling "}, llm.ToolCall{ID: "1", Name: "whole", Arguments: "{}"}, llm.ToolCall{ID: "2", Name: "half", Arguments: `{"city":"Bern"}`},
	}}})
	answer.Cut = true
	c := planned(t, exact(), target("a", answer))
	events := 0
	cut := errors.New("cut")
	_, err := llm.NewClient(cutting(c, 5, cut, &events), nil).Stream(t.Context(), triage()).Response()
	e := &llm.Error{}
	if !errors.As(err, &e) || e.Partial == nil || e.Partial.Text() != "calling " || len(e.Partial.Message.ToolCalls()) != 1 || e.Partial.Message.ToolCalls()[0].Name != "whole" {
		t.Errorf("after %d events: %+v, %v", events, e.Partial, err)
	}
}

// cutting is g with a sink that fails at the n-th event.
func cutting(g llm.Generator, n int, err error, events *int) llm.Generator {
	return llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		return g.Generate(ctx, req, func(e llm.Event) error {
			if *events++; *events == n {
				return err
			}
			return sink(e)
		})
	})
}

// TestAStreamWaitsForItsFirstContentOverAllTargets: the total bounds that wait; what flows may take longer.
func TestAStreamWaitsForItsFirstContentOverAllTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := llmtest.Hang(llmtest.PhaseFirst)
		req := triage()
		req.Limits.Total = 40 * s
		want(t, "nothing flows", read(t.Context(), planned(t, exact(), target("a", silent), target("b", silent)), req), outcome{
			kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal, trail: "a:timeout(attempt)@20s b:timeout(total)@20s", took: 40 * s,
		})
		flows := llmtest.Text("one two three four five").After(15 * s).Every(20 * s)
		want(t, "it flows", read(t.Context(), planned(t, exact(), target("a", silent), target("b", flows)), req), outcome{
			text: "one two three four five", trail: "a:timeout(attempt)@20s b:answered@1m35s", took: 115 * s,
		})
	})
}

// TestEveryStreamHasAnEnd: whenever its attempt begins, a target that drips for ever is not listened to for ever,
// and it is not told of an end that is past.
func TestEveryStreamHasAnEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits llm.Limits
		first  llmtest.Step
		end    time.Duration
	}{
		{"at once", llm.Limits{}, fail(llm.ErrUnavailable), 10 * time.Minute},
		{"late", llm.Limits{Attempt: 4 * time.Minute}, fail(llm.ErrUnavailable).After(3 * time.Minute), 10 * time.Minute},
		{"at the tenth minute", llm.Limits{Attempt: 10 * time.Minute}, llmtest.Hang(), 20 * time.Minute},
		{"after it", llm.Limits{Attempt: 15 * time.Minute}, fail(llm.ErrUnavailable).After(11 * time.Minute), 30 * time.Minute},
		{"after an hour", llm.Limits{Attempt: time.Hour}, llmtest.Hang(), 2 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				drip := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
					if end, ok := ctx.Deadline(); !ok || !end.After(time.Now()) {
						t.Errorf("the target is told %v, %v", time.Until(end), ok)
					}
					for range 3000 {
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-time.After(9 * s):
						}
						if err := sink(llm.Event{Kind: llm.EventText, Delta: "x"}); err != nil {
							return nil, err
						}
					}
					t.Error("it was listened to for ever")
					return nil, nil //nolint:nilnil // the test has failed
				})
				req := triage()
				req.Limits = tt.limits
				start := time.Now()
				_, err := chain(t, target("a", tt.first), named("b", drip)).Generate(t.Context(), req, func(llm.Event) error { return nil })
				e, ok := errors.AsType[*llm.Error](err)
				if !ok || e.Kind != llm.ErrTimeout || e.Bound != llm.BoundEnd || time.Since(start) != tt.end {
					t.Fatalf("%v after %v, want the end after %v", err, time.Since(start), tt.end)
				}
				if last := e.Attempts[len(e.Attempts)-1]; last.Limit != last.Took {
					t.Errorf("the trail has the limit %v, it took %v", last.Limit, last.Took)
				}
			})
		})
	}
}

// TestTheLimitInTheTrail: an attempt that a limit ended took what that limit gave it, with content or without.
func TestTheLimitInTheTrail(t *testing.T) {
	t.Parallel()
	drip := named("b", llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		for sink != nil {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(7 * s):
			}
			if err := sink(llm.Event{Kind: llm.EventText, Delta: "x"}); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	for name, within := range map[llm.Bound]func(context.Context) (context.Context, context.CancelFunc){
		llm.BoundTotal:     func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		llm.BoundCaller:    func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 50*s) },
		llm.BoundExecution: func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.With(ctx, 50*s, nil) },
	} {
		for _, watch := range []policy.Watch{policy.WatchOn, policy.WatchOff} {
			for _, stream := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					plan := exact()
					plan.Watch, plan.MaxRetries = watch, policy.NoRetries
					c := planned(t, plan, target("a", fail(llm.ErrUnavailable).After(s)), drip)
					ctx, cancel := within(t.Context())
					defer cancel()
					var sink llm.Sink
					if stream {
						sink = func(llm.Event) error { return nil }
					}
					_, err := c.Generate(ctx, triage(), sink)
					e, ok := errors.AsType[*llm.Error](err)
					if !ok || len(e.Attempts) != 2 || (stream || watch == policy.WatchOn) && e.Bound != name && (e.Bound != llm.BoundEnd || name != llm.BoundTotal) {
						t.Fatalf("%s, watch %q, stream %v: %v", string(name), string(watch), stream, err)
					}
					if last := e.Attempts[1]; last.Limit != last.Took {
						t.Errorf("%s, watch %q, stream %v: the limit %v, it took %v", string(name), string(watch), stream, last.Limit, last.Took)
					}
				})
			}
		}
	}
}
