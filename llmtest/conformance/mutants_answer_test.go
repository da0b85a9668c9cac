package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// answering returns a mutant that changes its answers.
func changing(f func(m mode, r *llm.Response)) func([]llmtest.Step) llm.Generator {
	return around(func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			resp, err := g.Generate(ctx, req, sink)
			if err == nil {
				f(sink != nil, resp)
			}
			return resp, err
		}
	})
}

// editing returns a mutant that makes several events, or none, of each event of a stream.
func editing(f func(e llm.Event) []llm.Event) func([]llmtest.Step) llm.Generator {
	return around(func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			return g.Generate(ctx, req, edited(sink, f))
		}
	})
}

func edited(sink llm.Sink, f func(e llm.Event) []llm.Event) llm.Sink {
	if sink == nil {
		return nil
	}
	return func(e llm.Event) error {
		for _, e := range f(e) {
			if err := sink(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// eachCall changes the tool calls of r.
func eachCall(r *llm.Response, f func(i int, c *llm.ToolCall)) {
	for i, p := range r.Message.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			f(i, &c)
			r.Message.Parts[i] = c
		}
	}
}

func answerMutants() []mutant {
	return []mutant{
		{"unary_text", "trims the text of a unary answer", changing(func(m mode, r *llm.Response) {
			for i, p := range r.Message.Parts {
				if text, ok := p.(llm.Text); ok && m == unary {
					r.Message.Parts[i] = llm.Text{Text: strings.TrimSpace(text.Text)}
				}
			}
		})},
		{"response_author", "does not say who wrote the message", changing(func(_ mode, r *llm.Response) {
			r.Message.From = llm.ModelRef{}
		})},
		{"response_author", "does not say which model was asked", changing(func(_ mode, r *llm.Response) {
			r.Model, r.Message.From = llm.ModelRef{}, llm.ModelRef{}
		})},
		{"finish", "finishes tool calls with stop", changing(func(_ mode, r *llm.Response) {
			if r.Finish == llm.FinishToolCall {
				r.Finish = llm.FinishStop
			}
		})},
		{"finish", "finishes a cut answer with stop", changing(func(_ mode, r *llm.Response) {
			if r.Finish == llm.FinishLength {
				r.Finish = llm.FinishStop
			}
		})},
		{"finish_raw", "drops the provider's own finish", changing(func(_ mode, r *llm.Response) { r.RawFinish = "" })},
		{"usage", "does not say that usage was reported", changing(func(_ mode, r *llm.Response) { r.Usage.Reported = false })},
		{"usage", "counts the output as input", changing(func(_ mode, r *llm.Response) { r.Usage.Input += r.Usage.Output })},
		{"empty_answer", "takes an empty answer", around(takesEmpty)},
		{"empty_answer_length", "refuses every empty answer", around(refusesEmpty)},
		{"unicode", "ends events inside a character", editing(halves)},
		{"large_text", "takes pieces of 64 KB at most", editing64KB()},
		{"reasoning", "passes thoughts off as text", around(thinksAloud)},
	}
}

func takesEmpty(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, sink)
		if llm.KindOf(err) == llm.ErrBadOutput {
			return &llm.Response{}, nil
		}
		return resp, err
	}
}

func refusesEmpty(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, sink)
		if err == nil && len(resp.Message.Parts) == 0 {
			return nil, &llm.Error{Kind: llm.ErrBadOutput}
		}
		return resp, err
	}
}

// halves cuts an event at its first byte that is not ASCII and once more right behind that.
func halves(e llm.Event) []llm.Event {
	i := strings.IndexFunc(e.Delta, func(r rune) bool { return r > 127 })
	if i < 0 {
		return []llm.Event{e}
	}
	rest := e
	e.Delta, rest.Delta = e.Delta[:i+1], e.Delta[i+1:]
	return []llm.Event{e, rest}
}

func editing64KB() func([]llmtest.Step) llm.Generator {
	errTooLong := errors.New("token too long")
	return around(func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if sink == nil {
				return g.Generate(ctx, req, nil)
			}
			return g.Generate(ctx, req, func(e llm.Event) error {
				if len(e.Delta) > 64<<10 {
					return errTooLong
				}
				return sink(e)
			})
		}
	})
}

func thinksAloud(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, edited(sink, func(e llm.Event) []llm.Event {
			if e.Kind == llm.EventReasoning {
				e.Kind = llm.EventText
			}
			return []llm.Event{e}
		}))
		if err == nil {
			for i, p := range resp.Message.Parts {
				if thought, ok := p.(llm.Reasoning); ok {
					resp.Message.Parts[i] = llm.Text{Text: thought.Text}
				}
			}
		}
		return resp, err
	}
}

func toolMutants() []mutant {
	return []mutant{
		{"tool_call", "encodes the arguments of a lone call twice", changing(func(_ mode, r *llm.Response) {
			eachCall(r, func(_ int, c *llm.ToolCall) {
				if len(r.Message.Parts) == 1 && c.Arguments != "{}" {
					c.Arguments = asJSON(c.Arguments)
				}
			})
		})},
		{"tool_call_id", "gives tool calls ids of its own", around(ownIDs)},
		{"tool_call_no_arguments", "leaves empty arguments empty", changing(func(_ mode, r *llm.Response) {
			eachCall(r, func(_ int, c *llm.ToolCall) { c.Arguments = strings.TrimPrefix(c.Arguments, "{}") })
		})},
		{"tool_calls_parallel", "gives the third call the arguments of the second", changing(func(_ mode, r *llm.Response) {
			eachCall(r, func(i int, c *llm.ToolCall) {
				if before := r.Message.ToolCalls(); i == 2 && len(before) == 3 {
					c.Arguments = before[1].Arguments
				}
			})
		})},
		{"tool_calls_own_ids", "gives equal calls one id", changing(func(_ mode, r *llm.Response) {
			eachCall(r, func(_ int, c *llm.ToolCall) {
				for _, other := range r.Message.ToolCalls() {
					if other.Name == c.Name && other.Arguments == c.Arguments {
						c.ID = other.ID
						return
					}
				}
			})
		})},
		{"tool_calls_after_text", "drops the text in front of a call", changing(func(_ mode, r *llm.Response) {
			if len(r.Message.Parts) == 2 && len(r.Message.ToolCalls()) == 1 {
				r.Message.Parts = r.Message.Parts[1:]
			}
		})},
		{"parts_interleaved", "puts all texts in front of all calls", changing(func(_ mode, r *llm.Response) {
			slices.SortStableFunc(r.Message.Parts, func(a, b llm.Part) int {
				_, x := a.(llm.ToolCall)
				_, y := b.(llm.ToolCall)
				return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[y]
			})
		})},
		{"tool_call_events", "sends the id first and the name after it", editing(func(e llm.Event) []llm.Event {
			if e.Kind != llm.EventToolCall {
				return []llm.Event{e}
			}
			name := e
			e.Name, name.ID = "", ""
			return []llm.Event{e, name}
		})},
	}
}

func ownIDs(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	id := func(index int) string { return "own_" + string(rune('a'+index)) }
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, edited(sink, func(e llm.Event) []llm.Event {
			if e.Kind == llm.EventToolCall {
				e.ID = id(e.Index)
			}
			return []llm.Event{e}
		}))
		if err == nil {
			eachCall(resp, func(i int, c *llm.ToolCall) { c.ID = id(i) })
		}
		return resp, err
	}
}
