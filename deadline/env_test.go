package deadline_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

const variable = "LLM_EXECUTION_TIME_LIMIT_SECONDS"

// TestFromEnv: the variable less the margin is the execution's time.
func TestFromEnv(t *testing.T) { //nolint:paralleltest // it sets the environment
	tests := []struct {
		name, value string
		o           *deadline.Options
		total       time.Duration
	}{
		{"10 s are kept by default", "60", nil, 50 * s},
		{"and with other options set", "60", &deadline.Options{Warn: 20 * s}, 50 * s},
		{"a margin of one's own", "60", &deadline.Options{Margin: 3 * s}, 57 * s},
		{"a margin below zero is none", "60", &deadline.Options{Margin: -s}, 60 * s},
		{"fractions", "42.7", nil, 32*s + 700*ms},
		{"a fraction that is not binary", "1.001", &deadline.Options{Margin: -1}, s + ms},
		{"a fraction without a zero", "12.", nil, 2 * s},
		{"the shortest", "1", &deadline.Options{Margin: -1}, s},
		{"the longest", "900", nil, 890 * s},
		{"spaces and a line end around it", " 60\n", nil, 50 * s},
		{"leading zeros", "060", nil, 50 * s},
	}
	for _, tt := range tests { //nolint:paralleltest // it sets the environment
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(variable, tt.value)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel, err := deadline.FromEnv(t.Context(), tt.o)
				if err != nil {
					t.Fatal(err)
				}
				defer cancel()
				total, ok := deadline.Total(ctx)
				equal(t, "Total", total, tt.total)
				equal(t, "ok", ok, true)
				time.Sleep(2 * s)
				equal(t, "Elapsed", deadline.Elapsed(ctx), 2*s)
			})
		})
	}
}

// TestFromEnvUnset: no deadline but ctx's, and the caps hold.
func TestFromEnvUnset(t *testing.T) { //nolint:paralleltest // it sets the environment
	for _, value := range []string{"", "  "} {
		t.Setenv(variable, value)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel, err := deadline.FromEnv(t.Context(), &deadline.Options{Caps: map[string]time.Duration{"plan": 3 * s}})
			equal(t, "error", err, nil)
			_, ok := deadline.Total(ctx)
			equal(t, "Total's ok", ok, false)
			_, ok = ctx.Deadline()
			equal(t, "Deadline's ok", ok, false)
			step, done, err := deadline.Step(ctx, "plan", s)
			equal(t, "Step's error", err, nil)
			time.Sleep(s)
			equal(t, "Elapsed", deadline.Elapsed(ctx), s)
			<-step.Done()
			equal(t, "end of the step", deadline.Elapsed(ctx), 3*s)
			done()
			cancel()
			equal(t, "Err after cancel", ctx.Err(), context.Canceled)
		})
		synctest.Test(t, func(t *testing.T) { // an execution around it goes on
			outer, stop := deadline.With(t.Context(), 60*s, &deadline.Options{Caps: map[string]time.Duration{"act": s}})
			defer stop()
			time.Sleep(s)
			ctx, cancel, err := deadline.FromEnv(outer, nil)
			defer cancel()
			equal(t, "error", err, nil)
			total, _ := deadline.Total(ctx)
			equal(t, "Total", total, 60*s)
			equal(t, "Elapsed", deadline.Elapsed(ctx), s)
			_, done, err := deadline.Step(ctx, "act", 0)
			done()
			equal(t, "Step's error", err, nil)
			time.Sleep(55 * s)
			if deadline.Check(ctx) == nil {
				t.Error("Check is nil with 4 s of 60 left")
			}
		})
	}
}

