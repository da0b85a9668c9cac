package fallback_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// TestTooLongGoesToALargerWindowOnly: what a large window cannot hold, a small one cannot either.
func TestTooLongGoesToALargerWindowOnly(t *testing.T) {
	t.Parallel()
	window := func(tokens int, t fallback.Target) fallback.Target { t.Can.ContextWindow = tokens; return t }
	tooLong := fail(llm.ErrContextTooLong)
	c := chain(t,
		window(128_000, target("a", tooLong)), window(4_000, target("small", llmtest.Text("no"))),
		window(128_000, target("same", llmtest.Text("no"))), window(1_000_000, target("large", llmtest.Text("ok"))))
	resp, err := c.Generate(t.Context(), triage(), nil)
	if err != nil || resp.Target != "large" || skips(resp.Skipped) != "small:unsupported same:unsupported" {
		t.Errorf("%+v, %v", resp, err)
	}
	c = chain(t, target("a", tooLong), target("b", llmtest.Text("ok"))) // nothing is known: everything is tried
	if resp, err = c.Generate(t.Context(), triage(), nil); err != nil || resp.Target != "b" {
		t.Errorf("%+v, %v", resp, err)
	}
}

func pooled(name, pool string, weight int, steps ...llmtest.Step) fallback.Target {
	one := target(name, steps...)
	one.Pool, one.Weight = pool, weight
	return one
}

// TestPool: targets of a pool are one position, drawn by weight; the rest of the pool is next.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		down := fail(llm.ErrContextTooLong) // says nothing of the target
		c := planned(t, plan, target("first", down), pooled("x", "p", 1, down), target("last", down), pooled("y", "p", 3, down), pooled("z", "p", 0, down))
		const calls = 5000
		firsts := map[string]int{}
		for range calls {
			_, err := c.Generate(t.Context(), triage(), nil)
			attempts := attemptsOf(nil, err)
			if len(attempts) != 5 || attempts[0].Target != "first" || attempts[4].Target != "last" {
				t.Fatalf("the pool is not one position: %s", trail(attempts))
			}
			firsts[attempts[1].Target]++
		}
		for name, weight := range map[string]float64{"x": 1, "y": 3, "z": 1} {
			expected := calls * weight / 5
			if got := float64(firsts[name]); math.Abs(got-expected) > 5*math.Sqrt(expected) {
				t.Errorf("%s came first in %v of %d calls, want about %v", name, got, calls, expected)
			}
		}
	})
}

// TestPoolSession: calls of one session draw the same order, in every process; sessions spread by weight.
func TestPoolSession(t *testing.T) {
	t.Parallel()
	pool := []fallback.Target{pooled("x", "p", 1, llmtest.Text("ok")), pooled("y", "p", 1, llmtest.Text("ok")), pooled("z", "p", 2, llmtest.Text("ok"))}
	one, other := chain(t, pool...), chain(t, pool...)
	firsts := map[string]int{}
	for i := range 400 {
		req := triage()
		req.Session = fmt.Sprint("session-", i)
		var seen []string
		for _, c := range []*fallback.Chain{one, one, other} {
			resp, err := c.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, resp.Target)
		}
		if seen[0] != seen[1] || seen[0] != seen[2] {
			t.Fatalf("%s went to %q", req.Session, seen)
		}
		firsts[seen[0]]++
	}
	if firsts["x"] < 60 || firsts["y"] < 60 || firsts["z"] < 140 {
		t.Errorf("400 sessions went to %v", firsts)
	}
}

