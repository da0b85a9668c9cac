package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// deaf is a Generator that sends what it has and then sleeps through every cancel.
func deaf(sleep time.Duration, events ...llm.Event) llm.GeneratorFunc {
	return func(_ context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		for _, e := range events {
			if sink != nil {
				_ = sink(e)
			}
		}
		time.Sleep(sleep)
		req.System = "changed by a worker that was left behind"
		clear(req.Metadata)
		return answer(llm.Text{Text: "late"}), nil
	}
}

func TestDetachedReturnsOnTime(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user went away")
	tests := []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		kind llm.Kind
		is   error
	}{
		{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(5*time.Second, cancel)
			return ctx, cancel
		}, llm.ErrCanceled, context.Canceled},
		{"cancel with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(5*time.Second, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}, llm.ErrCanceled, cause},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		}, llm.ErrDeadlineExceeded, context.DeadlineExceeded},
	}
	for _, tt := range tests {
		for _, sink := range []llm.Sink{nil, func(llm.Event) error { return nil }} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				req := request.Clone()
				began := time.Now()
				resp, err := llm.Detached(deaf(time.Hour, turn[:5]...)).Generate(ctx, req, sink)
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("%s: returned after %s", tt.name, took)
				}
				if llm.KindOf(err) != tt.kind || !errors.Is(err, tt.is) {
					t.Errorf("%s: %v", tt.name, err)
				}
				if want := map[bool]string{false: "It rains"}[sink == nil]; resp.Text() != want {
					t.Errorf("%s: partial %+v, want %q", tt.name, resp, want)
				}
				if resp != nil && len(resp.Message.ToolCalls()) != 0 {
					t.Errorf("%s: half a call in %+v", tt.name, resp)
				}
				time.Sleep(2 * time.Hour) // the worker ends; synctest fails if a goroutine is left
				if !reflect.DeepEqual(req, request.Clone()) {
					t.Errorf("%s: the worker changed the caller's request", tt.name)
				}
			})
		}
	}
}

func TestDetachedStartsNothingTooLate(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := atomic.Bool{}
	_, err := llm.Detached(llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
		called.Store(true)
		return answer(), nil
	})).Generate(ctx, ask(), nil)
	e, _ := errors.AsType[*llm.Error](err)
	if e == nil || e.Kind != llm.ErrCanceled || !e.NotSent || called.Load() {
		t.Errorf("got %v, called %v", err, called.Load())
	}
}

// At the deadline a result that is there is worth more than an error.
func TestDetachedPrefersAResult(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			entered := false
			resp, err := llm.Detached(llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
				return answer(llm.Text{Text: "there"}), sink(text("a"))
			})).Generate(ctx, ask(), func(llm.Event) error {
				entered = true
				time.Sleep(2 * time.Second) // the caller's own time; meanwhile the deadline passes
				return nil
			})
			if !entered || err == nil && resp.Text() != "there" || err != nil && llm.KindOf(err) != llm.ErrDeadlineExceeded {
				t.Errorf("got %+v, %v", resp, err)
			}
			if err != nil && resp.Text() != "a" {
				t.Errorf("partial %+v", resp)
			}
		})
	}
}

func goroutine() string {
	b := make([]byte, 64)
	return strings.Fields(string(b[:runtime.Stack(b, false)]))[1]
}

func TestDetachedEvents(t *testing.T) {
	t.Parallel()
	caller := goroutine()
	var worker string
	var got []llm.Event
	resp, err := llm.Detached(llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		worker = goroutine()
		return script(nil, turn...)(ctx, req, sink)
	})).Generate(t.Context(), ask(), func(e llm.Event) error {
		if goroutine() != caller {
			t.Error("an event came on another goroutine")
		}
		got = append(got, e)
		return nil
	})
	if err != nil || resp.Text() != "It rains." || !reflect.DeepEqual(got, turn) || worker == caller {
		t.Errorf("%+v, %v, %+v", resp, err, got)
	}
	if _, err := strconv.Atoi(worker); err != nil {
		t.Error(err)
	}
}

