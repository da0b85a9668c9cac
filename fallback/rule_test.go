package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// The tests named after the rules of a call stand in their order: 1 to 4 in limits_test.go, 5 to 7 in retry_test.go, and
// the others here. docs/design.md has the reasons.

// TestRule8LastResort: see resort_test.go for the rest.
func TestRule8LastResort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		trip(t, set, "b")
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, Breakers: set}, target("a", llmtest.Text("ok")), target("b", llmtest.Text("b")))
		want(t, "all open", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		if st := set.Status("a"); st.State != breaker.Open {
			t.Errorf("a call without a permit has moved the breaker to %s", st.State)
		}
		one := opened(t, &fallback.Options{Plans: policy.Plans{Default: exact()}, Breakers: set}, target("a", llmtest.Text("ok")))
		want(t, "a plan with one target has none", ask(t.Context(), one, triage()), outcome{kind: llm.ErrCircuitOpen, stopped: llm.StopTargets, skipped: "a:open"})
	})
}

// TestRule9OneCallIsOneWitness: its retries are neutral, so a poison request opens nothing.
func TestRule9OneCallIsOneWitness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable)), target("b", fail(llm.ErrUnavailable)), target("c", fail(llm.ErrUnavailable)))
		for call := 1; call <= 3; call++ {
			o := ask(t.Context(), c, triage())
			if o.kind != llm.ErrUnavailable || call < 3 && strings.Count(o.trail, "unavailable") != 12 {
				t.Errorf("call %d: %v", call, o)
			}
			for _, st := range c.Status() {
				state := breaker.Closed
				if call == 3 {
					state = breaker.Open
				}
				if st.Score != float64(call) || st.State != state {
					t.Errorf("after %d poisoned calls %s has a score of %v and is %s", call, st.Target, st.Score, st.State)
				}
			}
		}
	})
}

// TestRule9ASuccessIsHeard: a call that failed and then succeeded on the same target leaves it in good health.
func TestRule9ASuccessIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable).Times(3), llmtest.Text("ok")))
		want(t, "the fourth try", ask(t.Context(), c, triage()), outcome{
			text: "ok", trail: "a:unavailable@0s a:unavailable@0s a:unavailable@0s a:answered@0s", took: 7 * s,
		})
		if st := status(t, c, "a"); st.Score != 0 || st.State != breaker.Closed {
			t.Errorf("score %v, %s", st.Score, st.State)
		}
	})
}

// TestRule10Emergency: no retries and no hedges, while fallback stays.
func TestRule10Emergency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(llm.ErrUnavailable)
		plan := exact()
		plan.Hedge = policy.Hedge{After: s, Share: 1}
		second := target("b", llmtest.Text("ok").After(5*s))
		c := opened(t, &fallback.Options{Plans: policy.Plans{Default: plan}, Emergency: true}, target("a", down), second)
		want(t, "fallback stays", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:unavailable@0s b:answered@5s", took: 5 * s})
		only := triage()
		only.Route.Only = []string{"a"}
		want(t, "no retries", ask(t.Context(), c, only), outcome{kind: llm.ErrUnavailable, stopped: llm.StopEmergency, trail: "a:unavailable@0s"})
		c = opened(t, &fallback.Options{Plans: policy.Plans{Default: plan}, Emergency: true}, target("a", llmtest.Text("slow").After(20*s)), target("b", llmtest.Text("fast")))
		want(t, "no hedges", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
		c.SetEmergency(false)
		want(t, "until it is over", ask(t.Context(), c, triage()), outcome{text: "fast", trail: "a:canceled@1s b:answered@0s", took: s})
		c.SetEmergency(true)
		want(t, "and again", ask(t.Context(), c, triage()), outcome{text: "slow", trail: "a:answered@20s", took: 20 * s})
	})
}

// TestRule11PerTargetSettings: what a target cannot carry it is not sent, and that weighs nothing.
func TestRule11PerTargetSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small := target("small", llmtest.Text("no"))
		small.Can = llm.Capabilities{ContextWindow: 100, MaxOutput: 50}
		tests := []struct {
			name  string
			first fallback.Target
			req   func(*llm.Request)
			want  outcome
		}{
			{"too long for its window", small, func(r *llm.Request) { r.System = strings.Repeat("word ", 1000) }, outcome{text: "ok", trail: "b:answered@0s", skipped: "small:unsupported"}},
			{"more output than it has", small, func(r *llm.Request) { r.MaxTokens = 51 }, outcome{text: "ok", trail: "b:answered@0s", skipped: "small:unsupported"}},
			{"as much as it has", small, func(r *llm.Request) { r.MaxTokens = 50 }, outcome{text: "no", trail: "small:answered@0s"}},
			{"a guess refuses nothing that might fit", small, func(r *llm.Request) { r.System = strings.Repeat("word ", 150) }, outcome{text: "no", trail: "small:answered@0s"}},
			{"the target itself says so", target("a", fail(llm.ErrUnsupported)), func(*llm.Request) {}, outcome{text: "ok", trail: "a:unsupported@0s b:answered@0s"}},
		}
		for _, tt := range tests {
			req := triage()
			tt.req(req)
			c := planned(t, exact(), tt.first, target("b", llmtest.Text("ok")))
			want(t, tt.name, ask(t.Context(), c, req), tt.want)
			if st := status(t, c, tt.first.Name); st.Score != 0 || !st.CooledUntil.IsZero() {
				t.Errorf("%s: score %v, left alone until %v", tt.name, st.Score, st.CooledUntil)
			}
		}
	})
}

