package config_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// scripted is a provider whose targets play a script.
func scripted(steps ...llmtest.Step) map[string]llm.Factory {
	return map[string]llm.Factory{"fake": func(context.Context, func(any) error) (llm.Endpoint, error) {
		return llm.Endpoint{Generator: llmtest.New(steps...), Prompt: true}, nil
	}}
}

const oneTarget = "\ntargets: [{name: only, provider: fake}]\n"

// env looks variables up in a list of NAME=value.
func env(list ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, e := range list {
			if n, v, _ := strings.Cut(e, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

func build(t *testing.T, file string, providers map[string]llm.Factory, variables ...string) (*config.Config, *fallback.Chain) {
	t.Helper()
	c, err := config.Parse([]byte(file), env(variables...))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := c.Build(t.Context(), providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, chain
}

func call(ctx context.Context, chain *fallback.Chain, op llm.Operation) []llm.Attempt {
	resp, err := chain.Generate(ctx, &llm.Request{Operation: op, Messages: []llm.Message{llm.User("Hi")}}, nil)
	if err == nil {
		return resp.Attempts
	}
	var e *llm.Error
	if !asError(err, &e) {
		return nil
	}
	return e.Attempts
}

func asError(err error, into **llm.Error) bool {
	e, ok := err.(*llm.Error) //nolint:errorlint // chains return nothing else
	*into = e
	return ok
}

// limitOf is how long the first attempt of an operation hung.
func limitOf(op llm.Operation) func(*testing.T, *fallback.Chain) string {
	return func(t *testing.T, c *fallback.Chain) string {
		t.Helper()
		start := time.Now()
		attempts := call(t.Context(), c, op)
		if len(attempts) == 0 {
			return fmt.Sprint("no attempt in ", time.Since(start))
		}
		return attempts[0].Took.String()
	}
}

// waits are the times before each retry of one call.
func waits(t *testing.T, c *fallback.Chain) string {
	t.Helper()
	var all []string
	for _, a := range call(t.Context(), c, "")[1:] {
		all = append(all, a.Wait.String())
	}
	return strings.Join(all, " ")
}

// opening is how many calls it takes to open the breaker, and for how long it is open then.
func opening(t *testing.T, c *fallback.Chain) string {
	t.Helper()
	for n := 1; n < 50; n++ {
		call(t.Context(), c, "")
		if s := c.Status()[0]; s.State == breaker.Open {
			return fmt.Sprintf("%d calls, %v", n, time.Until(s.OpenUntil).Round(100*time.Second))
		}
	}
	return "never"
}

var (
	hangs       = scripted(llmtest.Hang())
	unavailable = scripted(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}))
)

func TestEachVariableChangesTheTimingThatItNames(t *testing.T) {
	t.Parallel()
	const retries = "LLM_RETRY_JITTER=false"
	for _, test := range []struct {
		variable string
		file     string // beside the targets
		others   []string
		provider map[string]llm.Factory
		look     func(*testing.T, *fallback.Chain) string
		without  string
		with     string
	}{
		{variable: "LLM_DEFAULT_TIMEOUT=7.5", provider: hangs, look: limitOf(""), without: "1m0s", with: "7.5s"},
		{variable: "LLM_TRIAGE_TIMEOUT=3", provider: hangs, look: limitOf(llm.Triage), without: "30s", with: "3s"},
		{variable: "LLM_ORCHESTRATION_TIMEOUT=100", provider: hangs, look: limitOf(llm.Orchestration), without: "1m30s", with: "1m40s"},
		{variable: "LLM_GENERATION_TIMEOUT=0.5", provider: hangs, look: limitOf(llm.Generation), without: "45s", with: "500ms"},
		{
			variable: "LLM_SUM_UP_V2_TIMEOUT=4", file: "plans: {sum-up.v2: {attempt: 9s}}", provider: hangs,
			look: limitOf("sum-up.v2"), without: "9s", with: "4s",
		},
		{
			variable: "LLM_TRIAGE_TIMEOUT=3", file: "plans: {triage: {attempt: 20s}}", provider: hangs,
			look: limitOf(llm.Triage), without: "20s", with: "3s",
		},
		{variable: "LLM_MAX_RETRIES=1", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: "1s"},
		{variable: "LLM_MAX_RETRIES=0", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: ""},
		{
			variable: "LLM_MAX_RETRIES=0", file: "plans: {default: {max_retries: 2}}", others: []string{retries},
			provider: unavailable, look: waits, without: "1s 2s", with: "",
		},
		{variable: "LLM_RETRY_BASE_DELAY=0.5", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: "500ms 1s 2s"},
		{variable: "LLM_RETRY_BASE_DELAY=0", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: "100ms 100ms 100ms"},
		{variable: "LLM_RETRY_MAX_DELAY=1.5", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: "1s 1.5s 1.5s"},
		{
			variable: "LLM_RETRY_JITTER=false", file: "retry: {jitter: full}", provider: unavailable,
			look: exact, without: "false", with: "true",
		},
		{
			variable: "LLM_RETRY_JITTER=true", file: "retry: {jitter: none}", provider: unavailable,
			look: exact, without: "true", with: "false",
		},
		{
			variable: "CIRCUIT_BREAKER_FAILURE_THRESHOLD=5", others: []string{"LLM_MAX_RETRIES=0"}, provider: unavailable,
			look: opening, without: "3 calls, 5m0s", with: "5 calls, 5m0s",
		},
		{
			variable: "CIRCUIT_BREAKER_TIMEOUT_SECONDS=1000", others: []string{"LLM_MAX_RETRIES=0"}, provider: unavailable,
			look:    longer,
			without: "shorter", with: "longer",
		},
		{variable: "LLM_EMERGENCY_MODE=true", others: []string{retries}, provider: unavailable, look: waits, without: "1s 2s 4s", with: ""},
		{
			variable: "LLM_EMERGENCY_MODE=false", file: "emergency: true", others: []string{retries}, provider: unavailable, look: waits,
			without: "", with: "1s 2s 4s",
		},
	} {
		t.Run(test.variable+test.file, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, on := range []bool{false, true} {
					variables, want := test.others, test.without
					if on {
						variables, want = append(slices.Clone(test.others), test.variable), test.with
					}
					_, chain := build(t, test.file+oneTarget, test.provider, variables...)
					if got := test.look(t, chain); got != want {
						t.Errorf("set %v: got %q, want %q", on, got, want)
					}
				}
			})
		})
	}
}

