package cases_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/punctual-llm/punctual/breaker"
)

// checkRunner changes each value of right in each case that passed, and wants every change noticed.
func checkRunner(t *testing.T, verdicts []*verdict) (tried map[string]int) {
	t.Helper()
	tried = map[string]int{}
	for _, v := range verdicts {
		if !v.passed() {
			continue
		}
		for _, o := range v.seen {
			for name, raw := range o.c.Right {
				if checks[name] == nil {
					continue
				}
				for _, changed := range changes(o, name, raw) {
					tried[name]++
					if checks[name](o, changed) == nil {
						t.Errorf("%s, %s: %s was %s, and %s was not noticed", v.c.ID, o.variant, name, raw, changed)
					}
				}
			}
		}
	}
	return tried
}

// changes are values of a field of right that must not be right, each with one thing changed.
func changes(o *observation, name string, raw json.RawMessage) (all []json.RawMessage) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	switch name {
	case "outcome":
		if o.judged()[0].err == nil {
			return []json.RawMessage{encode("error")}
		}
		return []json.RawMessage{encode("ok")}
	}
	change(name, v, 0, func(changed any) { all = append(all, encode(changed)) })
	return all
}

// alternatives are fields in which the innermost list is one of several kinds, any of which is right.
var alternatives = []string{"error", "error_first", "error_after_open", "attempt_error", "attempt_error_in", "sequence", "started"}

// eitherOf reports whether a value of a field is a list of kinds that are all right.
func eitherOf(name string, v []any, depth int) bool {
	if name == "sequence" && depth == 0 {
		return false
	}
	return slices.Contains(alternatives, name) && !slices.ContainsFunc(v, func(one any) bool { _, ok := one.(string); return !ok })
}

// change yields v with one leaf changed, for each leaf, and lists with an element more.
func change(name string, v any, depth int, yield func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			change(name, inner, depth+1, func(changed any) {
				whole := maps.Clone(v)
				whole[key] = changed
				yield(whole)
			})
		}
	case []any:
		if eitherOf(name, v, depth) {
			yield([]string{noneOf(v)})
			return
		}
		for i, inner := range v {
			change(name, inner, depth+1, func(changed any) {
				whole := slices.Clone(v)
				whole[i] = changed
				yield(whole)
			})
		}
		if name == "detail_has" || name == "request_has" {
			return
		}
		more := any("more")
		if len(v) > 0 {
			more = v[0]
		} else if name == "tool_calls" || name == "tool_calls_raw" {
			more = []string{"id", "name", "{}"}
		}
		yield(append(slices.Clone(v), more))
	case string:
		yield(anotherWord(name, v))
	case bool:
		yield(!v)
	case float64:
		yield(anotherNumber(name, v))
	}
}

// noneOf is a kind that is not among v.
func noneOf(v []any) string {
	if slices.Contains(v, any("auth")) {
		return "not_found"
	}
	return "auth"
}

// anotherWord is a word of the same kind.
func anotherWord(name, v string) string {
	_, isKind := kinds[v]
	switch {
	case name == "finish" && v == "stop", name == "finish" && v == "content_filter":
		return "length"
	case name == "finish":
		return "stop"
	case name != "text" && name != "partial" && isKind && v == "auth":
		return "not_found"
	case name != "text" && name != "partial" && isKind:
		return "auth"
	case v == string(breaker.Closed):
		return string(breaker.Open)
	case v == string(breaker.Open), v == string(breaker.HalfOpen):
		return string(breaker.Closed)
	default:
		return v + "~"
	}
}

// anotherNumber is a number beyond what was seen.
func anotherNumber(name string, v float64) float64 {
	switch name {
	case "min_ms":
		return 1e9
	case "max_ms", "peer_sees_close_within_ms", "goroutines_back_within_ms", "requests_max", "connections_opened_max":
		return -1e9
	default:
		return v + 1
	}
}