func TestDetachedSinkError(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	heard := make(chan error, 1)
	n := 0
	resp, err := llm.Detached(llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		for _, e := range turn {
			if err := sink(e); err != nil {
				heard <- err
				return nil, io.EOF // it hides the error
			}
		}
		return answer(), nil
	})).Generate(t.Context(), ask(), func(llm.Event) error {
		if n++; n == 3 {
			return mine
		}
		return nil
	})
	if err != mine || resp.Text() != "It " || n != 3 { //nolint:errorlint // as it was
		t.Errorf("%+v, %v after %d", resp, err, n)
	}
	if err := <-heard; err != mine && !errors.Is(err, context.Canceled) { //nolint:errorlint // one of the two
		t.Errorf("the generator heard %v", err)
	}
}

// What is no content never reaches the sink, and is no part of what it accepted.
func TestDetachedPassesContentOnly(t *testing.T) {
	t.Parallel()
	g := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		for _, e := range []llm.Event{
			{Kind: llm.EventDone, Response: answer(llm.Text{Text: "all of it"})},
			text(""), text("a"),
			{},
			{Kind: llm.EventDone, Response: answer(llm.Text{Text: "all of it"})},
			{Kind: llm.EventToolArguments, Index: 1},
		} {
			if err := sink(e); err != nil {
				t.Errorf("%+v is refused: %v", e, err)
			}
		}
		return nil, io.EOF
	})
	var got []llm.Event
	resp, err := llm.Detached(g).Generate(t.Context(), ask(), func(e llm.Event) error {
		got = append(got, e)
		return nil
	})
	if err != io.EOF || resp.Text() != "a" || len(got) != 1 { //nolint:errorlint // as it was
		t.Errorf("got %+v, %v after %+v", resp, err, got)
	}
}

// A worker that makes nothing of a refusal has not answered: its sink did not get all of it.
func TestDetachedWorkerThatIgnoresARefusal(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	stubborn := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		_ = sink(text("a"))
		time.Sleep(2 * time.Second)
		_ = sink(text("b"))
		return answer(llm.Text{Text: "ab"}), nil
	})
	quiet := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		_ = sink(text("a"))
		time.Sleep(2 * time.Second)
		_ = sink(text("")) // no content, so nothing is missed
		return answer(llm.Text{Text: "a"}), nil
	})
	tests := []struct {
		name string
		g    llm.Generator
		ends time.Duration // of the context
		slow time.Duration // the sink, at each event
		err  error         // of the sink, at the second event
		want []llm.Kind    // any of these
	}{
		{"the sink's own", stubborn, time.Hour, 0, mine, []llm.Kind{llm.ErrUnknown}},
		{"of a context that has ended", stubborn, 2 * time.Second, 0, nil, []llm.Kind{"", llm.ErrDeadlineExceeded}},
		{"the same, while the sink runs", stubborn, time.Second, 5 * time.Second, nil, []llm.Kind{llm.ErrDeadlineExceeded}},
		{"of nothing, while the sink runs", quiet, time.Second, 5 * time.Second, nil, []llm.Kind{""}},
	}
	for _, tt := range tests {
		for range 50 { // what happens at the same instant happens in any order
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				accepted := ""
				resp, err := llm.Detached(tt.g).Generate(ctx, ask(), func(e llm.Event) error {
					time.Sleep(tt.slow)
					if accepted != "" && tt.err != nil {
						return tt.err
					}
					accepted += e.Delta
					return nil
				})
				if kind := llm.KindOf(err); !slices.Contains(tt.want, kind) || resp.Text() != accepted || tt.err != nil && err != tt.err { //nolint:errorlint // as it was
					t.Errorf("%s: got %+v, %v; the sink has %q", tt.name, resp, err, accepted)
				}
				time.Sleep(time.Hour)
			})
		}
	}
}

