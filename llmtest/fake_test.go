package llmtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestScriptPlaysOneStepACallAndRepeatsTheLast(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []llmtest.Step
		want  string
	}{
		{"no steps", nil, "ok ok"},
		{"zero step", []llmtest.Step{{}}, "ok ok"},
		{"fail with nothing", []llmtest.Step{llmtest.Fail(nil)}, "ok ok"},
		{"one", []llmtest.Step{llmtest.Text("a")}, "a a a"},
		{"two", []llmtest.Step{llmtest.Text("a"), llmtest.Text("b")}, "a b b"},
		{"times", []llmtest.Step{llmtest.Text("a").Times(2), llmtest.Text("b").Times(2)}, "a a b b b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := llmtest.New(test.steps...)
			for i, want := range strings.Fields(test.want) {
				resp, err := f.Generate(t.Context(), hello(), nil)
				if err != nil || resp.Text() != want {
					t.Errorf("call %d: want %q, got %q, %v", i, want, resp.Text(), err)
				}
			}
		})
	}
}

func TestZeroFakeAnswersOK(t *testing.T) {
	t.Parallel()
	var f llmtest.Fake
	if resp, err := f.Generate(t.Context(), hello(), nil); err != nil || resp.Text() != "ok" {
		t.Errorf("got %q, %v", resp.Text(), err)
	}
}

func TestAnswerFillsInWhatTheScriptLeavesOpen(t *testing.T) {
	t.Parallel()
	resp, err := llmtest.New(llmtest.Calls(llm.ToolCall{Name: "time"}, llm.ToolCall{Name: "time", Arguments: " "})).
		Generate(t.Context(), hello(), nil)
	want := &llm.Response{
		ID:    "fake",
		Model: llm.ModelRef{Provider: "fake", Model: "fake"},
		Message: llm.Message{
			Role: llm.RoleAssistant,
			Parts: llm.Parts{
				llm.ToolCall{ID: "call_0", Name: "time", Arguments: "{}"},
				llm.ToolCall{ID: "call_1", Name: "time", Arguments: "{}"},
			},
			From: llm.ModelRef{Provider: "fake", Model: "fake"},
		},
		Finish: llm.FinishToolCall, RawFinish: "tool_call",
		Usage: llm.Usage{Input: 5, Output: 3, Reported: true},
	}
	if err != nil || !reflect.DeepEqual(resp, want) {
		t.Errorf("want %+v\ngot %+v, %v", want, resp, err)
	}
}

func TestAnswerKeepsWhatTheScriptSays(t *testing.T) {
	t.Parallel()
	want := &llm.Response{
		ID: "id", Model: llm.ModelRef{Provider: "p", Model: "m"}, ModelVersion: "m-1",
		Message: llm.Message{
			Role: llm.RoleAssistant, From: llm.ModelRef{Provider: "p", Model: "other"},
			Parts: llm.Parts{
				llm.Reasoning{Text: "hm", Signature: []byte("s")},
				llm.Media{MediaType: "image/png", Data: []byte("d")},
				llm.Opaque{Type: "x", Data: json.RawMessage(`{"a":1}`)},
				llm.Text{Text: "hi", Signature: []byte("t")},
			},
		},
		Finish: llm.FinishOther, RawFinish: "eos", Usage: llm.Usage{Output: 1},
		Warnings: []llm.Warning{{Code: "dropped"}}, RateLimit: llm.RateLimit{RemainingTokens: 7, Reported: true},
	}
	f := llmtest.New(llmtest.Respond(want))
	for _, sink := range []llm.Sink{nil, func(llm.Event) error { return nil }} {
		if resp, err := f.Generate(t.Context(), hello(), sink); err != nil || !reflect.DeepEqual(resp, want) {
			t.Errorf("want %+v\ngot %+v, %v", want, resp, err)
		}
	}
}

