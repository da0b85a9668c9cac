package fallback_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := target("a")
	tests := []struct {
		targets []fallback.Target
		plans   policy.Plans
		field   string
	}{
		{nil, policy.Plans{}, "targets"},
		{[]fallback.Target{{Generator: good.Generator}}, policy.Plans{}, "targets[0].name"},
		{[]fallback.Target{good, good}, policy.Plans{}, "targets[1].name"},
		{[]fallback.Target{good, {Name: "b"}}, policy.Plans{}, "targets[1].generator"},
		{[]fallback.Target{good}, policy.Plans{Default: policy.Plan{Targets: []string{"b"}}}, "plans.default.targets[0]"},
		{[]fallback.Target{good}, policy.Plans{Default: policy.Plan{Targets: []string{"a", "a"}}}, "plans.default.targets[1]"},
		{[]fallback.Target{good}, policy.Plans{Operations: map[llm.Operation]policy.Plan{"x": {Limits: llm.Limits{Idle: -1}}}}, `plans.operations["x"].limits`},
	}
	for _, tt := range tests {
		_, err := fallback.New(tt.targets, &fallback.Options{Plans: tt.plans})
		f := &llm.FieldError{}
		if llm.KindOf(err) != llm.ErrInvalid || !errors.As(err, &f) || f.Field != tt.field || f.Next == "" {
			t.Errorf("want the field %s, got %v", tt.field, err)
		}
	}
}

// TestPlansAreCopied: what the caller does with his map later is his own business.
func TestPlansAreCopied(t *testing.T) {
	t.Parallel()
	plans := policy.Plans{Operations: map[llm.Operation]policy.Plan{}}
	c, err := fallback.New([]fallback.Target{target("a"), target("b")}, &fallback.Options{Plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	plans.Operations[llm.Triage] = policy.Plan{Targets: []string{"b"}}
	if resp, err := c.Generate(t.Context(), triage(), nil); err != nil || resp.Target != "a" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestNewNamesTheFieldOfAPlan: what a plan cannot mean is refused before anything is sent.
func TestNewNamesTheFieldOfAPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		plan  policy.Plan
		field string // below plans.default
	}{
		{policy.Plan{MaxRetries: -2}, "max_retries"},
		{policy.Plan{Backoff: policy.Backoff{Base: -1}}, "backoff"},
		{policy.Plan{Backoff: policy.Backoff{Max: -1}}, "backoff"},
		{policy.Plan{Backoff: policy.Backoff{Jitter: "some"}}, "backoff.jitter"},
		{policy.Plan{Watch: "perhaps"}, "watch"},
		{policy.Plan{Hedge: policy.Hedge{Share: -0.1}}, "hedge.share"},
		{policy.Plan{Hedge: policy.Hedge{Share: 1.1}}, "hedge.share"},
		{policy.Plan{Hedge: policy.Hedge{Share: math.NaN()}}, "hedge.share"},
		{policy.Plan{FallbackOn: []llm.Kind{llm.ErrContentFiltered, llm.ErrCanceled}}, "fallback_on[1]"},
		{policy.Plan{FallbackOn: []llm.Kind{llm.ErrDeadlineExceeded}}, "fallback_on[0]"},
		{policy.Plan{FallbackOn: []llm.Kind{""}}, "fallback_on[0]"},
		{policy.Plan{Limits: llm.Limits{Tries: -1}}, "limits"},
		{policy.Plan{Limits: llm.Limits{Connect: -1}}, "limits"},
	}
	for _, tt := range tests {
		_, err := fallback.New([]fallback.Target{target("a")}, &fallback.Options{Plans: policy.Plans{Default: tt.plan}})
		f := &llm.FieldError{}
		if llm.KindOf(err) != llm.ErrInvalid || !errors.As(err, &f) || f.Field != "plans.default."+tt.field || f.Next == "" {
			t.Errorf("%+v: %v", tt.plan, err)
		}
	}
	for _, good := range []policy.Plan{
		{MaxRetries: policy.NoRetries},
		{Hedge: policy.Hedge{After: -1, Share: 1}},
		{Watch: policy.WatchOff},
		{Backoff: policy.Backoff{Jitter: policy.JitterDecorrelated}},
		{FallbackOn: []llm.Kind{"of_later"}},
	} {
		if _, err := fallback.NewClient([]fallback.Target{target("a")}, &fallback.Options{Plans: policy.Plans{Default: good}}); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, tt := range []struct {
		field string
		bad   fallback.Target
	}{
		{"targets[0].weight", fallback.Target{Weight: -1}},
		{"targets[0].weight", fallback.Target{Weight: math.MaxInt32 + 1}},
		{"targets[0].limits", fallback.Target{Limits: llm.Limits{Attempt: -1}}},
	} {
		tt.bad.Name, tt.bad.Generator = "a", target("a").Generator
		_, err := fallback.NewClient([]fallback.Target{tt.bad}, nil)
		if f := (&llm.FieldError{}); !errors.As(err, &f) || f.Field != tt.field {
			t.Errorf("%s: %v", tt.field, err)
		}
	}
}

// TestTheHeaviestPool: weights are drawn as large as they may be.
func TestTheHeaviestPool(t *testing.T) {
	t.Parallel()
	a, b := target("a"), target("b")
	a.Pool, b.Pool, a.Weight, b.Weight = "p", "p", math.MaxInt32, math.MaxInt32
	c, first := chain(t, a, b), map[string]int{}
	for i := range 100 {
		req := triage()
		req.Session = fmt.Sprint(i)
		resp, err := c.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		first[resp.Target]++
	}
	if first["a"] < 25 || first["b"] < 25 {
		t.Errorf("equal weights drew %v", first)
	}
}
