package config

import (
	"reflect"
	"slices"
)

// ownWords are all keys that are config's own, and those that most providers have.
func ownWords() []string {
	words := []string{"endpoint", "deployment", "model", "region", "project", "location", "api_key", "api_version", "default"}
	for _, t := range []reflect.Type{
		reflect.TypeFor[File](), reflect.TypeFor[FilePlan](), reflect.TypeFor[FileHedge](), reflect.TypeFor[FileRetry](),
		reflect.TypeFor[FileBreaker](), reflect.TypeFor[FileTarget](), reflect.TypeFor[FileLimits](), reflect.TypeFor[FileCan](),
	} {
		all, _ := fields(t)
		words = slices.Concat(words, names(all))
	}
	return words
}

// ownerOf is the section that a key belongs to, "" if there is none or more than one.
func ownerOf(key string) string {
	owner := ""
	for _, s := range []struct {
		name string
		t    reflect.Type
	}{
		{"plans.NAME", reflect.TypeFor[FilePlan]()},
		{"retry", reflect.TypeFor[FileRetry]()},
		{"breaker", reflect.TypeFor[FileBreaker]()},
		{"the top of the file", reflect.TypeFor[File]()},
	} {
		all, _ := fields(s.t)
		for _, f := range all {
			if f.name == key {
				if owner != "" {
					return ""
				}
				owner = s.name
			}
		}
	}
	return owner
}
