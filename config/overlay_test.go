package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
)

// files writes files into a folder of their own and returns its path.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const base = `plans:
  triage: {attempt: 30s, targets: [a, b], max_retries: 1}
targets:
  - {name: a, provider: azure, endpoint: "https://a.example", deployment: d, api_key: "file:key.txt", tags: [x, y]}
  - {name: b, provider: azure, endpoint: "https://b.example", deployment: d, api_key: k}
`

const prod = `plans:
  triage: {attempt: 20s, targets: [b]}
  generation: {idle: 5s}
targets:
  - {name: c, provider: azure, endpoint: "https://c.example", deployment: d, api_key: k}
  - {name: a, endpoint: "https://prod.example", tags: [z], api_key: , auth: entra}
`

func TestAnOverlayGoesOverTheFile(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"llm.yaml": base, "llm.prod.yaml": prod, "key.txt": "k-file\n"})
	path := filepath.Join(dir, "llm.yaml")
	c, err := config.LoadWith(path, &config.Options{Env: []string{"LLM_ENV=prod", "LLM_GENERATION_TIMEOUT=7"}})
	if err != nil {
		t.Fatal(err)
	}
	tr, g := c.Plans.Operations[llm.Triage], c.Plans.Operations[llm.Generation]
	if tr.Limits.Attempt != 20*time.Second || strings.Join(tr.Targets, " ") != "b" || tr.MaxRetries != 1 ||
		g.Limits.Idle != 5*time.Second || g.Limits.Attempt != 7*time.Second {
		t.Errorf("plans %+v", c.Plans)
	}
	var names []string
	for _, target := range c.Targets {
		names = append(names, target.Name)
	}
	var s azureKeys
	if err := c.Target("a").Settings(&s); err != nil || strings.Join(names, " ") != "a b c" ||
		s.Endpoint != "https://prod.example" || s.Key != "" || s.Auth != "entra" || strings.Join(c.Target("a").Tags, " ") != "z" {
		t.Errorf("targets %v, a %+v, %v", names, s, err)
	}
	over := filepath.Join(dir, "llm.prod.yaml")
	for at, want := range map[string]string{
		"plans.triage.attempt": over + ":2:21", "plans.triage.max_retries": path + ":2:56",
		"targets.a.endpoint": over + ":6:25", "targets.a.deployment": path + ":4:75",
	} {
		if got := c.Origin(at); got != want {
			t.Errorf("%s is from %s, want %s", at, got, want)
		}
	}
	if got := c.Files(); len(got) != 2 || got[0] != path || got[1] != over {
		t.Errorf("files %v", got)
	}
	plain, err := config.LoadWith(path, &config.Options{Env: []string{}})
	if err != nil || plain.Plans.Operations[llm.Triage].Limits.Attempt != 30*time.Second {
		t.Fatalf("without an overlay: %v", err)
	}
	if err := plain.Target("a").Settings(&s); err != nil || s.Key != "k-file" {
		t.Errorf("a file: value beside the file: %q, %v", s.Key, err)
	}
	if plain.Target("a").Fingerprint == c.Target("a").Fingerprint || plain.Target("b").Fingerprint != c.Target("b").Fingerprint {
		t.Error("the fingerprints do not follow the settings")
	}
}

func TestErrorsOfAnOverlayNameItsFile(t *testing.T) {
	t.Parallel()
	for overlay, want := range map[string]string{
		"plans: {triage: {atempt: 5s}}":           `llm.prod.yaml:1:18: plans.triage: unknown key "atempt"; did you mean "attempt"?`,
		"plans: {triage: {targets: [d]}}":         `llm.prod.yaml:1:28: plans.triage.targets: no target is named "d"`,
		"targets: [{name: b, deployment: [x]}]":   `llm.prod.yaml:1:33: targets.b.deployment: a list stands where text is wanted`,
		"targets: []":                             "",
		"# nothing":                               "",
		"plans: {triage: {targets: [a, a]}}":      `llm.prod.yaml:1:31: plans.triage.targets: "a" is named twice`,
		"targets:\n  - {provider: azure}":         `llm.prod.yaml:2:5: targets[2]: the target has no name`,
		"plans: [":                                `llm.prod.yaml:1:8: `,
		"plans: {triage: {attempt: \"${NONE}\"}}": `llm.prod.yaml:1:27: plans.triage.attempt: NONE is not set`,
	} {
		dir := files(t, map[string]string{"llm.yaml": base, "llm.prod.yaml": overlay, "key.txt": "k\n"})
		c, err := config.LoadWith(filepath.Join(dir, "llm.yaml"), &config.Options{Env: []string{}, Overlay: "prod"})
		if err == nil {
			_, err = c.Build(t.Context(), fakes(), nil)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\ngot  %v\nwant %s", overlay, err, want)
		}
	}
	dir := files(t, map[string]string{"llm.yaml": base, "llm.prod.yaml": "", "key.txt": "k\n"})
	_, err := config.LoadWith(filepath.Join(dir, "llm.yaml"), &config.Options{Env: []string{"LLM_ENV=prdo"}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "prod"?`) {
		t.Errorf("a mistyped environment: %v", err)
	}
}

func TestAnOverlayNamesATargetOnce(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"llm.yaml": base, "key.txt": "k",
		"llm.prod.yaml": "targets:\n  - {name: a, deployment: one}\n  - {name: a, deployment: two}\n",
	})
	_, err := config.LoadWith(filepath.Join(dir, "llm.yaml"), &config.Options{Env: []string{"LLM_ENV=prod"}})
	if err == nil || !strings.Contains(err.Error(), "llm.prod.yaml:3:12: targets.a.name: \"a\" is the name of two targets") {
		t.Errorf("got %v", err)
	}
}
