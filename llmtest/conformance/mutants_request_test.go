package conformance

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// reading returns a mutant that looks at each request and may refuse it.
func reading(f func(req *llm.Request) error) func([]llmtest.Step) llm.Generator {
	return around(func(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
		return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			if err := f(req); err != nil {
				return nil, err
			}
			return g.Generate(ctx, req, sink)
		}
	})
}

func requestMutants() []mutant {
	return []mutant{
		{"request_unchanged", "sorts the stop words in place", reading(func(req *llm.Request) error {
			slices.Sort(req.Stop)
			return nil
		})},
		{"request_unchanged", "appends a message behind the end of the slice", reading(func(req *llm.Request) error {
			_ = append(req.Messages, llm.User("Answer in JSON."))
			return nil
		})},
		{"request_not_kept", "caches answers by the address of the request", around(cachesByAddress)},
		{"response_own", "hands the request's own bytes out", around(borrows)},
		{"response_fresh", "returns the same Response again", around(remembers)},
		{"concurrent", "can do one call at a time", around(oneAtATime)},
		{"empty_is_nil", "refuses tools that are empty", reading(func(req *llm.Request) error {
			if req.Tools != nil && len(req.Tools) == 0 {
				return llm.Invalid("tools", "is empty", "")
			}
			return nil
		})},
		{"extra_of_others", "refuses what is for another provider", reading(func(req *llm.Request) error {
			if len(req.Extra) > 0 {
				return llm.Unsupported("extra", "is unknown", "")
			}
			return nil
		})},
		{"history_of_others", "refuses parts that it does not know", reading(func(req *llm.Request) error {
			for _, m := range req.Messages {
				if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.Opaque); return ok }) {
					return llm.Unsupported("messages", "hold an unknown part", "")
				}
			}
			return nil
		})},
		{"tool_turn", "wants a user to have the last word", reading(func(req *llm.Request) error {
			if req.Messages[len(req.Messages)-1].Role != llm.RoleUser {
				return llm.Invalid("messages", "do not end with the user", "")
			}
			return nil
		})},
		{"goroutines", "leaves a goroutine that waits for the context", around(lingers)},
	}
}

func cachesByAddress(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	var texts sync.Map
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		if text, ok := texts.Load(req); ok && sink == nil {
			return llmtest.Text(text.(string)).Answer(), nil
		}
		resp, err := g.Generate(ctx, req, sink)
		if err == nil && sink == nil {
			texts.Store(req, resp.Text())
		}
		return resp, err
	}
}

func borrows(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, sink)
		if asked, ok := req.Messages[0].Parts[0].(llm.Text); ok && err == nil && len(resp.Message.Parts) > 0 {
			if text, ok := resp.Message.Parts[0].(llm.Text); ok {
				text.Signature = asked.Signature
				resp.Message.Parts[0] = text
			}
		}
		return resp, err
	}
}

func remembers(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	var answers sync.Map
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		resp, err := g.Generate(ctx, req, sink)
		if err != nil {
			return resp, err
		}
		known, _ := answers.LoadOrStore(outline(resp), resp)
		return known.(*llm.Response), nil
	}
}

func oneAtATime(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	var running atomic.Int64
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		defer running.Add(-1)
		if running.Add(1) > 1 {
			return nil, &llm.Error{Kind: llm.ErrUnavailable}
		}
		return g.Generate(ctx, req, sink)
	}
}

func lingers(g *llmtest.Fake, _ []llmtest.Step) llm.GeneratorFunc {
	return func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
		go func() { <-ctx.Done() }()
		return g.Generate(ctx, req, sink)
	}
}