// TestPoolOfWhoIsLeft: the draw is among the targets that can be asked at all, and Route.Only is not drawn.
func TestPoolOfWhoIsLeft(t *testing.T) {
	t.Parallel()
	cannot := lacking(pooled("x", "p", 1000, llmtest.Text("x")), "seed")
	c := chain(t, cannot, pooled("y", "p", 1, llmtest.Text("y")), target("z", llmtest.Text("z")))
	for range 20 {
		req := triage()
		req.Seed = new(int64(1))
		if resp, err := c.Generate(t.Context(), req, nil); err != nil || resp.Target != "y" {
			t.Fatalf("%+v, %v", resp, err)
		}
		req = triage()
		req.Route.Only = []string{"y", "x"}
		if resp, err := c.Generate(t.Context(), req, nil); err != nil || resp.Target != "y" {
			t.Fatalf("Route.Only in another order: %+v, %v", resp, err)
		}
		req = triage()
		req.Route.Prefer = "z"
		if resp, err := c.Generate(t.Context(), req, nil); err != nil || resp.Target != "z" {
			t.Fatalf("Route.Prefer before the pool: %+v, %v", resp, err)
		}
	}
}

// TestRouteThatIsWrong names the field and what there is.
func TestRouteThatIsWrong(t *testing.T) {
	t.Parallel()
	one := target("a", llmtest.Text("no"))
	c := chain(t, one, target("b"))
	tests := []struct {
		route llm.Route
		kind  llm.Kind
		field string
	}{
		{llm.Route{Only: []string{"a", "z"}}, llm.ErrInvalid, "route.only[1]"},
		{llm.Route{Only: []string{"a", "b", "a"}}, llm.ErrInvalid, "route.only[2]"},
		{llm.Route{Prefer: "z"}, llm.ErrInvalid, "route.prefer"},
		{llm.Route{Tags: []string{"eu"}}, llm.ErrUnsupported, "route.tags"},
	}
	for _, tt := range tests {
		req := triage()
		req.Route = tt.route
		_, err := c.Generate(t.Context(), req, nil)
		f := &llm.FieldError{}
		if llm.KindOf(err) != tt.kind || !errors.As(err, &f) || f.Field != tt.field || f.Next == "" {
			t.Errorf("%+v: %v", tt.route, err)
		}
		if e, ok := errors.AsType[*llm.Error](err); ok && (!e.NotSent || e.Operation != llm.Triage) {
			t.Errorf("%+v: %+v", tt.route, e)
		}
	}
	if asked(one) != 0 {
		t.Error("a request was sent")
	}
}

// TestRouteTagsAndOnly: both hold.
func TestRouteTagsAndOnly(t *testing.T) {
	t.Parallel()
	c := chain(t, tagged(target("a"), "eu"), tagged(target("b"), "eu", "fast"), tagged(target("c"), "eu", "fast"))
	req := triage()
	req.Route = llm.Route{Only: []string{"a", "c"}, Tags: []string{"fast", "eu"}}
	resp, err := c.Generate(t.Context(), req, nil)
	if err != nil || resp.Target != "c" || skips(resp.Skipped) != "a:route" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestLacking: each word of Capabilities.Lacks, and the request that needs it.
func TestLacking(t *testing.T) {
	t.Parallel()
	media := func(mediaType string) func(*llm.Request) {
		return func(r *llm.Request) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Media{MediaType: mediaType, Data: []byte("x")})
		}
	}
	tool := llm.Tool{Name: "weather", Parameters: []byte(`{"type":"object"}`)}
	tests := []struct {
		lacks  string
		name   string
		req    func(*llm.Request)
		passes bool
	}{
		{"tools", "a tool", func(r *llm.Request) { r.Tools = []llm.Tool{tool} }, false},
		{"tool_choice", "a forced tool", func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.Tool{tool}, llm.ToolRequired }, false},
		{"tool_choice", "a free choice", func(r *llm.Request) { r.Tools = []llm.Tool{tool} }, true},
		{"json_schema", "a schema", func(r *llm.Request) { r.Output = &llm.Schema{JSON: []byte(`{"type":"object"}`)} }, false},
		{"json_schema", "any object", func(r *llm.Request) { r.Output = &llm.Schema{} }, true},
		{"thinking", "effort", func(r *llm.Request) { r.Thinking.Effort = "low" }, false},
		{"thinking", "a limit of thinking", func(r *llm.Request) { r.Thinking.MaxTokens = 100 }, false},
		{"thinking", "no thinking, said aloud", func(r *llm.Request) { r.Thinking.Effort = "none" }, true},
		{"seed", "a seed", func(r *llm.Request) { r.Seed = new(int64(0)) }, false},
		{"stop", "a stop word", func(r *llm.Request) { r.Stop = []string{"."} }, false},
		{"image", "an image", media("image/png"), false},
		{"audio", "a sound", media("audio/wav"), false},
		{"video", "a film", media("video/mp4"), false},
		{"document", "a document", media("application/pdf"), false},
		{"document", "an image is none", media("image/png"), true},
		{"image", "a document is none", media("application/pdf"), true},
		{"cache", "a hint", func(r *llm.Request) { r.CachePrefix = true }, true},
		{"parallel_tools", "a hint, too", func(r *llm.Request) { r.Tools = []llm.Tool{tool} }, true},
		{"stream", "a unary call", func(*llm.Request) {}, true},
	}
	for _, tt := range tests {
		t.Run(tt.lacks+", "+tt.name, func(t *testing.T) {
			t.Parallel()
			req := triage()
			tt.req(req)
			first := "b"
			if tt.passes {
				first = "a"
			}
			answer := llmtest.Text("{}")
			resp, err := chain(t, lacking(target("a", answer), tt.lacks), target("b", answer)).Generate(t.Context(), req, nil)
			if err != nil || resp.Target != first {
				t.Errorf("%+v, %v", resp, err)
			}
			if _, err := chain(t, lacking(target("a", answer), tt.lacks)).Generate(t.Context(), req, nil); tt.passes != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.lacks) {
				t.Errorf("alone: %v", err)
			}
		})
	}
	resp, err := chain(t, lacking(target("a"), "stream"), target("b")).Generate(t.Context(), triage(), func(llm.Event) error { return nil })
	if err != nil || resp.Target != "b" {
		t.Errorf("a stream: %+v, %v", resp, err)
	}
}