func TestEventsComeWordByWordAndJoinToTheAnswer(t *testing.T) {
	t.Parallel()
	const text = "  one two\n\nthree  "
	f := llmtest.New(llmtest.Respond(&llm.Response{Message: llm.Message{Parts: llm.Parts{
		llm.Reasoning{Text: "think hard"},
		llm.Text{}, // left out
		llm.Text{Text: text},
		llm.Media{MediaType: "image/png", URI: "u"},
		llm.ToolCall{ID: "c", Name: "f", Arguments: `{"city":"Åäö 日本"}`},
	}}}))
	var got []llm.Event
	var a llm.Accumulator
	resp, err := f.Generate(t.Context(), hello(), func(e llm.Event) error {
		got = append(got, e)
		a.Add(e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Event{
		{Kind: llm.EventReasoning, Index: 0, Delta: "think "},
		{Kind: llm.EventReasoning, Index: 0, Delta: "hard"},
		{Kind: llm.EventText, Index: 1, Delta: "  one "},
		{Kind: llm.EventText, Index: 1, Delta: "two\n\n"},
		{Kind: llm.EventText, Index: 1, Delta: "three  "},
		{Kind: llm.EventToolCall, Index: 3, ID: "c", Name: "f"},
		{Kind: llm.EventToolArguments, Index: 3, Delta: `{"city":`},
		{Kind: llm.EventToolArguments, Index: 3, Delta: `"Åäö `},
		{Kind: llm.EventToolArguments, Index: 3, Delta: `日本"}`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("want\n%+v\ngot\n%+v", want, got)
	}
	streamed := slices.Delete(slices.Clone(resp.Message.Parts), 2, 3) // Media is never streamed
	if !reflect.DeepEqual(a.Response().Message.Parts, streamed) {
		t.Errorf("the events come to %+v, the answer is %+v", a.Response().Message.Parts, resp.Message.Parts)
	}
}

func TestDelayAndGapTakeVirtualTime(t *testing.T) {
	t.Parallel()
	step := llmtest.Text("one two three").After(40 * time.Second).Every(time.Minute)
	tests := []struct {
		name string
		step llmtest.Step
		sink bool
		want []time.Duration // of the events, then of the return
	}{
		{"stream", step, true, []time.Duration{40 * time.Second, 100 * time.Second, 160 * time.Second, 160 * time.Second}},
		{"unary", step, false, []time.Duration{40 * time.Second}},
		{"failure", llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}).After(time.Hour), false, []time.Duration{time.Hour}},
		{"cut", llmtest.Cut("a b").Every(time.Second), true, []time.Duration{0, time.Second, time.Second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var got []time.Duration
				sink := func(llm.Event) error {
					got = append(got, time.Since(start))
					return nil
				}
				if !test.sink {
					sink = nil
				}
				_, _ = llmtest.New(test.step).Generate(t.Context(), hello(), sink)
				if got = append(got, time.Since(start)); !slices.Equal(got, test.want) {
					t.Errorf("want %v, got %v", test.want, got)
				}
			})
		})
	}
}

func TestContextEndsEveryWaitAtItsInstant(t *testing.T) {
	t.Parallel()
	cause := errors.New("closed the window")
	steps := map[string]llmtest.Step{
		"delay": llmtest.Text("a").After(time.Hour), "gap": llmtest.Text("a b").Every(time.Hour),
		"delay as long as the deadline": llmtest.Text("a").After(time.Second),
		"gap before a failure":          {Response: llmtest.Text("a b").Response, Error: &llm.Error{Kind: llm.ErrAuth}, Phase: llmtest.PhaseEnd, Gap: time.Hour},
	}
	for _, at := range []llmtest.Phase{
		llmtest.PhaseConnect, llmtest.PhaseToken, llmtest.PhaseHeaders, llmtest.PhaseBody,
		llmtest.PhaseFirst, llmtest.PhaseStream, llmtest.PhaseEnd,
	} {
		steps["hang at "+string(at)] = llmtest.Hang(at)
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
				defer cancel()
				resp, err := llmtest.New(step).Generate(ctx, hello(), func(llm.Event) error { return nil })
				e, ok := errors.AsType[*llm.Error](err)
				if !ok || e.Kind != llm.ErrDeadlineExceeded || time.Since(start) != time.Second {
					t.Fatalf("after %v: %v", time.Since(start), err)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v is not context.DeadlineExceeded", err)
				}
				if !reflect.DeepEqual(resp, e.Partial) {
					t.Errorf("the response is %+v, the partial %+v", resp, e.Partial)
				}
				if unsent := step.Phase == llmtest.PhaseConnect || step.Phase == llmtest.PhaseToken; e.NotSent != unsent {
					t.Errorf("NotSent is %t", e.NotSent)
				}
			})
		})
	}
}

func TestCancelBringsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("closed the window")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	f := llmtest.New()
	_, err := f.Generate(ctx, hello(), nil)
	if llm.KindOf(err) != llm.ErrCanceled || !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if e, _ := errors.AsType[*llm.Error](err); !e.NotSent || len(f.Requests()) != 0 {
		t.Errorf("NotSent is %t, %d requests are recorded", e.NotSent, len(f.Requests()))
	}
}

func TestFailureComesAtItsPhase(t *testing.T) {
	t.Parallel()
	fail := &llm.Error{Kind: llm.ErrUnavailable, Status: 503, Filtered: []string{"f"}}
	words := llmtest.Text("one two").Response
	partial := &llm.Error{Kind: llm.ErrContentFiltered, Partial: llmtest.Text("some words").Response}
	tests := []struct {
		name    string
		step    llmtest.Step
		stream  string // accepted before it, in a stream
		unary   string // Partial without a sink
		notSent bool
	}{
		{"no phase", llmtest.Fail(fail), "", "", false},
		{"connect", llmtest.Step{Error: fail, Phase: llmtest.PhaseConnect}, "", "", true},
		{"token", llmtest.Step{Error: fail, Phase: llmtest.PhaseToken}, "", "", true},
		{"headers", llmtest.Step{Error: fail, Phase: llmtest.PhaseHeaders}, "", "", false},
		{"first", llmtest.Step{Error: fail, Phase: llmtest.PhaseFirst, Response: words}, "", "", false},
		{"stream", llmtest.Step{Error: fail, Phase: llmtest.PhaseStream, Response: words}, "one ", "", false},
		{"stream without words", llmtest.Step{Error: fail, Phase: llmtest.PhaseStream}, "partial ", "", false},
		{"end", llmtest.Step{Error: fail, Phase: llmtest.PhaseEnd, Response: words}, "one two", "", false},
		{"partial", llmtest.Fail(partial), "some words", "some words", false},
		{"partial that never came", llmtest.Step{Error: partial, Phase: llmtest.PhaseHeaders}, "", "some words", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := llmtest.New(test.step)
			resp, err := f.Generate(t.Context(), hello(), func(llm.Event) error { return nil })
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e == test.step.Error || e.Kind != test.step.Error.Kind || e.NotSent != test.notSent {
				t.Fatalf("got %+v", err)
			}
			if resp.Text() != test.stream || e.Partial.Text() != test.stream || e.Partial != nil && e.Partial == resp {
				t.Errorf("stream: want %q, got %q and %q", test.stream, resp.Text(), e.Partial.Text())
			}
			resp, err = f.Generate(t.Context(), hello(), nil)
			if e, _ = errors.AsType[*llm.Error](err); resp != nil || e.Partial.Text() != test.unary {
				t.Errorf("unary: want %q, got %q and %q", test.unary, resp.Text(), e.Partial.Text())
			}
		})
	}
}

func TestCutEndsWithoutAnEndMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "one two"} {
		f := llmtest.New(llmtest.Cut(text))
		resp, err := f.Generate(t.Context(), hello(), func(llm.Event) error { return nil })
		e, _ := errors.AsType[*llm.Error](err)
		if llm.KindOf(err) != llm.ErrInterrupted || resp.Text() != text || e.Partial.Text() != text {
			t.Errorf("cut after %q: %q, %v", text, resp.Text(), err)
		}
		if resp, err = f.Generate(t.Context(), hello(), nil); llm.KindOf(err) != llm.ErrConnection || resp != nil {
			t.Errorf("cut after %q, unary: %+v, %v", text, resp, err)
		}
	}
}

