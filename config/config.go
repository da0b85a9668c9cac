package config

import (
	"fmt"
	"strings"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Config is what a file and the environment say, checked as far as it can be without the providers. It is plain data
// but for the secrets, which only Target.Settings hands out: a Config that is printed or logged shows none. Fields may
// be changed before Build.
type Config struct {
	Plans       policy.Plans
	Breaker     breaker.Options
	RetryTokens int // as in fallback.Options: 0 is 100, negative no limit
	Emergency   bool
	Targets     []Target
	// Warnings are what looks wrong and does not stop anything, in the order of the file.
	Warnings []Warning
	// Overrides are the settings that a variable replaced.
	Overrides []Override

	tree *tree
}

// Target is one way to reach a model, as configured.
type Target struct {
	Name, Provider, Pool, QuotaGroup string
	Weight                           int
	Tags                             []string
	Limits                           llm.Limits
	// Can is what the configuration says of the model; it goes over what the provider says.
	Can FileCan
	// Fingerprint is of the provider and its settings, secrets and the contents of file: values included. It is a
	// hash, so it may be shown.
	Fingerprint string
	// Settings decodes, strictly, the keys that are not config's own into a struct with yaml tags, as an
	// llm.Factory wants it. Its error is an *Error.
	Settings func(into any) error `json:"-"`
}

// Warning is one thing that looks wrong.
type Warning struct {
	Origin string // where: "llm.yaml:5:28", the name of a variable, or "" for the whole
	Path   string // the setting, "" if it is none
	Text   string // what looks wrong
	Next   string // what to do
}

// String is the warning on one line.
func (w Warning) String() string {
	var parts []string
	for _, p := range []string{w.Origin, w.Path, w.Text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	s := strings.Join(parts, ": ")
	if w.Next != "" {
		s += "; " + w.Next
	}
	return s
}

// Override is a setting that a variable replaced: plans.generation.attempt by LLM_GENERATION_TIMEOUT.
type Override struct {
	Path     string
	Variable string
	Value    string // as the variable has it
	Old      string // as the file has it, "" if it says nothing
	OldFrom  string // where it has it: "llm.yaml:5:28", or "default"
}

// tree is what a Config knows of the files it was made from.
type tree struct {
	file    string // the name of the file, "" without one
	root    *node
	origin  map[string]place
	files   []string
	targets map[string]*node
}

// Origin is where the value of a setting came from: "llm.yaml:5:28", the name of a variable, or "default". A path is
// that of an error or a warning, such as "plans.triage.attempt", "retry.max" or "targets.azure.api_key".
func (c *Config) Origin(path string) string {
	if c == nil || c.tree == nil {
		return place{}.String()
	}
	if p, ok := c.tree.origin[path]; ok {
		return p.String()
	}
	if from := inheritedFrom(path); from != "" {
		return c.Origin(from)
	}
	return place{}.String()
}

// inheritedFrom is the path that a setting has its value from when it has none of its own.
func inheritedFrom(path string) string {
	rest, ok := strings.CutPrefix(path, "plans.")
	if !ok {
		return ""
	}
	op, key, ok := strings.Cut(rest, ".")
	switch {
	case !ok:
		return ""
	case key == "max_retries" && op == defaultPlan:
		return "retry.max_retries"
	case op == defaultPlan, key == "attempt" && builtIn(op):
		return ""
	default:
		return "plans." + defaultPlan + "." + key
	}
}

// Variables are the names of the variables in the value of a setting, or of all settings below it:
// Variables("targets.azure.api_key") is [AZURE_OPENAI_API_KEY].
func (c *Config) Variables(path string) []string {
	if c == nil || c.tree == nil {
		return nil
	}
	if p, ok := c.tree.origin[path]; ok && p.variable != "" {
		return []string{p.variable}
	}
	return c.tree.find(path).variables()
}

// Files are the files that were read: the file itself, then its overlay. Values of file: are not among them.
func (c *Config) Files() []string {
	if c == nil || c.tree == nil {
		return nil
	}
	return append([]string(nil), c.tree.files...)
}

// Target returns the target of a name, nil if there is none.
func (c *Config) Target(name string) *Target {
	for i := range c.Targets {
		if c.Targets[i].Name == name {
			return &c.Targets[i]
		}
	}
	return nil
}

// find is the node at a path, nil if there is none.
func (t *tree) find(path string) *node {
	n := t.root
	for n != nil && path != "" {
		var key string
		key, path, _ = strings.Cut(path, ".")
		if key == "targets" && n == t.root && path != "" {
			key, path, _ = strings.Cut(path, ".")
			n = t.targets[key]
			continue
		}
		n = n.get(key)
	}
	return n
}

func (t *tree) warn(c *Config, at place, path, text, next string) {
	origin := at.String()
	if at == (place{}) {
		origin = ""
	}
	c.Warnings = append(c.Warnings, Warning{Origin: origin, Path: path, Text: text, Next: next})
}

// defaultPlan is the name of the plan for all operations.
const defaultPlan = "default"

// builtIn reports whether an operation has a limit of its own without a file.
func builtIn(op string) bool {
	switch llm.Operation(op) {
	case llm.Triage, llm.Orchestration, llm.Generation:
		return true
	default:
		return false
	}
}

// String names the target and its provider, and no setting.
func (t Target) String() string { return fmt.Sprintf("%s (%s)", t.Name, t.Provider) }
