package config_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestAFactoryThatMisbehaves: whatever a factory does, Build says which target it was, without its secrets, closes what
// it had opened, and leaves the chain in use alone.
func TestAFactoryThatMisbehaves(t *testing.T) {
	t.Parallel()
	c, err := config.Parse([]byte(`targets:
  - {name: good, provider: good}
  - {name: bad, provider: bad, api_key: `+canary+`}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		bad  llm.Factory
		want string
	}{
		"nil":     {nil, `the provider "bad" is unknown; there are: good`},
		"panic":   {func(context.Context, func(any) error) (llm.Endpoint, error) { panic("index out of range") }, "targets.bad: cannot be opened: the factory of its provider panicked: index out of range"},
		"secret":  {func(context.Context, func(any) error) (llm.Endpoint, error) { panic("no user " + canary) }, "targets.bad: cannot be opened: its provider says why"},
		"nothing": {func(context.Context, func(any) error) (llm.Endpoint, error) { return llm.Endpoint{}, nil }, "targets.bad: cannot be opened: the factory of its provider made no generator"},
		"failed":  {func(context.Context, func(any) error) (llm.Endpoint, error) { return llm.Endpoint{}, errors.New("no") }, "targets.bad: cannot be opened: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := 0
			good := func(context.Context, func(any) error) (llm.Endpoint, error) {
				return llm.Endpoint{Generator: llmtest.New(llmtest.Text("ok")), Prompt: true, Close: func() error { closed++; return nil }}, nil
			}
			_, err := c.Build(t.Context(), map[string]llm.Factory{"good": good, "bad": test.bad}, nil)
			var wrong *config.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "llm.yaml:3:") {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if closed != 1 {
				t.Errorf("what was opened was closed %d times", closed)
			}
			if err != nil {
				checkNoSecret(t, err)
			}
		})
	}
}
