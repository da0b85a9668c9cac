package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

func exit(error) { runtime.Goexit() }

// fixed fails every call with the same error and response.
func fixed(resp *llm.Response, err error) llm.GeneratorFunc {
	return func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { return resp, err }
}

func TestClientThatCannotCall(t *testing.T) {
	t.Parallel()
	ok := client(script(nil, text("ok")))
	called := client(llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
		t.Error("the generator was called")
		return nil, nil
	}))
	hooked := llm.NewClient(script(nil), &llm.ClientOptions{Observers: []*llm.Observer{{
		CallStart: func(ctx context.Context, req *llm.Request) context.Context { _ = req.Operation; return ctx },
	}}})
	tests := []struct {
		name   string
		client *llm.Client
		ctx    context.Context
		req    *llm.Request
		field  string
	}{
		{"nil client", nil, t.Context(), ask(), "client"},
		{"zero client", &llm.Client{}, t.Context(), ask(), "client"},
		{"no generator", llm.NewClient(nil, nil), t.Context(), ask(), "client"},
		{"no generator, with middleware", llm.NewClient(nil, &llm.ClientOptions{Middleware: []func(llm.Generator) llm.Generator{
			func(g llm.Generator) llm.Generator { return llm.Detached(g) },
		}}), t.Context(), ask(), "client"},
		{"middleware that gives nothing", llm.NewClient(script(nil), &llm.ClientOptions{Middleware: []func(llm.Generator) llm.Generator{
			func(g llm.Generator) llm.Generator { return g }, func(llm.Generator) llm.Generator { return nil },
		}}), t.Context(), ask(), "client"},
		{"nil context", ok, nil, ask(), "ctx"},
		{"nil request", ok, t.Context(), nil, "request"},
		{"nil request, observed", hooked, t.Context(), nil, "request"},
		{"nothing at all", nil, nil, nil, "client"},
		{"invalid request", called, t.Context(), &llm.Request{}, "messages"},
	}
	for _, tt := range tests {
		check := func(how string, resp *llm.Response, err error) {
			f, ok := errors.AsType[*llm.FieldError](err)
			if resp != nil || llm.KindOf(err) != llm.ErrInvalid || !ok || f.Field != tt.field {
				t.Errorf("%s, %s: %v, %v, want the field %s", tt.name, how, resp, err, tt.field)
			}
		}
		resp, err := tt.client.Generate(tt.ctx, tt.req)
		check("Generate", resp, err)
		s := tt.client.Stream(tt.ctx, tt.req)
		n := 0
		for e, err := range s.Events() {
			n++
			check("Events", e.Response, err)
		}
		if n != 1 {
			t.Errorf("%s: %d events", tt.name, n)
		}
		resp, err = s.Response()
		check("Response", resp, err)
	}
	if _, err := new(llm.Stream).Response(); llm.KindOf(err) != llm.ErrInvalid {
		t.Errorf("zero Stream: %v", err)
	}
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	sdk := fmt.Errorf("sdk: %w", io.ErrUnexpectedEOF)
	guard := errors.New("guard")
	auth := &llm.Error{Kind: llm.ErrAuth, Operation: "own", Code: "c", Err: sdk}
	bare := &llm.Error{Kind: llm.ErrAuth}
	tests := []struct {
		name string
		resp *llm.Response
		err  error
		kind llm.Kind
		op   llm.Operation
		is   []error
		same bool // returned as it is
	}{
		{"no answer", nil, nil, llm.ErrBadOutput, "triage", nil, false},
		{"foreign", nil, sdk, llm.ErrUnknown, "triage", []error{io.ErrUnexpectedEOF}, false},
		{"kind", nil, llm.ErrRateLimited, llm.ErrRateLimited, "triage", nil, false},
		{"canceled", nil, context.Canceled, llm.ErrCanceled, "triage", []error{context.Canceled}, false},
		{"deadline", nil, fmt.Errorf("x: %w", context.DeadlineExceeded), llm.ErrDeadlineExceeded, "triage", []error{context.DeadlineExceeded}, false},
		{"ours", nil, auth, llm.ErrAuth, "own", []error{io.ErrUnexpectedEOF}, true},
		{"ours without an operation", nil, bare, llm.ErrAuth, "triage", nil, false},
		{"ours, wrapped by a middleware", nil, fmt.Errorf("%w: %w", guard, auth), llm.ErrAuth, "own", []error{guard, io.ErrUnexpectedEOF}, false},
		{"nil *Error", nil, (*llm.Error)(nil), llm.ErrUnknown, "triage", nil, false},
		{"wrapped nil *Error", nil, fmt.Errorf("%w: %w", guard, (*llm.Error)(nil)), llm.ErrUnknown, "triage", []error{guard}, false},
		{"answer beside an error", answer(llm.Text{Text: "a"}), sdk, llm.ErrUnknown, "triage", nil, false},
	}
	for _, tt := range tests {
		req := ask()
		req.Operation = "triage"
		resp, err := client(fixed(tt.resp, tt.err)).Generate(t.Context(), req)
		e, ok := err.(*llm.Error) //nolint:errorlint // the contract: the error is an *Error itself
		if resp != nil || !ok || e.Kind != tt.kind || e.Operation != tt.op {
			t.Errorf("%s: %v, %#v", tt.name, resp, err)
			continue
		}
		if same := err == tt.err; same != tt.same { //nolint:errorlint // the very same value
			t.Errorf("%s: returned as it is: %v", tt.name, !tt.same)
		}
		for _, target := range tt.is {
			if !errors.Is(err, target) {
				t.Errorf("%s: is not %v", tt.name, target)
			}
		}
		if tt.resp != nil && e.Partial.Text() != "a" {
			t.Errorf("%s: Partial %v", tt.name, e.Partial)
		}
	}
	if bare.Operation != "" || bare.Partial != nil || auth.Operation != "own" || auth.Err != sdk { //nolint:errorlint // unchanged
		t.Error("an error that was returned was changed")
	}
}