func TestNothingIsShared(t *testing.T) {
	t.Parallel()
	script := &llm.Response{Message: llm.Message{Parts: llm.Parts{
		llm.Text{Text: "a", Signature: []byte("1")},
		llm.Reasoning{Text: "b", Signature: []byte("2")},
		llm.ToolCall{ID: "c", Name: "n", Signature: []byte("3")},
		llm.Media{MediaType: "m/m", Data: []byte("4")},
		llm.Opaque{Type: "o", Data: json.RawMessage("5")},
		llm.ToolResult{CallID: "c", Parts: llm.Parts{llm.Media{MediaType: "m/m", Data: []byte("6")}}},
	}}, Warnings: []llm.Warning{{}}, Attempts: []llm.Attempt{{}}, Skipped: []llm.Skip{{}}}
	f := llmtest.New(llmtest.Respond(script))
	first, _ := f.Generate(t.Context(), hello(), nil)
	second, _ := f.Generate(t.Context(), hello(), nil)
	for _, r := range []*llm.Response{script, first} {
		spoil(r.Message.Parts)
		r.Warnings[0].Code, r.Attempts[0].Target, r.Skipped[0].Target = "x", "x", "x"
		r.Message.Parts[0] = llm.Text{Text: "x"}
	}
	third, _ := f.Generate(t.Context(), hello(), nil)
	if !reflect.DeepEqual(second, third) {
		t.Errorf("want %+v\ngot %+v", second, third)
	}
}

// spoil changes every byte that the parts point to.
func spoil(parts llm.Parts) {
	for _, part := range parts {
		var data []byte
		switch p := part.(type) {
		case llm.Text:
			data = p.Signature
		case llm.Reasoning:
			data = p.Signature
		case llm.ToolCall:
			data = p.Signature
		case llm.Media:
			data = p.Data
		case llm.Opaque:
			data = p.Data
		case llm.ToolResult:
			spoil(p.Parts)
		}
		for i := range data {
			data[i] = 'x'
		}
	}
}

func TestRequestsAreCopiesInOrder(t *testing.T) {
	t.Parallel()
	f := llmtest.New()
	req := hello()
	for _, text := range []string{"first", "second"} {
		req.Messages[0].Parts[0] = llm.Text{Text: text}
		if _, err := f.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.Requests()[0].Messages[0] = llm.User("changed")
	got := f.Requests()
	if len(got) != 2 || got[0].Messages[0].Text() != "first" || got[1].Messages[0].Text() != "second" {
		t.Errorf("got %+v", got)
	}
	unrecorded := llmtest.New().Unrecorded()
	if _, err := unrecorded.Generate(t.Context(), req, nil); err != nil || len(unrecorded.Requests()) != 0 {
		t.Errorf("unrecorded: %d requests, %v", len(unrecorded.Requests()), err)
	}
}

func TestCallsAtOnceShareOutTheScript(t *testing.T) {
	t.Parallel()
	f := llmtest.New(llmtest.Text("a").Times(10), llmtest.Text("b").Times(10), llmtest.Text("c"))
	var mu sync.Mutex
	count := map[string]int{}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			resp, err := f.Generate(t.Context(), hello(), func(llm.Event) error { return nil })
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			count[resp.Text()]++
		})
	}
	wg.Wait()
	if want := map[string]int{"a": 10, "b": 10, "c": 10}; !reflect.DeepEqual(count, want) || len(f.Requests()) != 30 {
		t.Errorf("want %v, got %v of %d requests", want, count, len(f.Requests()))
	}
}

func TestAnAnswerCostsTwoAllocationsAndAnEventNone(t *testing.T) {
	f := llmtest.New(llmtest.Text(strings.Repeat("word ", 100))).Unrecorded()
	req, ctx := hello(), t.Context()
	sink := func(llm.Event) error { return nil }
	for name, sink := range map[string]llm.Sink{"unary": nil, "stream": sink} {
		if n := testing.AllocsPerRun(100, func() { _, _ = f.Generate(ctx, req, sink) }); n > 2 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzEvents: whatever the text, its events are never empty and join to it.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"", " ", "a", "\n a\tb ", "日本 語", "\xff \xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fake := llmtest.New(llmtest.Respond(&llm.Response{
			Message: llm.Message{Parts: llm.Parts{llm.Text{Text: s}, llm.ToolCall{ID: "c", Name: "n", Arguments: "{" + s}}},
		}))
		var text, arguments strings.Builder
		_, err := fake.Generate(t.Context(), hello(), func(e llm.Event) error {
			switch {
			case e.Kind == llm.EventToolCall:
			case e.Delta == "":
				t.Errorf("empty event %+v", e)
			case e.Kind == llm.EventText:
				text.WriteString(e.Delta)
			default:
				arguments.WriteString(e.Delta)
			}
			return nil
		})
		if err != nil || text.String() != s || arguments.String() != "{"+s {
			t.Errorf("%q: %q and %q, %v", s, text.String(), arguments.String(), err)
		}
	})
}