// TestRule12FinalKind: the last attempt's, but what can never work does not hide what may work later.
func TestRule12FinalKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tests := []struct {
			first, last, want llm.Kind
		}{
			{llm.ErrUnavailable, llm.ErrRateLimited, llm.ErrRateLimited},
			{llm.ErrRateLimited, llm.ErrUnavailable, llm.ErrUnavailable},
			{llm.ErrUnavailable, llm.ErrAuth, llm.ErrUnavailable},
			{llm.ErrTimeout, llm.ErrNotFound, llm.ErrTimeout},
			{llm.ErrRateLimited, llm.ErrUnsupported, llm.ErrRateLimited},
			{llm.ErrConnection, llm.ErrCircuitOpen, llm.ErrConnection}, // of a chain within
			{llm.ErrBadOutput, llm.ErrAuth, llm.ErrBadOutput},
			{llm.ErrInterrupted, llm.ErrAuth, llm.ErrInterrupted},
			{llm.ErrAuth, llm.ErrUnavailable, llm.ErrUnavailable},
			{llm.ErrAuth, llm.ErrNotFound, llm.ErrNotFound},
			{llm.ErrUnknown, llm.ErrAuth, llm.ErrAuth},
			{llm.ErrUnavailable, llm.ErrInvalid, llm.ErrInvalid},
			{llm.ErrUnavailable, llm.ErrContentFiltered, llm.ErrContentFiltered},
			{llm.ErrUnavailable, llm.ErrQuotaExceeded, llm.ErrQuotaExceeded},
			{llm.ErrUnavailable, llm.ErrContextTooLong, llm.ErrContextTooLong},
			{llm.ErrUnavailable, llm.ErrUnknown, llm.ErrUnknown},
		}
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		for _, tt := range tests {
			o := ask(t.Context(), planned(t, plan, target("a", fail(tt.first)), target("b", fail(tt.last))), triage())
			if o.kind != tt.want {
				t.Errorf("%s, then %s: %v, want %s", tt.first, tt.last, o, tt.want)
			}
		}
		c := planned(t, exact(), target("a", fail(llm.ErrUnavailable)))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel) // in the wait for the retry
		want(t, "the caller leaves", ask(ctx, c, triage()), outcome{kind: llm.ErrCanceled, stopped: llm.StopFinal, trail: "a:unavailable@0s", took: 500 * time.Millisecond})
	})
}

// TestRule13ForeignGenerators: code that nobody has tested is left behind at its limit.
func TestRule13ForeignGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			time.Sleep(300 * s)
			if sink != nil {
				return nil, sink(llm.Event{Kind: llm.EventText, Delta: "late"})
			}
			return nil, errors.New("late")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 40*s)
		defer cancel()
		c := planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf}, target("b", llmtest.Hang()))
		want(t, "unary", ask(ctx, c, triage()), outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline,
			trail: "deaf:timeout(attempt)@20s b:deadline_exceeded(caller)@20s", took: 40 * s,
		})
		c = planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf}, target("b", llmtest.Text("ok")))
		want(t, "streamed", read(t.Context(), c, triage()), outcome{text: "ok", trail: "deaf:timeout(attempt)@30s b:answered@0s", took: 30 * s})
		c = planned(t, exact(), fallback.Target{Name: "deaf", Generator: deaf, Prompt: true}, target("b", llmtest.Text("ok")))
		want(t, "one that lies about being prompt holds the call", ask(t.Context(), c, triage()), outcome{
			kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal, trail: "deaf:timeout(attempt)@5m0s", skipped: "b:no_time", took: 300 * s,
		})
		time.Sleep(300 * s) // until those who were left behind have ended
	})
}

