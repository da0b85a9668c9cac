package fallback_test

import (
	"errors"
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
