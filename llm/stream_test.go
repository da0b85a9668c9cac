package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// turn is a whole answer of every kind of event.
var turn = []llm.Event{
	thought(0, "hm"), at(1, "It "), at(1, "rains"), begin(2, "1", "f"), args(2, `{"a"`), args(2, `:1}`), at(3, "."),
}

func TestStreamEvents(t *testing.T) {
	t.Parallel()
	s := client(script(nil, turn...)).Stream(t.Context(), ask())
	var got []llm.Event
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	last := got[len(got)-1]
	if !reflect.DeepEqual(got[:len(got)-1], turn) || last.Kind != llm.EventDone || last.Response == nil {
		t.Fatalf("got %+v", got)
	}
	resp, err := s.Response()
	if err != nil || resp != last.Response || resp.Text() != "It rains." || len(resp.Message.ToolCalls()) != 1 {
		t.Errorf("got %+v, %v", resp, err)
	}
	again, err := s.Response()
	if again != resp || err != nil {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	n := 0
	for e, err := range s.Events() {
		if n++; llm.KindOf(err) != llm.ErrInvalid || !reflect.DeepEqual(e, llm.Event{}) {
			t.Errorf("a second loop yields %+v, %v", e, err)
		}
	}
	if again, err := s.Response(); n != 1 || again != resp || err != nil {
		t.Errorf("after a second loop of %d: %+v, %v", n, again, err)
	}
}

func TestStreamError(t *testing.T) {
	t.Parallel()
	s := client(script(&llm.Error{Kind: llm.ErrInterrupted}, turn[:5]...)).Stream(t.Context(), ask())
	var events []llm.Event
	var errs []error
	for e, err := range s.Events() {
		if err != nil {
			errs = append(errs, err)
			continue // going on after an error is no harm
		}
		events = append(events, e)
	}
	if !reflect.DeepEqual(events, turn[:5]) || len(errs) != 1 || llm.KindOf(errs[0]) != llm.ErrInterrupted {
		t.Fatalf("got %+v, %v", events, errs)
	}
	resp, err := s.Response()
	e, _ := errors.AsType[*llm.Error](err)
	if resp != nil || err != errs[0] { //nolint:errorlint // the same one
		t.Errorf("got %+v, %v", resp, err)
	}
	if e.Partial.Text() != "It rains" || len(e.Partial.Message.ToolCalls()) != 0 {
		t.Errorf("Partial %+v", e.Partial)
	}
}

func TestStreamSendsNothingUnread(t *testing.T) {
	t.Parallel()
	calls := 0
	c := client(llm.GeneratorFunc(func(_ context.Context, req *llm.Request, _ llm.Sink) (*llm.Response, error) {
		calls++
		return answer(llm.Text{Text: req.System}), nil
	}))
	req := ask()
	s := c.Stream(t.Context(), req)
	_, _ = s.Events(), s.Text()
	if calls != 0 {
		t.Error("something was sent before reading")
	}
	req.System = "looked at when reading begins"
	resp, err := s.Response()
	if err != nil || calls != 1 || resp.Text() != req.System {
		t.Errorf("%d calls, %+v, %v", calls, resp, err)
	}
}

func TestStreamBreak(t *testing.T) {
	t.Parallel()
	deaf := func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		for _, e := range turn {
			_ = sink(e) // ignores that the reader has left: yield must not run again, Go would panic
		}
		return answer(llm.Text{Text: "all of it"}), nil
	}
	stubborn := func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, _ := deaf(ctx, req, sink)
		return resp, io.EOF
	}
	wraps := func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := script(nil, turn...)(ctx, req, sink)
		if err != nil {
			err = fmt.Errorf("sdk: %w", err)
		}
		return resp, err
	}
	for name, g := range map[string]llm.GeneratorFunc{
		"honest": script(nil, turn...), "deaf": deaf, "stubborn": stubborn, "wraps": wraps,
		"detached": func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			return llm.Detached(script(nil, turn...)).Generate(ctx, req, sink)
		},
	} {
		for stop := 1; stop <= len(turn); stop++ {
			s := client(g).Stream(t.Context(), with(func(r *llm.Request) { r.Operation = "triage" }))
			n := 0
			for _, err := range s.Events() {
				if n++; err != nil || n == stop {
					break
				}
			}
			resp, err := s.Response()
			e, ok := errors.AsType[*llm.Error](err)
			if n != stop || resp != nil || !ok || e.Kind != llm.ErrCanceled || e.Operation != "triage" || e.Code != "reader_left" {
				t.Fatalf("%s, left at %d: %d events, %+v, %v", name, stop, n, resp, err)
			}
			want := ""
			if name != "deaf" && name != "stubborn" { // what did not keep the contract has no exact Partial
				for _, e := range turn[:stop-1] { // the event at which he left was not accepted
					if e.Kind == llm.EventText {
						want += e.Delta
					}
				}
			}
			if got := e.Partial.Text(); got != want {
				t.Errorf("%s, left at %d: Partial %q, want %q", name, stop, got, want)
			}
		}
	}
}

// The error of a reader who left is his own: to change it changes nobody else's.
func TestStreamBreakErrorIsFresh(t *testing.T) {
	t.Parallel()
	left := func() error {
		s := client(script(nil, turn...)).Stream(t.Context(), ask())
		s.Events()(func(llm.Event, error) bool { return false })
		_, err := s.Response()
		return err
	}
	if a, b := left(), left(); a == b { //nolint:errorlint // the very same value
		t.Errorf("two streams share the error %v", a)
	}
}

