package llm_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

func begin(index int, id, name string) llm.Event {
	return llm.Event{Kind: llm.EventToolCall, Index: index, ID: id, Name: name}
}

func args(index int, delta string) llm.Event {
	return llm.Event{Kind: llm.EventToolArguments, Index: index, Delta: delta}
}

func at(index int, delta string) llm.Event {
	return llm.Event{Kind: llm.EventText, Index: index, Delta: delta}
}

func thought(index int, delta string) llm.Event {
	return llm.Event{Kind: llm.EventReasoning, Index: index, Delta: delta}
}

func TestAccumulator(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		events  []llm.Event
		want    llm.Parts
		partial llm.Parts // nil: as want
	}{
		{"nothing", nil, nil, nil},
		{"text", []llm.Event{at(0, "a"), at(0, "b")}, llm.Parts{llm.Text{Text: "ab"}}, nil},
		{"a rune in two pieces", []llm.Event{at(0, "\xf0\x9f"), at(0, "\x99\x82")}, llm.Parts{llm.Text{Text: "🙂"}}, nil},
		{"reasoning, then text", []llm.Event{thought(0, "hm"), at(1, "a")}, llm.Parts{llm.Reasoning{Text: "hm"}, llm.Text{Text: "a"}}, nil},
		{"back to the first", []llm.Event{at(0, "a"), begin(1, "1", "f"), at(0, "b"), args(1, "{}"), at(0, "c")}, llm.Parts{llm.Text{Text: "abc"}, llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, nil},
		{"calls interleaved", []llm.Event{
			begin(0, "1", "f"), begin(1, "2", "g"), args(0, `{"a"`), args(1, `{"b"`), args(0, `:1}`), args(1, `:2}`),
		}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`}, llm.ToolCall{ID: "2", Name: "g", Arguments: `{"b":2}`}}, nil},
		{"many parts, all still growing", func() (events []llm.Event) {
			for range 2 {
				for i := range 40 {
					events = append(events, at(i, "x"))
				}
			}
			return events
		}(), func() (parts llm.Parts) {
			for range 40 {
				parts = append(parts, llm.Text{Text: "xx"})
			}
			return parts
		}(), nil},
		{"gaps and disorder", []llm.Event{at(7, "c"), at(2, "b"), at(0, "a")}, llm.Parts{llm.Text{Text: "a"}, llm.Text{Text: "b"}, llm.Text{Text: "c"}}, nil},
		{"strange indices", []llm.Event{at(math.MaxInt, "c"), at(0, "b"), at(math.MinInt, "a")}, llm.Parts{llm.Text{Text: "a"}, llm.Text{Text: "b"}, llm.Text{Text: "c"}}, nil},
		{"arguments before the call", []llm.Event{args(0, `{"a":1}`), begin(0, "1", "f")}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`}}, nil},
		{"arguments with the call", []llm.Event{{Kind: llm.EventToolCall, ID: "1", Name: "f", Delta: "{}"}}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, nil},
		{"the name later", []llm.Event{begin(0, "1", ""), begin(0, "", "f"), args(0, "{}")}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, nil},
		{"no arguments", []llm.Event{begin(0, "1", "f")}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, llm.Parts{}},
		{"blank arguments", []llm.Event{begin(0, "1", "f"), args(0, " \n")}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, nil},
		{"cut arguments", []llm.Event{at(0, "a"), begin(1, "1", "f"), args(1, `{"a`)}, llm.Parts{llm.Text{Text: "a"}, llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a`}}, llm.Parts{llm.Text{Text: "a"}}},
		{"arguments of a list", []llm.Event{begin(0, "1", "f"), args(0, `[1]`)}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `[1]`}}, llm.Parts{}},
		{"one call of two had ended", []llm.Event{begin(0, "1", "f"), args(0, `{}`), begin(1, "2", "g"), args(1, `{`)}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `{}`}, llm.ToolCall{ID: "2", Name: "g", Arguments: `{`}}, llm.Parts{llm.ToolCall{ID: "1", Name: "f", Arguments: `{}`}}},
		{"two kinds at one index", []llm.Event{
			begin(1, "1", "f"), at(1, "a"), args(1, `{"x":1}`), thought(1, "hm"), at(1, "b"), at(0, "first"),
		}, llm.Parts{llm.Text{Text: "first"}, llm.ToolCall{ID: "1", Name: "f", Arguments: `{"x":1}`}, llm.Text{Text: "ab"}, llm.Reasoning{Text: "hm"}}, nil},
		{"nothing of nothing", []llm.Event{at(0, ""), thought(1, ""), args(2, ""), {Kind: "later", Delta: "x"}, {}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var a llm.Accumulator
			for _, e := range tt.events {
				a.Add(e)
			}
			want := answer(tt.want...)
			want.Finish = ""
			if got := a.Response(); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if tt.partial == nil {
				tt.partial = tt.want
			}
			got := a.Partial()
			switch {
			case len(tt.partial) == 0 && got != nil:
				t.Errorf("partial: got %+v, want nil", got)
			case len(tt.partial) != 0 && (got == nil || !reflect.DeepEqual(got.Message.Parts, tt.partial)):
				t.Errorf("partial: got %+v, want %+v", got, tt.partial)
			}
		})
	}
}

func TestAccumulatorPut(t *testing.T) {
	t.Parallel()
	var a llm.Accumulator
	a.Add(thought(0, "hm"))
	a.Put(0, llm.Reasoning{Signature: []byte{1}}) // keeps the deltas
	a.Add(at(1, "deltas"))
	a.Put(1, llm.Text{Text: "whole", Signature: []byte{2}}) // replaces them
	a.Put(2, llm.Media{MediaType: "image/png", Data: []byte{3}})
	a.Put(2, llm.Opaque{Type: "x", Data: []byte(`{"n":1}`)}) // a later Put replaces an earlier one
	a.Add(begin(3, "1", "f"))
	a.Add(args(3, `{"a":1}`))
	a.Put(3, llm.ToolCall{Signature: []byte{4}})
	a.Put(4, llm.ToolCall{ID: "2", Name: "g"}) // whole, without arguments
	a.Put(5, llm.Text{})
	a.Put(6, llm.Reasoning{})
	a.Put(7, nil)
	a.Put(8, llm.Text{Signature: []byte{5}}) // a signature alone is content
	a.Put(9, llm.CachePoint{})
	want := llm.Parts{
		llm.Reasoning{Text: "hm", Signature: []byte{1}},
		llm.Text{Text: "whole", Signature: []byte{2}},
		llm.Opaque{Type: "x", Data: []byte(`{"n":1}`)},
		llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`, Signature: []byte{4}},
		llm.ToolCall{ID: "2", Name: "g", Arguments: "{}"},
		llm.Text{Signature: []byte{5}},
		llm.CachePoint{},
	}
	if got := a.Response().Message.Parts; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := a.Partial().Message.Parts; !reflect.DeepEqual(got, want) {
		t.Errorf("partial: got %+v\nwant %+v", got, want)
	}
	a.Add(at(1, " and more"))
	if got := a.Response().Text(); got != "whole" {
		t.Errorf("got %q", got)
	}
}

func TestAccumulatorDone(t *testing.T) {
	t.Parallel()
	done := response
	done.Message.Parts = llm.Parts{llm.Text{Text: "all", Signature: []byte{1}}}
	var a llm.Accumulator
	a.Add(at(0, "some"))
	a.Add(llm.Event{Kind: llm.EventDone}) // without an answer it says nothing
	if got := a.Response().Text(); got != "some" {
		t.Errorf("got %q", got)
	}
	a.Add(llm.Event{Kind: llm.EventDone, Response: &done})
	a.Add(at(0, " more"))
	for what, got := range map[string]*llm.Response{"Response": a.Response(), "Partial": a.Partial()} {
		if !reflect.DeepEqual(got, &done) {
			t.Errorf("%s: %+v", what, got)
		}
		compareApart(t, what, reflect.ValueOf(&done).Elem(), reflect.ValueOf(got).Elem())
	}
}

// What a consumer does with the Response of an event is his own business.
func TestAccumulatorKeepsDone(t *testing.T) {
	t.Parallel()
	r := answer(llm.Text{Text: "all"})
	var a llm.Accumulator
	a.Add(llm.Event{Kind: llm.EventDone, Response: r})
	r.Message.Parts[0], r.ID = llm.Text{Text: "changed"}, "changed"
	if got := a.Response(); got.Text() != "all" || got.ID != "" {
		t.Errorf("got %+v", got)
	}
}

// What comes out shares nothing with what went in, nor with what comes out next.
func TestAccumulatorSharesNothing(t *testing.T) {
	t.Parallel()
	done := response
	for what, feed := range map[string]func(*llm.Accumulator){
		"folded": func(a *llm.Accumulator) {
			for i, p := range allParts {
				a.Put(i, p)
			}
			a.Add(at(20, "a"))
			a.Add(begin(21, "1", "f"))
		},
		"done": func(a *llm.Accumulator) { a.Add(llm.Event{Kind: llm.EventDone, Response: &done}) },
	} {
		var a llm.Accumulator
		feed(&a)
		first := a.Response()
		before := mustJSON(t, first)
		compareApart(t, what, reflect.ValueOf(first).Elem(), reflect.ValueOf(a.Response()).Elem())
		scramble(reflect.ValueOf(first))
		a.Add(at(22, "more"))
		if got := mustJSON(t, a.Response()); !strings.HasPrefix(got, strings.TrimSuffix(before, "]}}")) {
			t.Errorf("%s: %s, want %s at its beginning", what, got, before)
		}
	}
	if got := mustJSON(t, allParts); got != mustJSON(t, response.Message.Parts) || strings.Contains(got, "scrambled") {
		t.Errorf("the parts that were put have changed: %s", got)
	}
}
