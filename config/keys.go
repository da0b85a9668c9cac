package config

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// errLook ends a factory that was only asked for its keys.
var errLook = errors.New("config: only the keys were asked for")

// settingsOf is the struct that a factory decodes its settings into, nil if it decodes none.
func settingsOf(factory llm.Factory) (t reflect.Type) {
	if factory == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // ends before it is used
	cancel()                                                // nothing is to be opened
	e, err := factory(ctx, func(into any) error {
		if p := reflect.TypeOf(into); t == nil && p != nil && p.Kind() == reflect.Pointer && p.Elem().Kind() == reflect.Struct {
			t = p.Elem()
		}
		return errLook
	})
	if err == nil && e.Close != nil {
		_ = e.Close()
	}
	return t
}

// section is a group of keys, for the schema and the reference.
type section struct {
	path   string // "plans.NAME", "targets[]", "targets[] of azure"
	doc    string
	fields []field
}

// sections are all keys: config's own, then those of each provider.
func sections(providers map[string]llm.Factory) []section {
	own := []section{
		{path: "", fields: firstOf(fields(reflect.TypeFor[File]()))},
		{path: "plans.NAME", doc: "NAME is an operation, such as triage, or default.", fields: firstOf(fields(reflect.TypeFor[FilePlan]()))},
		{path: "plans.NAME.hedge", fields: firstOf(fields(reflect.TypeFor[FileHedge]()))},
		{path: "retry", fields: firstOf(fields(reflect.TypeFor[FileRetry]()))},
		{path: "breaker", fields: firstOf(fields(reflect.TypeFor[FileBreaker]()))},
		{path: "targets[]", doc: "Beside these a target has the keys of its provider.", fields: firstOf(fields(reflect.TypeFor[FileTarget]()))},
		{path: "targets[].limits", fields: firstOf(fields(reflect.TypeFor[FileLimits]()))},
		{path: "targets[].can", fields: firstOf(fields(reflect.TypeFor[FileCan]()))},
	}
	var inner []section
	seen := map[reflect.Type]bool{}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		t := settingsOf(providers[name])
		if t == nil {
			continue
		}
		all := firstOf(fields(t))
		own = append(own, section{path: "targets[] of " + name, fields: all})
		inner = append(inner, within("targets[]", all, seen)...)
	}
	return append(own, inner...)
}

// within are the sections of the structs among the fields, each type once: providers share them.
func within(path string, all []field, seen map[reflect.Type]bool) (out []section) {
	for _, f := range all {
		t := plain(f.typ)
		if t.Kind() != reflect.Struct || isDuration(t) || seen[t] {
			continue
		}
		seen[t] = true
		s := section{path: path + "." + f.name, doc: f.doc, fields: firstOf(fields(t))}
		out = append(append(out, s), within(s.path, s.fields, seen)...)
	}
	return out
}

func firstOf(f []field, _ int) []field { return f }

func plain(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isDuration(t reflect.Type) bool { return slices.Contains(durationTypes, t) }
