package cases_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check compares what was seen with one field of right.
type check func(o *observation, raw json.RawMessage) error

// checks are all fields of right, but for words.
var checks = map[string]check{
	"outcome":                   eachCall(checkOutcome),
	"error":                     eachCall(func(_ *observation, r *result, raw json.RawMessage) error { return oneKind(r, raw) }),
	"attempt_error":             checkAttemptError,
	"attempt_error_in":          checkAttemptError,
	"error_first":               checkErrorFirst,
	"error_after_open":          checkErrorAfterOpen,
	"sequence":                  checkSequence,
	"text":                      eachCall(checkText),
	"text_len":                  eachCall(checkTextLen),
	"partial":                   eachCall(checkPartial),
	"incomplete":                eachCall(checkIncomplete),
	"finish":                    eachCall(checkFinish),
	"usage":                     eachCall(checkUsage),
	"tool_calls":                eachCall(checkToolCalls),
	"tool_calls_raw":            eachCall(checkToolCallsRaw),
	"tool_calls_names":          eachCall(checkToolNames),
	"call_flagged_invalid":      eachCall(checkFlagged),
	"distinct_ids":              eachCall(checkDistinctIDs),
	"response_id":               eachCall(checkResponseID),
	"response_model":            eachCall(checkResponseModel),
	"attempts_listed":           eachCall(checkAttempts),
	"status_kept":               eachCall(checkStatus),
	"request_id_kept":           eachCall(checkRequestID),
	"detail_has":                eachCall(checkDetail),
	"request_has":               checkRequestHas,
	"requests":                  checkRequests(func(got, want int) bool { return got == want }),
	"requests_max":              checkRequests(func(got, want int) bool { return got <= want }),
	"requests_total":            checkTotal,
	"requests_after_open":       checkAfterOpen,
	"requests_after_cooldown":   checkAfterCooldown,
	"served_by":                 checkServedBy,
	"others_served_by":          checkOthers,
	"min_ms":                    eachCall(checkMin),
	"max_ms":                    eachCall(checkMax),
	"started":                   checkStarted,
	"breaker":                   checkBreaker,
	"breaker_at_end_of":         checkBreakerAtEnd,
	"breaker_weight":            checkWeight,
	"peer_sees_close_within_ms": checkPeer,
	"goroutines_back_within_ms": checkGoroutines,
	"connections_opened_max":    checkConnections,
}

// finding is one thing that is not right.
type finding struct {
	text string
	kind findingKind
}

type findingKind int

const (
	differs findingKind = iota // from right
	late                       // a slow machine may find that, too
	fatal                      // it cannot be anybody's choice
)

// judge lists what is not right.
func (o *observation) judge() (all []finding) {
	for _, p := range o.problems {
		all = append(all, finding{p, fatal})
	}
	for _, name := range slices.Sorted(maps.Keys(o.c.Right)) {
		if wordsOnly(name) || name == "each" {
			continue
		}
		if err := checks[name](o, o.c.Right[name]); err != nil {
			kind := differs
			if _, ok := errors.AsType[tooLate](err); ok {
				kind = late
			}
			all = append(all, finding{fmt.Sprintf("%s %s: %v", name, o.c.Right[name], err), kind})
		}
	}
	if len(all) > 0 {
		all = append(all, finding{o.trail(), all[0].kind})
		for _, why := range o.refusals() {
			all = append(all, finding{why, all[0].kind})
		}
	}
	return all
}

// trail is how the last call went, for people.
func (o *observation) trail() string {
	r := o.calls[len(o.calls)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "the last call took %v:", r.took())
	for _, a := range r.attempts() {
		fmt.Fprintf(&b, " %s:%s", a.Target, kindWord(a.Kind))
		fmt.Fprintf(&b, " (%s status %d, after %v, took %v, not sent %v)", a.Bound, a.Status, a.Wait, a.Took, a.NotSent)
	}
	fmt.Fprintf(&b, "; %+v", r.err)
	return strings.ReplaceAll(b.String(), "\n", " | ")
}

// refusals say why a fake sent the other reply.
func (o *observation) refusals() (all []string) {
	for _, requests := range o.requests {
		for _, q := range requests {
			all = append(all, q.header["Case-Refused"]...)
		}
	}
	return all
}

// judged are the calls that right speaks of: all of them when it says so or when they ran at once, else the last.
func (o *observation) judged() []*result {
	if each, err := want[bool](o.c.Right["each"]); err == nil && each || o.c.Call.Parallel > 0 {
		return o.calls
	}
	return o.calls[len(o.calls)-1:]
}

func eachCall(one func(*observation, *result, json.RawMessage) error) check {
	return func(o *observation, raw json.RawMessage) error {
		for i, r := range o.judged() {
			if err := one(o, r, raw); err != nil {
				if len(o.judged()) > 1 {
					err = fmt.Errorf("call %d: %w", i+1, err)
				}
				return err
			}
		}
		return nil
	}
}

func checkOutcome(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	other, either := strings.CutPrefix(w, "ok_or_")
	if r.first != nil && r.first.err != nil {
		return r.first.err
	}
	switch {
	case w == "ok", either && r.err == nil:
		return r.ended("ok")
	case either && other != "error": // which is any of them
		return r.ended(other)
	case !either && w != "error":
		return errors.New("is unknown")
	case r.err == nil:
		return errors.New("got an answer")
	default:
		return nil
	}
}

func oneKind(r *result, raw json.RawMessage) error {
	w, err := wantAll[string](raw)
	if err != nil {
		return err
	}
	for _, word := range w {
		if err = r.ended(word); err == nil {
			return nil
		}
	}
	return err
}

// perProvider decodes an object by provider; anything else is for all providers of the case together.
func perProvider[T any](o *observation, raw json.RawMessage) (map[string]T, error) {
	var all map[string]T
	if err := json.Unmarshal(raw, &all); err == nil {
		for name := range all {
			if !slices.Contains(providerNames, name) {
				return nil, fmt.Errorf("the provider %q is unknown", name)
			}
		}
		return all, nil
	}
	one, err := want[T](raw)
	if err != nil {
		return nil, err
	}
	if len(o.c.Call.Providers) != 1 {
		return nil, errors.New("names no provider, and there are several")
	}
	return map[string]T{o.c.Call.Providers[0]: one}, nil
}
