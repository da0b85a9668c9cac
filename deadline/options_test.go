package deadline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// TestValidate holds each bound at its edge, by the name of the field.
func TestValidate(t *testing.T) {
	t.Parallel()
	type caps = map[string]time.Duration
	tests := []struct {
		total time.Duration
		o     *deadline.Options
		want  string // "": it is valid
	}{
		{s, nil, ""},
		{15 * time.Minute, nil, ""},
		{s - 1, nil, "total: 999.999999ms is not between 1s and 15m0s"},
		{15*time.Minute + 1, nil, "total: 15m0.000000001s is not"},
		{0, nil, "total: 0s is not"},
		{-s, &deadline.Options{}, "total: -1s is not"},
		{s, &deadline.Options{}, ""},
		{60 * s, &deadline.Options{Margin: 30 * s}, ""},
		{60 * s, &deadline.Options{Margin: 30*s + 1}, "Options.Margin: 30.000000001s is above 30s"},
		{60 * s, &deadline.Options{Margin: -1}, "Options.Margin: -1ns is below zero"},
		{20 * s, &deadline.Options{Margin: 20*s - 1}, ""},
		{20 * s, &deadline.Options{Margin: 20 * s}, "Options.Margin: 20s is not below the total of 20s (lower it or raise the total)"},
		{20 * s, &deadline.Options{FailFast: 20*s - 1}, ""},
		{20 * s, &deadline.Options{FailFast: 20 * s}, "Options.FailFast: 20s is not below"},
		{20 * s, &deadline.Options{FailFast: -1}, "Options.FailFast: -1ns is below zero"},
		{20 * s, &deadline.Options{Warn: 20*s - 1}, ""},
		{20 * s, &deadline.Options{Warn: 20 * s}, "Options.Warn: 20s is not below"},
		{20 * s, &deadline.Options{Warn: -1}, "Options.Warn: -1ns is below zero"},
		{20 * s, &deadline.Options{Margin: 15 * s, FailFast: 5*s - 1, Warn: 5*s - 1, Caps: caps{"plan": 6 * s}}, ""},
		{20 * s, &deadline.Options{Margin: 15 * s, FailFast: 5 * s}, "Options.FailFast: 5s is not below the total of 20s less the margin of 15s (lower it or raise the total)"},
		{20 * s, &deadline.Options{Margin: 15 * s, Warn: 5 * s}, "Options.Warn: 5s is not below the total of 20s less the margin of 15s"},
		{20 * s, &deadline.Options{Caps: caps{"plan": 20*s - 1, "act": 0}}, ""},
		{20 * s, &deadline.Options{Caps: caps{"": s}}, `Options.Caps[""]: a step has a name (give one, it is in its errors)`},
		{20 * s, &deadline.Options{Caps: caps{"act": s, "plan": 20 * s}}, `Options.Caps["plan"]: 20s is not below`},
		{20 * s, &deadline.Options{Caps: caps{"plan": -1, "act": s}}, `Options.Caps["plan"]: -1ns is below zero`},
		{20 * s, &deadline.Options{Caps: caps{"b": -1, "a": -1}}, `Options.Caps["a"]`},
	}
	for _, tt := range tests {
		err := tt.o.Validate(tt.total)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%v of %+v: %v", tt.total, tt.o, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "deadline: "+tt.want)):
			t.Errorf("%v of %+v: error is %v, want %q", tt.total, tt.o, err, tt.want)
		}
	}
}