func TestDetachedErrorHasPartial(t *testing.T) {
	t.Parallel()
	accept := func(llm.Event) error { return nil }
	forgets := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		_ = sink(text("a"))
		return nil, io.EOF
	})
	resp, err := llm.Detached(forgets).Generate(t.Context(), ask(), accept)
	if err != io.EOF || resp.Text() != "a" { //nolint:errorlint // as it was
		t.Errorf("got %+v, %v", resp, err)
	}
	claims := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		r := answer(llm.Text{Text: "a and more"})
		r.ID = "kept"
		return r, errors.Join(sink(text("a")), io.EOF)
	})
	resp, err = llm.Detached(claims).Generate(t.Context(), ask(), accept)
	if !errors.Is(err, io.EOF) || resp.Text() != "a" || resp.ID != "kept" {
		t.Errorf("got %+v, %v", resp, err)
	}
	resp, err = llm.Detached(script(io.EOF, turn...)).Generate(t.Context(), ask(), accept)
	if err != io.EOF || resp.Text() != "It rains." { //nolint:errorlint // as it was
		t.Errorf("got %+v, %v", resp, err)
	}
	resp, err = llm.Detached(fixed(answer(llm.Text{Text: "unary"}), io.EOF)).Generate(t.Context(), ask(), nil)
	if err != io.EOF || resp.Text() != "unary" { //nolint:errorlint // as it was
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestDetachedPanic(t *testing.T) {
	t.Parallel()
	panics := func(v any) llm.Generator {
		return llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { panic(v) })
	}
	for _, v := range []any{"words", io.EOF, 7, error(nil)} {
		func() {
			defer func() {
				err, ok := recover().(error)
				switch {
				case !ok:
					t.Errorf("%v: the panic is lost", v)
				case v != nil && !strings.Contains(err.Error(), fmt.Sprint(v)), !strings.Contains(err.Error(), "TestDetachedPanic"):
					t.Errorf("%v: %s does not say what and where", v, err)
				case v == any(io.EOF) && !errors.Is(err, io.EOF):
					t.Errorf("%v: the error is out of reach", v)
				}
			}()
			_, err := llm.Detached(panics(v)).Generate(t.Context(), ask(), nil)
			t.Errorf("%v: returned %v", v, err)
		}()
	}
}

func TestDetachedGoexit(t *testing.T) {
	t.Parallel()
	g := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		_ = sink(text("a"))
		exit(nil)
		return nil, nil
	})
	resp, err := llm.Detached(g).Generate(t.Context(), ask(), func(llm.Event) error { return nil })
	if llm.KindOf(err) != llm.ErrUnknown || !strings.Contains(err.Error(), "generator_exited") || resp.Text() != "a" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// After the end the sink gives an error, and nobody waits for anybody.
func TestDetachedAfterTheEnd(t *testing.T) {
	t.Parallel()
	ends := map[string]func(ctx context.Context, g llm.Generator){
		"cancel": func(ctx context.Context, g llm.Generator) {
			ctx, cancel := context.WithCancel(ctx)
			_, _ = g.Generate(ctx, ask(), func(llm.Event) error { cancel(); return nil })
		},
		"sink error": func(ctx context.Context, g llm.Generator) {
			_, _ = g.Generate(ctx, ask(), func(llm.Event) error { return io.EOF })
		},
		"sink panic": func(ctx context.Context, g llm.Generator) {
			defer func() { _ = recover() }()
			_, _ = g.Generate(ctx, ask(), func(llm.Event) error { panic("mine") })
		},
	}
	for name, end := range ends {
		synctest.Test(t, func(t *testing.T) {
			var wg sync.WaitGroup
			wg.Add(1)
			refused := 0
			end(t.Context(), llm.Detached(llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
				defer wg.Done()
				_ = sink(text("a"))
				time.Sleep(time.Minute)
				for range 100 {
					if sink(text("b")) != nil {
						refused++
					}
				}
				return answer(), nil
			})))
			wg.Wait()
			if refused != 100 {
				t.Errorf("%s: %d of 100 late events were refused", name, refused)
			}
		})
	}
	late := make(chan error)
	_, err := llm.Detached(llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		go func() { late <- sink(text("late")) }()
		return answer(), nil
	})).Generate(t.Context(), ask(), func(llm.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-late; err != nil && !errors.Is(err, context.Canceled) { // nil if it came before the result
		t.Errorf("got %v", err)
	}
}
