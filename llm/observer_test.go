package llm_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// hooks calls every hook of an Observer that is set, by reflection, so that a hook added later is covered.
func hooks(o *llm.Observer) {
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			continue
		}
		in := []reflect.Value{reflect.ValueOf(context.Background())}
		for j := 1; j < v.Field(i).Type().NumIn(); j++ {
			in = append(in, reflect.Zero(v.Field(i).Type().In(j)))
		}
		v.Field(i).Call(in)
	}
}

// recorder is an Observer whose hooks, those of the given fields, write name.field.
func recorder(name string, log *[]string, fields func(i int) bool) *llm.Observer {
	o := new(llm.Observer)
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		if !fields(i) {
			continue
		}
		field, typ := v.Type().Field(i).Name, v.Field(i).Type()
		v.Field(i).Set(reflect.MakeFunc(typ, func([]reflect.Value) (out []reflect.Value) {
			*log = append(*log, name+"."+field)
			for j := range typ.NumOut() {
				out = append(out, reflect.Zero(typ.Out(j)))
			}
			return out
		}))
	}
	return o
}

func TestObserversCompose(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[llm.Observer]()
	for mask := range 1 << (2 * typ.NumField()) {
		var log, want []string
		has := func(shift int) func(int) bool {
			return func(i int) bool { return mask>>(2*i+shift)&1 == 1 }
		}
		ctx := llm.WithObserver(t.Context(), recorder("a", &log, has(0)))
		hooks(llm.ObserverOf(llm.WithObserver(ctx, recorder("b", &log, has(1)))))
		for i := range typ.NumField() {
			for shift, name := range []string{"a", "b"} {
				if has(shift)(i) {
					want = append(want, name+"."+typ.Field(i).Name)
				}
			}
		}
		if !slices.Equal(log, want) {
			t.Fatalf("mask %b: %v, want %v", mask, log, want)
		}
	}
}

func TestWithObserver(t *testing.T) {
	t.Parallel()
	if llm.ObserverOf(t.Context()) != nil {
		t.Error("an observer out of nowhere")
	}
	if ctx := t.Context(); llm.WithObserver(ctx, nil) != ctx {
		t.Error("nil makes another context")
	}
	a := new(llm.Observer)
	ctx := llm.WithObserver(t.Context(), a)
	if llm.ObserverOf(ctx) != a {
		t.Error("one observer is not itself")
	}
	if llm.WithObserver(ctx, a) != ctx {
		t.Error("an observer is added twice")
	}
	var log []string
	all := func(int) bool { return true }
	abc := llm.WithObserver(llm.WithObserver(llm.WithObserver(ctx,
		recorder("a", &log, all)), recorder("b", &log, all)), recorder("c", &log, all))
	llm.ObserverOf(abc).FirstContent(abc)
	if got := strings.Join(log, " "); got != "a.FirstContent b.FirstContent c.FirstContent" {
		t.Errorf("got %s", got)
	}
}

type key string