// TestFromEnvUnsetRefuses: options that no value of the variable suits are refused without one, too. Else a program
// would run on the desk and fail on the platform.
func TestFromEnvUnsetRefuses(t *testing.T) { //nolint:paralleltest // it sets the environment
	t.Setenv(variable, "")
	for _, tt := range []struct {
		o    deadline.Options
		want string // "": it is valid
	}{
		{deadline.Options{Margin: -s}, ""},
		{deadline.Options{Margin: 30 * s, FailFast: 800 * s, Caps: map[string]time.Duration{"plan": 15*time.Minute - 1, "act": 0}}, ""},
		{deadline.Options{Margin: 31 * s}, "Options.Margin: 31s is above 30s"},
		{deadline.Options{FailFast: -1}, "Options.FailFast: -1ns is below zero"},
		{deadline.Options{Warn: 890 * s}, "Options.Warn: 14m50s is not below the total of 15m0s less the margin of 10s"},
		{deadline.Options{Caps: map[string]time.Duration{"plan": -s}}, `Options.Caps["plan"]: -1s is below zero`},
		{deadline.Options{Caps: map[string]time.Duration{"plan": 15 * time.Minute}}, `Options.Caps["plan"]: 15m0s is not below the total of 15m0s`},
	} {
		ctx, cancel, err := deadline.FromEnv(t.Context(), &tt.o)
		defer cancel()
		if tt.want == "" {
			equal(t, "error", err, nil)
			equal(t, "Err", ctx.Err(), nil)
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "deadline: "+variable+" is not set, and the longest would not do: "+tt.want) {
			t.Errorf("%+v: error is %v, want %q", tt.o, err, tt.want)
		}
		equal(t, "Cause", context.Cause(ctx), err)
	}
}

// TestFromEnvRefuses: an error names the variable, never quotes text, and leaves nothing to run with.
func TestFromEnvRefuses(t *testing.T) { //nolint:paralleltest // it sets the environment
	tests := []struct {
		value string
		o     *deadline.Options
		want  string
	}{
		{"secret", nil, "6 characters that are not all digits (give seconds as a plain number, such as 120 or 42.5)"},
		{"30s", nil, "not all digits"},
		{"-5", nil, "not all digits"},
		{"+5", nil, "not all digits"},
		{"NaN", nil, "not all digits"},
		{"Inf", nil, "not all digits"},
		{"1e2", nil, "not all digits"},
		{"0x10", nil, "not all digits"},
		{"1_0", nil, "not all digits"},
		{"6 0", nil, "not all digits"},
		{"60,5", nil, "not all digits"},
		{"٣٠", nil, "not all digits"},
		{".", nil, "1 characters that are no number"},
		{"1.2.3", nil, "are no number"},
		{strings.Repeat("9", 400), nil, "is above 900 (it is in seconds"},
		{"0", nil, "is zero (unset it for no limit"},
		{"0.0", nil, "is zero"},
		{"0.9", nil, "total: 900ms is not between"},
		{"900.1", nil, "is above 900"},
		{"60000", nil, "not in milliseconds"},
		{"10", nil, "Options.Margin: 10s is not below the total of 10s (lower it or raise the total)"},
		{"60", &deadline.Options{Margin: 31 * s}, "Options.Margin: 31s is above 30s"},
		{"12", &deadline.Options{FailFast: 2 * s}, "Options.FailFast: 2s is not below the total of 12s less the margin of 10s"},
		{"60", &deadline.Options{Caps: map[string]time.Duration{"plan": 60 * s}}, `Options.Caps["plan"]`},
	}
	for _, tt := range tests {
		t.Setenv(variable, tt.value)
		ctx, cancel, err := deadline.FromEnv(t.Context(), tt.o)
		defer cancel()
		if err == nil {
			t.Errorf("%q is no error", tt.value)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "deadline: "+variable+": ") || !strings.Contains(text, tt.want) ||
			strings.Contains(text, "secret") {
			t.Errorf("%q: error is %q, want %q", tt.value, text, tt.want)
		}
		equal(t, "Err", ctx.Err(), context.Canceled)
		equal(t, "Cause", context.Cause(ctx), err)
	}
}
