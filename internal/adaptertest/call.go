package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Patience bounds every call that should end by itself.
const Patience = 10 * time.Second

// Hello is a short request.
func Hello() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("hello")}} }

// Unary makes one call without a sink.
func Unary(tb testing.TB, g llm.Generator, req *llm.Request) (*llm.Response, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	defer cancel()
	return g.Generate(ctx, req, nil)
}

// Stream makes one call with a sink that accepts everything.
func Stream(tb testing.TB, g llm.Generator, req *llm.Request) ([]llm.Event, *llm.Response, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	defer cancel()
	var got []llm.Event
	resp, err := g.Generate(ctx, req, func(e llm.Event) error { got = append(got, e); return nil })
	return got, resp, err
}

// Answered makes one call without a sink that must be answered.
func Answered(t *testing.T, g llm.Generator) *llm.Response {
	t.Helper()
	resp, err := Unary(t, g, Hello())
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return resp
}

// Streamed makes one call with a sink that must be answered.
func Streamed(t *testing.T, g llm.Generator) ([]llm.Event, *llm.Response) {
	t.Helper()
	got, resp, err := Stream(t, g, Hello())
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return got, resp
}

// Keep fails the test if a provider was not made, and closes its connections at the end of the test.
func Keep[P io.Closer](tb testing.TB) func(P, error) P {
	tb.Helper()
	return func(p P, err error) P {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = p.Close() })
		return p
	}
}

// Failed checks the kind of an error and returns it.
func Failed(t *testing.T, err error, kind llm.Kind) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("want %s, got %T: %+v", kind, err, err)
	}
	return e
}

// BadField checks that an error is about one field, and quotes nothing of what must not be seen.
func BadField(t *testing.T, err error, kind llm.Kind, field string, secrets ...string) {
	t.Helper()
	e := Failed(t, err, kind)
	f, ok := errors.AsType[*llm.FieldError](err)
	if !ok || f.Field != field || f.Problem == "" || f.Next == "" || !e.NotSent {
		t.Fatalf("want field %s with a next step, got %+v", field, err)
	}
	for _, s := range secrets {
		if strings.Contains(fmt.Sprintf("%+v", err), s) {
			t.Errorf("the error gives away %q: %+v", s, err)
		}
	}
}

// Canary is in every secret of these tests.
const Canary = "CANARY"

// Silent looks for the canary in all that may be logged of an error.
func Silent(t *testing.T, name string, err error) {
	t.Helper()
	e, isOurs := err.(*llm.Error) //nolint:errorlint // the contract says so
	if !isOurs {
		t.Fatalf("%s: %v", name, err)
	}
	asJSON, _ := json.Marshal(e)
	partial, _ := json.Marshal(e.Partial)
	for _, text := range []string{
		e.Error(), fmt.Sprintf("%+v", e), string(asJSON), string(partial), e.Message, e.Code, e.RequestID, fmt.Sprint(e.Filtered),
		fmt.Sprintf("%v %+v %#v %d", e.Err, e.Err, e.Err, e.Err),
	} {
		if strings.Contains(text, Canary) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