// TestRule14Accept: answers are judged inside the loop, where something can still be done about them.
func TestRule14Accept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		length := &llm.Response{Finish: llm.FinishLength}
		call := llmtest.Calls(llm.ToolCall{Name: "weather"})
		yes := func(r *llm.Request) {
			r.Accept = func(resp *llm.Response) error {
				if resp.Text() != "yes" {
					return errors.New("not yes")
				}
				return nil
			}
		}
		object := func(r *llm.Request) { r.Output = &llm.Schema{} }
		tests := []struct {
			name  string
			steps []llmtest.Step // of a
			req   func(*llm.Request)
			want  outcome
		}{
			{"not accepted, and the next is", []llmtest.Step{llmtest.Text("no")}, yes, outcome{text: "yes", trail: "a:bad_output@0s b:answered@0s"}},
			{"no JSON", []llmtest.Step{llmtest.Text("{")}, object, outcome{kind: llm.ErrBadOutput, stopped: llm.StopTargets, trail: "a:bad_output@0s b:bad_output@0s a:bad_output@0s b:bad_output@0s", took: s}},
			{"JSON", []llmtest.Step{llmtest.Text("[1]")}, object, outcome{text: "[1]", trail: "a:answered@0s"}},
			{"a tool call is no output", []llmtest.Step{call}, object, outcome{trail: "a:answered@0s"}},
			{"empty", []llmtest.Step{llmtest.Respond(&llm.Response{})}, func(*llm.Request) {}, outcome{text: "yes", trail: "a:bad_output@0s b:answered@0s"}},
			{"empty for want of length", []llmtest.Step{llmtest.Respond(length)}, func(*llm.Request) {}, outcome{trail: "a:answered@0s"}},
		}
		for _, tt := range tests {
			req := triage()
			tt.req(req)
			want(t, tt.name, ask(t.Context(), planned(t, exact(), target("a", tt.steps...), target("b", llmtest.Text("yes"))), req), tt.want)
		}
		req := triage()
		yes(req)
		c := planned(t, exact(), target("a", llmtest.Text("no"), llmtest.Text("yes")))
		want(t, "asked once more", ask(t.Context(), c, req), outcome{text: "yes", trail: "a:bad_output@0s a:answered@0s", took: s})
		mine := errors.New("not mine")
		req.Accept = func(*llm.Response) error { return mine }
		_, err := c.Generate(t.Context(), req, nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != "not_accepted" || !errors.Is(err, mine) {
			t.Errorf("why it was not accepted is not told: %v", err)
		}
	})
}

// TestRule15Order: see route_test.go for the rest.
func TestRule15Order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		by := func(author string) func(*llm.Request) {
			return func(r *llm.Request) {
				r.Messages = append(r.Messages, llm.Message{
					Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "yes"}}, From: llm.ModelRef{Provider: "fake", Model: "model-" + author},
				}, llm.User("why?"))
			}
		}
		down := fail(llm.ErrUnavailable)
		tests := []struct {
			name string
			plan []string
			req  func(*llm.Request)
			want string // the order in which targets are asked
		}{
			{"the chain's", nil, func(*llm.Request) {}, "a b c"},
			{"the plan's", []string{"c", "a"}, func(*llm.Request) {}, "c a"},
			{"Route.Only, in its own order", []string{"c", "a"}, func(r *llm.Request) { r.Route.Only = []string{"b", "a"} }, "b a"},
			{"Route.Prefer", nil, func(r *llm.Request) { r.Route.Prefer = "b" }, "b a c"},
			{"Route.Prefer within Route.Only", nil, func(r *llm.Request) { r.Route.Only, r.Route.Prefer = []string{"a", "b"}, "b" }, "b a"},
			{"Route.Prefer outside of it", nil, func(r *llm.Request) { r.Route.Only, r.Route.Prefer = []string{"a", "b"}, "c" }, "a b"},
			{"who wrote the last message", nil, by("c"), "c a b"},
			{"unless somebody is preferred", nil, func(r *llm.Request) { by("c")(r); r.Route.Prefer = "b" }, "b a c"},
			{"nor in Route.Only", nil, func(r *llm.Request) { by("c")(r); r.Route.Only = []string{"a", "c"} }, "a c"},
			{"the last of those who wrote", nil, func(r *llm.Request) { by("b")(r); by("c")(r) }, "c a b"},
			{"a stranger wrote the last one", nil, func(r *llm.Request) { by("c")(r); by("stranger")(r) }, "a b c"},
			{"nobody says who wrote the last one", nil, func(r *llm.Request) {
				by("c")(r)
				r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "so"}}}, llm.User("why?"))
			}, "c a b"},
		}
		plan := exact()
		plan.MaxRetries = policy.NoRetries
		for _, tt := range tests {
			plan.Targets = tt.plan
			req := triage()
			tt.req(req)
			_, err := planned(t, plan, target("a", down), target("b", down), target("c", down)).Generate(t.Context(), req, nil)
			var order []string
			for _, a := range attemptsOf(nil, err) {
				order = append(order, a.Target)
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
}