// exact is whether the waits have no jitter.
func exact(t *testing.T, c *fallback.Chain) string {
	t.Helper()
	return fmt.Sprint(waits(t, c) == "1s 2s 4s")
}

// longer is whether the breaker opens for more than ten minutes.
func longer(t *testing.T, c *fallback.Chain) string {
	t.Helper()
	opening(t, c)
	if time.Until(c.Status()[0].OpenUntil) > 10*time.Minute {
		return "longer"
	}
	return "shorter"
}

func TestTheExecutionTimeLimitEndsACall(t *testing.T) {
	for value, want := range map[string]time.Duration{"": time.Minute, "25": 15 * time.Second} { // 10 s are kept for the end of the process
		t.Setenv("LLM_EXECUTION_TIME_LIMIT_SECONDS", value)
		synctest.Test(t, func(t *testing.T) {
			_, chain := build(t, oneTarget, hangs)
			ctx, cancel, err := deadline.FromEnv(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer cancel()
			if a := call(ctx, chain, ""); len(a) == 0 || a[0].Took != want {
				t.Errorf("with %q: %v, want an attempt of %v", value, a, want)
			}
		})
	}
}

func TestAnEmptyVariableIsNotSet(t *testing.T) {
	t.Parallel()
	c, _ := build(t, "plans: {triage: {attempt: 20s}}"+oneTarget, hangs, "LLM_TRIAGE_TIMEOUT=", "LLM_MAX_RETRIES=")
	if got := c.Plans.Operations[llm.Triage].Limits.Attempt; got != 20*time.Second || len(c.Overrides) != 0 {
		t.Errorf("attempt %v, overrides %v", got, c.Overrides)
	}
}

func TestOriginAndOverrides(t *testing.T) {
	t.Parallel()
	c, _ := build(t, `plans:
  default: {first_content: 12s}
  triage: {attempt: 20s, max_retries: 2}
retry: {max: 5s}
targets: [{name: only, provider: fake, api_key: "${A}-${B}"}]
`, hangs, "LLM_TRIAGE_TIMEOUT=3", "LLM_MAX_RETRIES=1", "A=a", "B=b")
	for path, want := range map[string]string{
		"plans.triage.attempt":           "LLM_TRIAGE_TIMEOUT",
		"plans.triage.first_content":     "llm.yaml:2:28",
		"plans.generation.first_content": "llm.yaml:2:28",
		"plans.generation.attempt":       "default",
		"plans.triage.max_retries":       "LLM_MAX_RETRIES",
		"plans.other.max_retries":        "LLM_MAX_RETRIES",
		"retry.max":                      "llm.yaml:4:14",
		"retry.base":                     "default",
		"targets.only.api_key":           "llm.yaml:5:49",
	} {
		if got := c.Origin(path); got != want {
			t.Errorf("%s is from %s, want %s", path, got, want)
		}
	}
	want := []config.Override{
		{Path: "plans.triage.attempt", Variable: "LLM_TRIAGE_TIMEOUT", Value: "3", Old: "20s", OldFrom: "llm.yaml:3:21"},
		{Path: "retry.max_retries", Variable: "LLM_MAX_RETRIES", Value: "1", OldFrom: "default"},
		{Path: "plans.triage.max_retries", Variable: "LLM_MAX_RETRIES", Value: "1", Old: "2", OldFrom: "llm.yaml:3:39"},
	}
	if !slices.Equal(c.Overrides, want) {
		t.Errorf("got  %+v\nwant %+v", c.Overrides, want)
	}
	if got := c.Variables("targets.only.api_key"); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("variables: %v", got)
	}
}

