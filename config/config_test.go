package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func asConfigError(err error, into **config.Error) bool { return errors.As(err, into) }

// whole has every key of config's own.
const whole = `
plans:
  default: {attempt: 60s, total: 2m, connect: 5s, first_content: 20s, idle: 15s, tries: 6, targets: [azure, bedrock]}
  triage:
    attempt: 30s
    targets: [azure]
    max_retries: 0
    hedge: {after: 2s, share: 0.1}
    watch: "on"
    fallback_on: [content_filtered]
  generation: {at_most_once: true, no_last_resort: true, hedge: {after: 0}, watch: auto}
retry: {max_retries: 2, base: 500ms, max: 5s, jitter: full, tokens: -1}
breaker: {threshold: 4, open_for: 1m}
emergency: true
targets:
  - name: azure
    provider: azure
    pool: front
    weight: 3
    quota_group: east
    tags: [eu, fast]
    limits: {attempt: 10s, connect: 1s, first_content: 5s, idle: 4s}
    can: {context_window: 128000, max_output: 4096, lacks: [video], streams: true, silent: false}
    endpoint: https://azure.example
    deployment: gpt-4o
    api_key: ${KEY}
  - {name: bedrock, provider: bedrock, pool: front, region: us-east-1, model: 7, guardrail: {id: "a$${b}"}}
`

func TestEveryKeyArrives(t *testing.T) {
	t.Parallel()
	c, err := config.Parse([]byte(whole), env("KEY=k-1"))
	if err != nil {
		t.Fatal(err)
	}
	d, g := c.Plans.Default, c.Plans.Operations[llm.Generation]
	tr := c.Plans.Operations[llm.Triage]
	checks := map[string]bool{
		"default limits": d.Limits == llm.Limits{
			Attempt: time.Minute, Total: 2 * time.Minute, Connect: 5 * time.Second, FirstContent: 20 * time.Second, Idle: 15 * time.Second, Tries: 6,
		},
		"default targets": slices.Equal(d.Targets, []string{"azure", "bedrock"}),
		"retry":           d.MaxRetries == 2 && d.Backoff == policy.Backoff{Base: 500 * time.Millisecond, Max: 5 * time.Second, Jitter: policy.JitterFull},
		"tokens":          c.RetryTokens == -1,
		"triage": tr.MaxRetries == policy.NoRetries && tr.Hedge == policy.Hedge{After: 2 * time.Second, Share: 0.1} && tr.Watch == policy.WatchOn &&
			slices.Equal(tr.FallbackOn, []llm.Kind{llm.ErrContentFiltered}),
		"generation": g.AtMostOnce && g.NoLastResort && g.Hedge.After < 0 && g.Watch == policy.WatchAuto,
		"breaker":    c.Breaker.Threshold == 4 && c.Breaker.OpenFor == time.Minute,
		"emergency":  c.Emergency,
	}
	for what, ok := range checks {
		if !ok {
			t.Errorf("%s: %+v", what, c.Plans)
		}
	}
	a := c.Target("azure")
	if a.Pool != "front" || a.Weight != 3 || a.QuotaGroup != "east" || !slices.Equal(a.Tags, []string{"eu", "fast"}) ||
		a.Limits != (llm.Limits{Attempt: 10 * time.Second, Connect: time.Second, FirstContent: 5 * time.Second, Idle: 4 * time.Second}) ||
		a.Can.ContextWindow != 128000 || a.Can.MaxOutput != 4096 || !*a.Can.Streams || *a.Can.Silent {
		t.Errorf("azure: %+v", a)
	}
	var s azureKeys
	if err := a.Settings(&s); err != nil || s.Key != "k-1" || s.Endpoint != "https://azure.example" {
		t.Errorf("settings %v, %+v", err, s)
	}
	var b bedrockKeys
	if err := c.Target("bedrock").Settings(&b); err != nil || b.Model != "7" || b.Guardrail.ID != "a${b}" {
		t.Errorf("settings %v, %+v", err, b)
	}
}

