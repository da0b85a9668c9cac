package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
)

// keys are n keys of a map, written by form.
func keys(n int, form string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// TestNoFileTakesLong: a file within the size that is read is done with in seconds, whatever it is made of. The time is
// far above what it takes, and far below what a step for each pair of its signs would.
func TestNoFileTakesLong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"commas":              "plans: {" + strings.Repeat(",", 900_000) + "}",
		"colons":              "plans: " + strings.Repeat("a: ", 300_000),
		"quotes":              strings.Repeat("a: \"\n", 200_000),
		"unknown":             keys(60_000, "k%d: 1\n"),
		"plans":               "plans:\n" + keys(30_000, "  p%d: {attempt: 5s}\n"),
		"one line":            "targets: [" + keys(12_000, "{name: a%d, provider: openai, model: m},") + "]",
		"as many as are read": "targets: [" + keys(3_000, "{name: a%d, provider: openai, model: m},") + "]",
		"key":                 strings.Repeat("k", 900_000) + ": 1",
		"value":               "targets: [{name: a, provider: openai, api_key: \"" + strings.Repeat("${", 50_000) + "\"}]",
		"words":               strings.Repeat("- ", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := config.Parse([]byte(text), nil)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if name != "as many as are read" && err == nil {
				t.Error("it is no configuration, and nobody said so")
			}
			if name == "key" && strings.Contains(fmt.Sprint(err), "did you mean") {
				t.Errorf("%v", err)
			}
		})
	}
}
