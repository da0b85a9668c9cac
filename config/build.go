package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
)

// Build opens the targets and puts them into a chain. It sends nothing. providers are the factories by the name that
// a target's provider has.
//
// With prev the chain takes over from it: breakers, cool-downs, retry tokens and connections of the targets whose
// name and settings are the same live on, calls under way end on prev, and prev need not be closed; of Config.Breaker
// all but OnChange is new. An error, an
// [*Error] where the configuration is wrong, leaves prev as it was.
func (c *Config) Build(ctx context.Context, providers map[string]llm.Factory, prev *fallback.Chain) (*fallback.Chain, error) {
	var targets []fallback.Target
	var r report
	for i := range c.Targets {
		t, err := c.open(ctx, &c.Targets[i], providers, prev)
		if err != nil {
			c.explain(&r, &c.Targets[i], err)
			continue
		}
		targets = append(targets, t)
	}
	err := r.err()
	if err == nil {
		var chain *fallback.Chain
		if chain, err = fallback.New(targets, c.options(prev)); err == nil {
			chain.Breakers().Adjust(c.Breaker.Threshold, c.Breaker.OpenFor)
			return chain, nil
		}
	}
	for i := range targets {
		if targets[i].Close != nil {
			_ = targets[i].Close() // nothing was sent
		}
	}
	return nil, err
}

func (c *Config) options(prev *fallback.Chain) *fallback.Options {
	o := &fallback.Options{Plans: c.Plans, Emergency: c.Emergency, RetryTokens: c.RetryTokens, Prev: prev}
	if prev == nil {
		o.Breakers = breaker.NewSet(&c.Breaker)
	}
	return o
}

// open opens one target. Where the chain goes on with prev's, what was opened is closed again.
func (c *Config) open(ctx context.Context, t *Target, providers map[string]llm.Factory, prev *fallback.Chain) (fallback.Target, error) {
	factory := providers[t.Provider]
	if factory == nil {
		known := slices.Sorted(maps.Keys(providers))
		return fallback.Target{}, unknownProvider{slices.DeleteFunc(known, func(name string) bool { return providers[name] == nil })}
	}
	settings := t.Settings
	if settings == nil {
		settings = func(any) error { return nil }
	}
	e, err := call(ctx, factory, settings)
	if err != nil {
		return fallback.Target{}, err
	}
	out := fallback.Target{
		Name: t.Name, Generator: e.Generator, Model: e.Model, Pool: t.Pool, Weight: t.Weight, QuotaGroup: t.QuotaGroup,
		Tags: t.Tags, Limits: t.Limits, Can: t.Can.over(e.Can), Prompt: e.Prompt, Fingerprint: t.Fingerprint, Close: e.Close,
	}
	if prev.Keeps(t.Name, t.Fingerprint) {
		if e.Close != nil {
			_ = e.Close() // nothing was sent
		}
		out.Generator, out.Close = nil, nil
	}
	return out, nil
}

// call asks a factory. One that panics fails: a Reload must not end a program that has a configuration that works.
func call(ctx context.Context, factory llm.Factory, settings func(any) error) (e llm.Endpoint, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = llm.Endpoint{}, fmt.Errorf("the factory of its provider panicked: %v", p)
		}
	}()
	switch e, err = factory(ctx, settings); {
	case err != nil:
		return llm.Endpoint{}, err
	case e.Generator == nil:
		return llm.Endpoint{}, errors.New("the factory of its provider made no generator")
	}
	return e, nil
}

// over is what the provider says with what the configuration says over it.
func (f FileCan) over(c llm.Capabilities) llm.Capabilities {
	if f.ContextWindow > 0 {
		c.ContextWindow = f.ContextWindow
	}
	if f.MaxOutput > 0 {
		c.MaxOutput = f.MaxOutput
	}
	if f.Streams != nil {
		c.Streams = *f.Streams
	}
	if f.Silent != nil {
		c.Silent = *f.Silent
	}
	c.Lacks = slices.Clone(c.Lacks)
	for _, what := range f.Lacks {
		if !slices.Contains(c.Lacks, what) {
			c.Lacks = append(c.Lacks, what)
		}
	}
	return c
}

// unknownProvider is a provider that the program was built without.
type unknownProvider struct{ known []string }

func (unknownProvider) Error() string { return "unknown provider" }

// explain adds what is wrong with a target, at the place where it is written.
func (c *Config) explain(r *report, t *Target, err error) {
	var n *node
	if c.tree != nil {
		n = c.tree.targets[t.Name]
	}
	path, at := "targets."+t.Name, place{}
	if n != nil {
		at = n.at
	}
	var unknown unknownProvider
	var own *Error
	var field *llm.FieldError
	switch {
	case errors.As(err, &own):
		r.problems = append(r.problems, own.Problems...)
	case errors.As(err, &unknown):
		if p := n.get("provider"); p != nil {
			at = p.at
		}
		fix, note := "", "there are: "+list(unknown.known)
		if near := nearest(t.Provider, unknown.known); near != "" {
			fix = fmt.Sprintf("%q?", near)
		}
		if len(unknown.known) == 0 {
			note = "next: build the program with providers"
		}
		r.add(at, path+".provider", "the provider "+quoteKey(t.Provider)+" is unknown", fix, note)
	case errors.As(err, &field):
		at := c.placeOf(n, field.Field, at)
		note := field.Next
		if note != "" {
			note = "next: " + note
		}
		r.add(at, path+"."+field.Field, n.discreet(field.Problem), "", n.discreet(note))
	default:
		r.add(at, path, "cannot be opened: "+n.discreet(oneLine(err.Error())), "", "next: check the target's settings")
	}
}

// discreet is a text of a provider, or another if it repeats a value that may be a secret.
func (n *node) discreet(text string) string {
	if n == nil {
		return text
	}
	for _, secret := range n.secrets("", false) {
		if strings.Contains(text, secret) {
			return "its provider says why, but the text repeats a setting and is not shown"
		}
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// placeOf is where a field of a target is written, or else where the target is.
func (c *Config) placeOf(n *node, field string, at place) place {
	if n == nil {
		return at
	}
	for key := range strings.SplitSeq(field, ".") {
		key, _, _ = strings.Cut(key, "[")
		next := n.get(key)
		if next == nil {
			return at
		}
		n, at = next, next.at
		at.hidden = secretKey(key)
	}
	return at
}
