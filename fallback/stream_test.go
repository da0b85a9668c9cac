package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
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
