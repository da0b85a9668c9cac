package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// ownKeys are the keys of a target that are not the provider's.
func ownKeys() []string {
	all, _ := fields(reflect.TypeFor[FileTarget]())
	return names(all)
}

// targets fills Config.Targets from the file, and from the environment if the file names none.
func (l *loader) targets(f *File) {
	section := l.tree.root.get("targets")
	if section == nil || section.kind == nullKind && !section.broken {
		l.environmentTargets()
		return
	}
	if section.kind == listKind && len(section.items) == 0 {
		l.report.add(section.at, "targets", "the list is empty", "write a target, or leave the key out for those of the environment", "")
	}
	for i := range f.Targets {
		switch n := section.item(i); {
		case n == nil || n.broken:
		case n.kind == mapKind:
			l.target(i, n, &f.Targets[i])
		case n.kind == nullKind: // what else it may be was told of before
			l.report.add(n.at, fmt.Sprintf("targets[%d]", i), "the target has no keys", "write { name: NAME, … }, or take the - away", "")
		}
	}
}

func (l *loader) target(i int, n *node, f *FileTarget) {
	path := itemPath("targets", fmt.Sprintf("targets[%d]", i), n)
	switch name := n.get("name"); {
	case name == nil:
		l.report.add(n.at, path, "the target has no name", "write name: NAME", "")
	case name.broken:
	case f.Name == "":
		l.report.add(name.at, path+".name", "the name is empty", "write name: NAME", "")
	case !isKey(f.Name):
		l.report.add(name.at, path+".name", "the name has other signs than letters, digits, . - and _, or is too long", "write one such as azure-eu", "")
	case l.tree.targets[f.Name] != nil:
		other := l.tree.targets[f.Name].get("name").at
		l.report.add(name.at, path+".name", quoteKey(name.quote())+" is the name of two targets", "write another name", "the other is at "+other.String())
		return
	}
	switch provider := n.get("provider"); {
	case provider == nil:
		l.report.add(n.at, path, "the target has no provider", "write provider: NAME, such as azure, bedrock or vertex", "")
	case !provider.broken && f.Provider == "":
		l.report.add(provider.at, path+".provider", "the name is empty", "write one such as azure, bedrock or vertex", "")
	}
	l.checkTarget(path, n, f)
	t := Target{
		Name: f.Name, Provider: f.Provider, Pool: f.Pool, QuotaGroup: f.QuotaGroup, Weight: f.Weight, Tags: f.Tags, Can: f.Can,
		Limits: llm.Limits{
			Attempt: time.Duration(f.Limits.Attempt), Connect: time.Duration(f.Limits.Connect),
			FirstContent: time.Duration(f.Limits.FirstContent), Idle: time.Duration(f.Limits.Idle),
		},
	}
	l.add(path, n, t)
}

// add completes a target with what is made from its node, and takes it up.
func (l *loader) add(path string, n *node, t Target) {
	t.Fingerprint = fingerprint(t.Provider, n)
	t.Settings = func(into any) error { return decodeSettings(path, n, into) }
	if t.Name != "" {
		l.tree.targets[t.Name] = n
	}
	l.config.Targets = append(l.config.Targets, t)
}

// fingerprint is a hash of what a provider is opened with.
func fingerprint(provider string, n *node) string {
	settings := map[string]any{}
	own := ownKeys()
	for _, e := range n.entries {
		if !slices.Contains(own, e.key) {
			settings[e.key] = new(decoder).free(e.value)
		}
	}
	data, err := json.Marshal([]any{provider, settings}) // map keys are sorted
	if err != nil {
		return "" // the same as no other: the chain takes nothing over
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// decodeSettings puts the provider's keys into its struct. It may be called at any time, by several at once.
func decodeSettings(path string, n *node, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return llm.Invalid("settings", "is decoded into something that is no pointer to a struct", "give a pointer to a struct")
	}
	own := ownKeys()
	copied := n.clone()
	copied.entries = slices.DeleteFunc(copied.entries, func(e entry) bool { return slices.Contains(own, e.key) })
	var r report
	d := &decoder{report: &r, extra: own}
	d.structure(path, copied, v.Elem())
	return r.err()
}

// clone is a copy without what errors have left.
func (n *node) clone() *node {
	c := *n
	c.broken = false
	c.entries = slices.Clone(n.entries)
	for i := range c.entries {
		c.entries[i].value = c.entries[i].value.clone()
	}
	c.items = slices.Clone(n.items)
	for i := range c.items {
		c.items[i] = c.items[i].clone()
	}
	return &c
}
