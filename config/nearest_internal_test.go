package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// mistyped are the words that one slip makes of a key: a letter left out, doubled, replaced, or swapped with the next.
func mistyped(key string) (all []string) {
	for i := range key {
		all = append(all, key[:i]+key[i+1:], key[:i+1]+key[i:], key[:i]+"q"+key[i+1:])
		if i+1 < len(key) {
			all = append(all, key[:i]+key[i+1:i+2]+key[i:i+1]+key[i+2:])
		}
	}
	return append(all, strings.ToUpper(key), strings.ReplaceAll(key, "_", "-"), strings.ReplaceAll(key, "_", ""))
}

func TestAMistypedKeyIsNamed(t *testing.T) {
	t.Parallel()
	for at, typ := range map[string]reflect.Type{
		"%s: 1": reflect.TypeFor[File](), "plans: {triage: {%s: 1}}": reflect.TypeFor[FilePlan](),
		"plans: {triage: {hedge: {%s: 1}}}": reflect.TypeFor[FileHedge](), "retry: {%s: 1}": reflect.TypeFor[FileRetry](),
		"breaker: {%s: 1}": reflect.TypeFor[FileBreaker](), "targets: [{name: a, provider: b, limits: {%s: 1}}]": reflect.TypeFor[FileLimits](),
		"targets: [{name: a, provider: b, can: {%s: 1}}]": reflect.TypeFor[FileCan](),
	} {
		all, _ := fields(typ)
		known := names(all)
		for _, key := range known {
			for _, wrong := range mistyped(key) {
				if wrong == "" || contains(known, wrong) {
					continue
				}
				_, err := Parse(fmt.Appendf(nil, at, wrong), nil)
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown key %q; did you mean ", wrong)) {
					t.Errorf("%s for %s: %v", wrong, key, err)
					continue
				}
				if named := nearest(wrong, known); named != key && distance(wrong, named) > distance(wrong, key) {
					t.Errorf("%s is said to be %s, not %s", wrong, named, key)
				}
			}
		}
	}
}

func contains(all []string, word string) bool {
	for _, w := range all {
		if w == word {
			return true
		}
	}
	return false
}