// TestATargetWithoutAModelIsFoundAgain: the chain learns who answers, and the next turn goes to him.
func TestATargetWithoutAModelIsFoundAgain(t *testing.T) {
	t.Parallel()
	second := llmtest.New(llmtest.Respond(&llm.Response{
		Model:   llm.ModelRef{Provider: "fake", Model: "second"},
		Message: llm.Message{Role: llm.RoleAssistant, From: llm.ModelRef{Provider: "fake", Model: "second"}, Parts: llm.Parts{llm.Text{Text: "mine"}}},
	}))
	client := llm.NewClient(chain(t,
		fallback.Target{Name: "a", Generator: llmtest.New(fail(llm.ErrInvalid), llmtest.Text("ok")), Prompt: true},
		fallback.Target{Name: "b", Generator: second, Prompt: true},
	), nil)
	req := triage()
	req.Route.Only = []string{"b"}
	resp, err := client.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	next := triage()
	next.Messages = append(next.Messages, resp.Message, llm.User("and now?"))
	if resp, err = client.Generate(t.Context(), next); err != nil || resp.Target != "b" {
		t.Errorf("the next turn: %v, %v, want it at b", resp, err)
	}
}

// TestTheWindowIsEstimatedFromAllTexts: tool calls and their results fill it, too.
func TestTheWindowIsEstimatedFromAllTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1000)
	for name, parts := range map[string]llm.Parts{
		"a text":        {llm.Text{Text: long}},
		"a tool call":   {llm.ToolCall{ID: "1", Name: "f", Arguments: `"` + long + `"`}},
		"a tool result": {llm.ToolResult{CallID: "1", Parts: llm.Parts{llm.Text{Text: long}}}},
	} {
		small := target("small")
		small.Can.ContextWindow = 500
		req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
		resp, err := chain(t, small, target("b")).Generate(t.Context(), req, nil)
		if err != nil || resp.Target != "b" {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
	small := target("small")
	small.Can.ContextWindow = 500
	image := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{llm.Media{MediaType: "image/png", Data: make([]byte, 1<<20)}}}}}
	if resp, err := chain(t, small, target("b")).Generate(t.Context(), image, nil); err != nil || resp.Target != "small" {
		t.Errorf("what an image comes to depends on the model: %+v, %v", resp, err)
	}
}