// One error value may be returned to many calls at once.
func TestSharedErrorIsNotChanged(t *testing.T) {
	t.Parallel()
	shared := &llm.Error{Kind: llm.ErrUnavailable}
	c := client(fixed(answer(llm.Text{Text: "part"}), shared))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			req := ask()
			req.Operation = llm.Operation(fmt.Sprint("op", i))
			_, err := c.Stream(t.Context(), req).Response()
			if e := err.(*llm.Error); e.Operation != req.Operation || e.Partial.Text() != "part" { //nolint:errorlint,forcetypeassert // see the contract
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if shared.Operation != "" || shared.Partial != nil || shared.Err != nil {
		t.Errorf("the shared error is now %+v", shared)
	}
}

// Nobody may run half a call, so what a generator returns beside its error is looked through.
func TestPartialHoldsNoOpenCalls(t *testing.T) {
	t.Parallel()
	whole := llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}
	half := llm.ToolCall{ID: "2", Name: "f", Arguments: `{"a`}
	tests := []struct {
		name string
		resp *llm.Response
		want llm.Parts
	}{
		{"nothing", nil, nil},
		{"no part", answer(), nil},
		{"half a call", answer(half), nil},
		{"a call without arguments", answer(llm.ToolCall{ID: "1"}), nil},
		{"text and half a call", answer(llm.Text{Text: "a"}, half, whole), llm.Parts{llm.Text{Text: "a"}, whole}},
	}
	for _, tt := range tests {
		before := mustJSON(t, tt.resp)
		_, err := client(fixed(tt.resp, io.EOF)).Generate(t.Context(), ask())
		e, _ := errors.AsType[*llm.Error](err)
		if (e.Partial == nil) != (tt.want == nil) || e.Partial != nil && !reflect.DeepEqual(e.Partial.Message.Parts, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, e.Partial, tt.want)
		}
		if after := mustJSON(t, tt.resp); after != before {
			t.Errorf("%s: the response was changed: %s", tt.name, after)
		}
	}
	own := answer(llm.Text{Text: "own"})
	_, err := client(fixed(answer(llm.Text{Text: "other"}), &llm.Error{Kind: llm.ErrAuth, Partial: own})).Generate(t.Context(), ask())
	if e, _ := errors.AsType[*llm.Error](err); e.Partial != own {
		t.Errorf("the error's own Partial was replaced: %+v", e.Partial)
	}
}

func TestMiddlewareOrder(t *testing.T) {
	t.Parallel()
	var log []string
	layer := func(name string) func(llm.Generator) llm.Generator {
		return func(next llm.Generator) llm.Generator {
			return llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
				log = append(log, name)
				defer func() { log = append(log, "/"+name) }()
				return next.Generate(ctx, req, sink)
			})
		}
	}
	c := llm.NewClient(llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
		log = append(log, "call")
		return answer(), nil
	}), &llm.ClientOptions{Middleware: []func(llm.Generator) llm.Generator{layer("a"), nil, layer("b")}})
	for range 2 {
		log = nil
		if _, err := c.Generate(t.Context(), ask()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(log, " "); got != "a b call /b /a" {
			t.Errorf("got %s", got)
		}
	}
}

// One Client and one Request, many goroutines: the race detector is the judge.
func TestClientIsConcurrent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := 0
	c := llm.NewClient(llm.Detached(script(nil, text("a"), text("b"))), &llm.ClientOptions{
		Observers: []*llm.Observer{{CallEnd: func(context.Context, *llm.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			calls++
		}}},
		Middleware: []func(llm.Generator) llm.Generator{func(g llm.Generator) llm.Generator { return g }},
	})
	req := request.Clone()
	req.Messages, req.Thinking = []llm.Message{llm.User("hi")}, llm.Thinking{}
	ctx := llm.WithObserver(t.Context(), new(llm.Observer))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var resp *llm.Response
			var err error
			if i%2 == 0 {
				resp, err = c.Generate(ctx, req)
			} else {
				resp, err = c.Stream(ctx, req).Response()
			}
			if err != nil || resp.Text() != "ab" {
				t.Errorf("got %v, %v", resp, err)
			}
			if resp != nil {
				resp.Message.Parts = nil // the response is the caller's
			}
		})
	}
	wg.Wait()
	if calls != 50 {
		t.Errorf("%d calls", calls)
	}
}