// Who leaves at the last event has the whole answer.
func TestStreamBreakAtDone(t *testing.T) {
	t.Parallel()
	s := client(script(nil, turn...)).Stream(t.Context(), ask())
	for e, err := range s.Events() {
		if err != nil || e.Kind == llm.EventDone {
			break
		}
	}
	if resp, err := s.Response(); err != nil || resp.Text() != "It rains." {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestStreamDropsWhatIsNoContent(t *testing.T) {
	t.Parallel()
	stray := []llm.Event{
		{},
		text(""), thought(0, ""), args(0, ""),
		{Kind: llm.EventDone, Response: answer()},
		text("a"),
		{Kind: "later"},
		begin(1, "1", ""),
	}
	var got []llm.EventKind
	for e, err := range client(script(nil, stray...)).Stream(t.Context(), ask()).Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Kind)
	}
	if want := []llm.EventKind{llm.EventText, "later", llm.EventToolCall, llm.EventDone}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestStreamText(t *testing.T) {
	t.Parallel()
	s := client(script(nil, turn...)).Stream(t.Context(), ask())
	var got []string
	for s, err := range s.Text() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	if strings.Join(got, "|") != "It |rains|." {
		t.Errorf("got %q", got)
	}
	if resp, err := s.Response(); err != nil || resp.Text() != "It rains." {
		t.Errorf("got %+v, %v", resp, err)
	}

	s = client(script(io.EOF, turn...)).Stream(t.Context(), ask())
	var last error
	for _, err := range s.Text() {
		last = err
	}
	if !errors.Is(last, io.EOF) {
		t.Errorf("the last pair has %v", last)
	}

	s = client(script(nil, turn...)).Stream(t.Context(), ask())
	s.Text()(func(string, error) bool { return false })
	if _, err := s.Response(); llm.KindOf(err) != llm.ErrCanceled {
		t.Errorf("after leaving: %v", err)
	}
}

// A Generator that forgets its sink breaks the contract, and still no answer is lost without a word.
func TestStreamTextOfAGeneratorWithoutEvents(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]llm.Parts{
		"text": {llm.Text{Text: "urgent"}}, "none": nil, "a call": {llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}},
	} {
		answer := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishStop}
		client := llm.NewClient(llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			return answer, nil
		}), nil)
		s := client.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}})
		var got []string
		for text, err := range s.Text() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, text)
		}
		if want := answer.Text(); strings.Join(got, "") != want || len(got) > 1 {
			t.Errorf("%s: got %q, want %q in one piece", name, got, want)
		}
		if resp, err := s.Response(); err != nil || resp.Text() != answer.Text() {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
}

func TestStreamResponseInsideTheLoop(t *testing.T) {
	t.Parallel()
	s := client(script(nil, turn...)).Stream(t.Context(), ask())
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Response()
		if e.Kind != llm.EventDone && (resp != nil || llm.KindOf(err) != llm.ErrInvalid) {
			t.Errorf("inside: %+v, %v", resp, err)
		}
	}
	if resp, err := s.Response(); err != nil || resp == nil {
		t.Errorf("after it: %+v, %v", resp, err)
	}
}

// A panic in the loop body stays the caller's panic, and so does the end of his goroutine.
func TestStreamPanic(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	for name, g := range map[string]llm.Generator{
		"plain": script(nil, turn...), "detached": llm.Detached(script(nil, turn...)),
	} {
		for how, end := range map[string]func(error){"panic": func(error) { panic(mine) }, "Goexit": exit} {
			s := client(g).Stream(t.Context(), ask())
			var got any
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { got = recover() }()
				for _, err := range s.Events() {
					end(err)
				}
			})
			wg.Wait()
			if how == "panic" && got != any(mine) || how == "Goexit" && got != nil {
				t.Errorf("%s, %s: recovered %v", name, how, got)
			}
			if resp, err := s.Response(); resp != nil || llm.KindOf(err) != llm.ErrUnknown || !strings.Contains(err.Error(), "panicked") {
				t.Errorf("%s, %s: Response gives %+v, %v", name, how, resp, err)
			}
		}
	}
}

// A Generator that calls the sink after it returned must not reach a loop that is over.
func TestStreamAfterItsEnd(t *testing.T) {
	t.Parallel()
	var late llm.Sink
	g := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		late = sink
		return answer(llm.Text{Text: "a"}), sink(text("a"))
	})
	s := client(g).Stream(t.Context(), ask())
	if resp, err := s.Response(); err != nil || resp.Text() != "a" {
		t.Fatal(resp, err)
	}
	if err := late(text("b")); llm.KindOf(err) != llm.ErrCanceled {
		t.Errorf("got %v", err)
	}
}

func TestStreamWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, g := range []llm.Generator{fixed(nil, nil), llm.Detached(fixed(nil, nil))} {
		if _, err := client(g).Stream(t.Context(), ask()).Response(); llm.KindOf(err) != llm.ErrBadOutput {
			t.Errorf("got %v", err)
		}
	}
}

func TestNilStreamAndNilGenerator(t *testing.T) {
	t.Parallel()
	var s *llm.Stream
	if _, err := s.Response(); llm.KindOf(err) != llm.ErrInvalid {
		t.Errorf("Response: %v", err)
	}
	for _, err := range s.Text() {
		if llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("Text: %v", err)
		}
	}
	if _, err := llm.NewClient(llm.Detached(nil), nil).Generate(t.Context(), ask()); llm.KindOf(err) != llm.ErrInvalid {
		t.Errorf("Detached(nil): %v", err)
	}
}