func TestWhatYAMLAllowsIsTaken(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"byte order mark":       "\ufeffplans: {triage: {attempt: 7s}}",
		"line ends":             "plans:\r\n  triage:\r\n    attempt: 7s\r\n",
		"document marks":        "---\nplans: {triage: {attempt: 7s}}\n...\n",
		"anchors":               "plans:\n  other: &o {attempt: 7s}\n  triage: *o\n",
		"merge":                 "plans:\n  other: &o {attempt: 7s, tries: 2}\n  triage: {<<: *o, tries: 3}\n",
		"merge is last":         "plans:\n  other: &o {attempt: 9s}\n  triage: {attempt: 7s, <<: *o}\n",
		"merge gives way":       "plans:\n  other: &o {attempt: 9s}\n  triage:\n    <<: *o\n    attempt: 7s\n",
		"merge of a list":       "plans:\n  a: &a {attempt: 7s}\n  b: &b {attempt: 9s, tries: 1}\n  triage: {<<: [*a, *b]}\n",
		"quotes":                `"plans": {'triage': {"attempt": '7s'}}`,
		"block text":            "plans:\n  triage:\n    attempt: >-\n      7s\n",
		"json":                  `{"plans": {"triage": {"attempt": "7s"}}}`,
		"a variable":            "plans: {triage: {attempt: \"${SEVEN}s\"}}",
		"a default":             "plans: {triage: {attempt: \"${NONE:-7s}\"}}",
		"a number by a name":    "plans: {triage: {attempt: 7s, tries: \"${SEVEN}\"}}",
		"sections without keys": "retry:\nbreaker: # nothing\nplans:\n  generation:\n  triage: {attempt: 7s}",
	} {
		c, err := config.Parse([]byte(text+"\n"), env("SEVEN=7", "LLM_BEDROCK_MODEL=m", "AWS_REGION=r"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := c.Plans.Operations[llm.Triage].Limits.Attempt; got != 7*time.Second {
			t.Errorf("%s: attempt %v", name, got)
		}
	}
}

func TestABombOfAliasesIsAnError(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		prev := "*a" + string(rune('0'+(i-1)%10))
		b.WriteString("b" + strings.Repeat("x", i) + ": &a" + string(rune('0'+i%10)) + " [" + strings.Repeat(prev+", ", 8) + prev + "]\n")
	}
	start := time.Now()
	_, err := config.Parse([]byte(b.String()), nil)
	if err == nil || !strings.Contains(err.Error(), "too large") || time.Since(start) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestDeepAndLargeFilesAreErrors(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"brackets":  strings.Repeat("[", 100_000),
		"dashes":    strings.Repeat("- ", 15_000) + "a",
		"questions": strings.Repeat("? ", 15_000) + "a",
		"tags":      strings.Repeat("!a ", 10_000) + "a",
		"colons":    strings.Repeat("a: ", 12_000),
		"keys":      strings.Repeat("aa: 1\n", 20_000),
		"items":     "a: [" + strings.Repeat("x, ", 100_000) + "]",
		"levels":    levels(400),
		"size":      "a: " + strings.Repeat("x", 2<<20),
	} {
		if _, err := config.Parse([]byte(text), nil); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func levels(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestTargetsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	all := []string{
		"LLM_VERTEX_MODEL=g", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l", "LLM_BEDROCK_MODEL=m", "AWS_DEFAULT_REGION=r",
		"AZURE_OPENAI_ENDPOINT=https://azure.example", "AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_DEPLOYMENT=d", "AZURE_OPENAI_API_VERSION=v",
	}
	c, err := config.LoadWith("", &config.Options{Env: all})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, target := range c.Targets {
		names = append(names, target.Name+"/"+target.Provider)
	}
	if got := strings.Join(names, " "); got != "azure/azure bedrock/bedrock vertex/vertex" {
		t.Errorf("targets %s", got)
	}
	var s azureKeys
	if err := c.Targets[0].Settings(&s); err != nil || s.Endpoint != "https://azure.example" || s.Deployment != "d" || s.Key != "k" || s.Version != "v" {
		t.Errorf("%v %+v", err, s)
	}
	if got := c.Origin("targets.azure.api_key") + " " + c.Origin("targets.bedrock.region"); got != "AZURE_OPENAI_API_KEY AWS_DEFAULT_REGION" {
		t.Errorf("origins %s", got)
	}
	for _, variables := range [][]string{nil, {"AWS_REGION=r"}, {"GOOGLE_CLOUD_PROJECT=p"}, {"AZURE_OPENAI_ENDPOINT="}} {
		if _, err := config.Parse(nil, env(variables...)); !errors.Is(err, config.ErrNoTarget) {
			t.Errorf("%v: %v", variables, err)
		}
	}
}

func TestAGeminiKeyNeedsNoProject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ variables, want string }{
		{"GEMINI_API_KEY=k", "k"},
		{"GEMINI_API_KEY=k GOOGLE_API_KEY=g", "g"},
		{"GEMINI_API_KEY=k GOOGLE_CLOUD_PROJECT=p", ""}, // Vertex AI does not take it
		{"GOOGLE_API_KEY=g GOOGLE_CLOUD_PROJECT=p", "g"},
	} {
		c, err := config.Parse(nil, env(append(strings.Fields(test.variables), "LLM_VERTEX_MODEL=m")...))
		if err != nil {
			t.Errorf("%s: %v", test.variables, err)
			continue
		}
		var s struct {
			Project string `yaml:"project"`
			Model   string `yaml:"model"`
			Key     string `yaml:"api_key"`
		}
		if err := c.Targets[0].Settings(&s); err != nil || s.Key != test.want {
			t.Errorf("%s: %v %+v", test.variables, err, s)
		}
	}
}

func TestADirectiveIsNoDocument(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"%YAML 1.2\n---\n", "---\n", "# a comment\n\n---\n", "\ufeff---\n"} {
		c, err := config.Parse([]byte(head+"targets: [{name: a, provider: azure}]\n...\n"), nil)
		if err != nil || len(c.Targets) != 1 {
			t.Errorf("%q: %v", head, err)
		}
	}
}