func TestObserversOfAClient(t *testing.T) {
	t.Parallel()
	var log []string
	add := func(name string) *llm.Observer {
		return &llm.Observer{
			CallStart: func(ctx context.Context, req *llm.Request) context.Context {
				log = append(log, fmt.Sprint(name, ".start ", ctx.Value(key("who")), " ", req.Operation))
				return context.WithValue(ctx, key("who"), name)
			},
			CallEnd: func(ctx context.Context, resp *llm.Response, err error) {
				log = append(log, fmt.Sprint(name, ".end ", ctx.Value(key("who")), " ", resp.Text(), " ", llm.KindOf(err)))
			},
		}
	}
	forgetful := &llm.Observer{CallStart: func(context.Context, *llm.Request) context.Context { return nil }}
	g := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, _ llm.Sink) (*llm.Response, error) {
		log = append(log, fmt.Sprint("call ", ctx.Value(key("who"))))
		return answer(llm.Text{Text: "ok"}), nil
	})
	c := llm.NewClient(g, &llm.ClientOptions{Observers: []*llm.Observer{add("a"), nil, {}, forgetful, add("b")}})
	req := ask()
	req.Operation = "triage"
	if _, err := c.Generate(llm.WithObserver(t.Context(), add("ctx")), req); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ctx.start <nil> triage", "a.start ctx triage", "b.start a triage", "call b",
		"ctx.end b ok ", "a.end b ok ", "b.end b ok ",
	}
	if !slices.Equal(log, want) {
		t.Errorf("got %q\nwant %q", log, want)
	}
	log = nil
	if _, err := c.Generate(t.Context(), &llm.Request{Operation: "triage"}); llm.KindOf(err) != llm.ErrInvalid {
		t.Fatal(err)
	}
	want = []string{"a.start <nil> triage", "b.start a triage", "a.end b  invalid", "b.end b  invalid"}
	if !slices.Equal(log, want) {
		t.Errorf("an invalid request: %q\nwant %q", log, want)
	}
}

// A call inside a call, made with its context, is told of once: not twice by the same observer.
func TestObserverOfANestedCall(t *testing.T) {
	t.Parallel()
	starts := 0
	o := &llm.Observer{CallStart: func(ctx context.Context, _ *llm.Request) context.Context { starts++; return ctx }}
	other := &llm.Observer{CallStart: func(ctx context.Context, _ *llm.Request) context.Context { starts += 100; return ctx }}
	inner := llm.NewClient(script(nil, text("ok")), &llm.ClientOptions{Observers: []*llm.Observer{o, other}})
	outer := llm.NewClient(llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, _ llm.Sink) (*llm.Response, error) {
		return inner.Generate(ctx, req)
	}), &llm.ClientOptions{Observers: []*llm.Observer{o}})
	if _, err := outer.Generate(t.Context(), ask()); err != nil || starts != 102 {
		t.Errorf("%d, %v", starts, err)
	}
}

func TestCallEndSeesHowACallEnded(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	half := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if sink == nil {
			return nil, boom
		}
		return answer(llm.Text{Text: "a"}), sink(text("a"))
	})
	panics := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { panic(boom) })
	run := func(g llm.Generator, call func(*llm.Client)) (ends []string) {
		c := llm.NewClient(g, &llm.ClientOptions{Observers: []*llm.Observer{{
			CallEnd: func(_ context.Context, r *llm.Response, err error) {
				ends = append(ends, r.Text()+" "+string(llm.KindOf(err)))
			},
		}}})
		var wg sync.WaitGroup
		wg.Go(func() { // for Goexit
			defer func() { _ = recover() }() // only what the table raises
			call(c)
		})
		wg.Wait()
		return ends
	}
	generate := func(c *llm.Client) { _, _ = c.Generate(t.Context(), ask()) }
	tests := []struct {
		name string
		g    llm.Generator
		call func(*llm.Client)
		want string
	}{
		{"foreign error", half, generate, " unknown"},
		{"whole stream", half, func(c *llm.Client) { _, _ = c.Stream(t.Context(), ask()).Response() }, "a "},
		{"reader left", half, func(c *llm.Client) {
			c.Stream(t.Context(), ask()).Events()(func(llm.Event, error) bool { return false })
		}, "a canceled"},
		{"reader panicked", half, func(c *llm.Client) {
			for _, err := range c.Stream(t.Context(), ask()).Events() {
				panic(errors.Join(boom, err))
			}
		}, " unknown"},
		{"generator panicked", panics, generate, " unknown"},
		{"reader exited", half, func(c *llm.Client) {
			for _, err := range c.Stream(t.Context(), ask()).Events() {
				exit(err)
			}
		}, " unknown"},
	}
	for _, tt := range tests {
		if got := run(tt.g, tt.call); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %q, want %q once", tt.name, got, tt.want)
		}
	}
}
