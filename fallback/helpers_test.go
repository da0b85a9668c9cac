package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

const s = time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fail(k llm.Kind) llmtest.Step { return llmtest.Fail(&llm.Error{Kind: k}) }

// target makes a target of the script, named name.
func target(name string, steps ...llmtest.Step) fallback.Target {
	return fallback.Target{
		Name: name, Generator: llmtest.New(steps...), Prompt: true,
		Model: llm.ModelRef{Provider: "fake", Model: "model-" + name},
	}
}

func chain(t *testing.T, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(targets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func triage() *llm.Request {
	return &llm.Request{Operation: llm.Triage, Messages: []llm.Message{llm.User("urgent?")}}
}

// trail writes a trail as "a:timeout(attempt)@30s b:answered@0s".
func trail(attempts []llm.Attempt) string {
	words := make([]string, len(attempts))
	for i, a := range attempts {
		word := "answered"
		if a.Kind != "" {
			word = string(a.Kind)
		}
		if a.Bound != "" {
			word += "(" + string(a.Bound) + ")"
		}
		words[i] = fmt.Sprintf("%s:%s@%v", a.Target, word, a.Took)
	}
	return strings.Join(words, " ")
}

func skips(skipped []llm.Skip) string {
	words := make([]string, len(skipped))
	for i, s := range skipped {
		words[i] = s.Target + ":" + string(s.Why)
	}
	return strings.Join(words, " ")
}

func tagged(t fallback.Target, tags ...string) fallback.Target { t.Tags = tags; return t }

func lacking(t fallback.Target, what ...string) fallback.Target { t.Can.Lacks = what; return t }

// exact is a plan whose waits can be told to the nanosecond.
func exact() policy.Plan { return policy.Plan{Backoff: policy.Backoff{Jitter: policy.JitterNone}} }

// planned is a chain in which every operation runs on p.
func planned(t *testing.T, p policy.Plan, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	return opened(t, &fallback.Options{Plans: policy.Plans{Default: p}}, targets...)
}

func opened(t *testing.T, o *fallback.Options, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(targets, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is how a call ended, in a form that can be compared.
type outcome struct {
	text    string // of the answer, or of Partial
	kind    llm.Kind
	bound   llm.Bound
	stopped llm.StopReason
	trail   string
	skipped string
	took    time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("%q %s(%s) stopped %q after %v\n  %s\n  skipped %s", o.text, string(o.kind), string(o.bound), string(o.stopped), o.took, o.trail, o.skipped)
}

// ask makes a unary call and says how it ended.
func ask(ctx context.Context, g llm.Generator, req *llm.Request) outcome {
	start := time.Now()
	resp, err := llm.NewClient(g, nil).Generate(ctx, req)
	return told(resp, err, time.Since(start))
}

// read makes a call that streams and says how it ended.
func read(ctx context.Context, g llm.Generator, req *llm.Request) outcome {
	start := time.Now()
	resp, err := llm.NewClient(g, nil).Stream(ctx, req).Response()
	return told(resp, err, time.Since(start))
}

func told(resp *llm.Response, err error, took time.Duration) outcome {
	if err == nil {
		return outcome{text: resp.Text(), trail: trail(resp.Attempts), skipped: skips(resp.Skipped), took: took}
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return outcome{kind: llm.Kind(fmt.Sprintf("a %T", err)), took: took}
	}
	o := outcome{kind: e.Kind, bound: e.Bound, stopped: e.Stopped, trail: trail(e.Attempts), skipped: skips(e.Skipped), took: took}
	if e.Partial != nil {
		o.text = e.Partial.Text()
	}
	return o
}

// want compares how a call ended with how it should have.
func want(t *testing.T, what string, got, want outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// waits are the pauses before the attempts of a trail, as "0s 1s 2s".
func waits(attempts []llm.Attempt) string {
	words := make([]string, len(attempts))
	for i, a := range attempts {
		words[i] = a.Wait.String()
	}
	return strings.Join(words, " ")
}

// asked is how many requests a target has got.
func asked(target fallback.Target) int { return len(target.Generator.(*llmtest.Fake).Requests()) }

// status is of one target.
func status(t *testing.T, c *fallback.Chain, name string) fallback.Status {
	t.Helper()
	for _, s := range c.Status() {
		if s.Target == name {
			return s
		}
	}
	t.Fatalf("no target is named %q", name)
	return fallback.Status{}
}

// within returns a request for an attempt of its own length, over operations without a plan.
func within(attempt time.Duration) *llm.Request {
	return &llm.Request{Limits: llm.Limits{Attempt: attempt}, Messages: []llm.Message{llm.User("hello")}}
}

// trip opens the breaker of a target by calls of others.
func trip(t *testing.T, set *breaker.Set, name string) {
	t.Helper()
	for range 3 {
		permit, err := set.Allow(name)
		if err != nil {
			t.Fatal(err)
		}
		permit.Settle(breaker.Outcome{Weight: 1})
	}
	if set.Status(name).State != breaker.Open {
		t.Fatalf("the breaker of %s is not open", name)
	}
}