func TestVariablesThatLookLikeOursAreWarnings(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"LLM_TRIAGE_TIMOUT=3":                  "LLM_TRIAGE_TIMOUT: no such variable is known; did you mean LLM_TRIAGE_TIMEOUT?",
		"LLM_MAX_RETRY=3":                      "LLM_MAX_RETRY: no such variable is known; did you mean LLM_MAX_RETRIES?",
		"CIRCUIT_BREAKER_FAILURE_TRESHOLD=3":   "CIRCUIT_BREAKER_FAILURE_TRESHOLD: no such variable is known; did you mean CIRCUIT_BREAKER_FAILURE_THRESHOLD?",
		"LLM_TRANSLATE_TO_ENGLISH_TIMEOUT=3":   "LLM_TRANSLATE_TO_ENGLISH_TIMEOUT: no plan has this name, so it changes nothing; add the plan, or leave it out",
		"LLM_TRIAGE_TIMEOUT=3":                 "",
		"LLM_EXECUTION_TIME_LIMIT_SECONDS=120": "",
		"LLM_TRIAGE_TIMOUT=":                   "",
		"PIP_DEFAULT_TIMEOUT=15":               "",
		"LM_DEFAULT_TIMEOUT=15":                "LM_DEFAULT_TIMEOUT: no such variable is known; did you mean LLM_DEFAULT_TIMEOUT?",
		"LLM_GATEWAY=https://gateway.example":  "",
		"HOME=/home":                           "",
		"PATH=/bin":                            "",
	} {
		c, err := config.LoadWith("llm.yaml", &config.Options{Env: []string{variable}, ReadFile: disk([]byte(oneTarget))})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(c.Warnings))
		for i, w := range c.Warnings {
			got[i] = w.String()
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
	}
}

func TestAVariableWithoutBracesIsAWarning(t *testing.T) {
	t.Parallel()
	for value, warned := range map[string]bool{
		"$AZURE_KEY": true, `"$AZURE_KEY"`: true, "$(AZURE_KEY)": true,
		`"${AZURE_KEY}"`: false, `"$${AZURE_KEY}"`: false, "US$5": false, "$ecret": false, "$5": false, `"$"`: false,
	} {
		text := "\ntargets: [{name: only, provider: fake, api_key: " + value + "}]\n"
		c, err := config.LoadWith("llm.yaml", &config.Options{Env: []string{"AZURE_KEY=k"}, ReadFile: disk([]byte(text))})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if warned {
			want = 1
		}
		if len(c.Warnings) != want {
			t.Errorf("%s: %d warnings, want %d: %v", value, len(c.Warnings), want, c.Warnings)
		}
		for _, w := range c.Warnings {
			if w.Path != "targets.only.api_key" || strings.Contains(w.String(), "AZURE") {
				t.Errorf("%s: the warning has another path, or the value: %v", value, w)
			}
		}
	}
}
