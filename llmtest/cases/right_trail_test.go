package cases_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// words are one word or several.
type words []string

// UnmarshalJSON reads a text or a list of texts.
func (w *words) UnmarshalJSON(data []byte) (err error) {
	*w, err = wantAll[string](data)
	return err
}

// checkAttemptError wants a failed attempt of each provider to be of the kind, or of one of the kinds.
func checkAttemptError(o *observation, raw json.RawMessage) error {
	all, err := perProvider[words](o, raw)
	if err != nil {
		return err
	}
	for name, kinds := range all {
		for _, r := range o.judged() {
			if err := anyAttempt(r, name, kinds); err != nil {
				return err
			}
		}
	}
	return nil
}

func anyAttempt(r *result, target string, kinds words) error {
	err := fmt.Errorf("no failed attempt of %s is in the trail", target)
	for _, a := range r.attempts() {
		if a.Target != target || a.Kind == "" {
			continue
		}
		for _, word := range kinds {
			if err = isKind(word, a.Kind); err == nil {
				return nil
			}
		}
	}
	return err
}

func checkErrorFirst(o *observation, raw json.RawMessage) error {
	return oneKind(slices.Concat(o.before, o.calls)[0], raw)
}

// checkErrorAfterOpen wants every call that began after a breaker opened to end so.
func checkErrorAfterOpen(o *observation, raw json.RawMessage) error {
	n := 0
	for _, at := range o.opened {
		for _, r := range slices.Concat(o.before, o.calls) {
			if r.start.After(at.at) {
				n++
				if err := oneKind(r, raw); err != nil {
					return err
				}
			}
		}
	}
	if n == 0 {
		return errors.New("no call came after an opening")
	}
	return nil
}

// checkSequence wants the calls to end so, in order; of a single call, its attempts.
func checkSequence(o *observation, raw json.RawMessage) error {
	w, err := want[[]words](raw)
	if err != nil {
		return err
	}
	for _, calls := range [][]*result{o.calls, slices.Concat(o.calls, o.then), slices.Concat(o.before, o.calls), slices.Concat(o.before, o.calls, o.then)} {
		if len(calls) != len(w) {
			continue
		}
		for i, r := range calls {
			if err := oneKind(r, encode(w[i])); err != nil {
				return fmt.Errorf("call %d: %w", i+1, err)
			}
		}
		return nil
	}
	attempts := o.calls[0].attempts()
	if len(o.calls) != 1 || len(attempts) != len(w) {
		return fmt.Errorf("there are %d calls", len(o.calls))
	}
	for i, a := range attempts {
		if !slices.ContainsFunc(w[i], func(word string) bool {
			if target, kind, ok := strings.Cut(word, ":"); ok {
				return a.Target == target && isKind(kind, a.Kind) == nil
			}
			return isKind(word, a.Kind) == nil
		}) {
			return fmt.Errorf("attempt %d: %s:%s", i+1, a.Target, kindWord(a.Kind))
		}
	}
	return nil
}

// checkAttempts wants exactly these attempts, as "target:kind".
func checkAttempts(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[[]string](raw)
	if err != nil {
		return err
	}
	var got []string
	fits := len(w) == len(r.attempts())
	for i, a := range r.attempts() {
		got = append(got, a.Target+":"+kindWord(a.Kind))
		if fits {
			target, kind, _ := strings.Cut(w[i], ":")
			fits = target == a.Target && isKind(kind, a.Kind) == nil
		}
	}
	if !fits {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func checkStatus(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[int](raw)
	if err != nil {
		return err
	}
	if e := r.failure(); e != nil {
		return same(e.Status, raw)
	}
	if !slices.ContainsFunc(r.attempts(), func(a llm.Attempt) bool { return a.Status == w }) {
		return fmt.Errorf("no attempt has it: %+v", r.attempts())
	}
	return nil
}

func checkRequestID(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	if e := r.failure(); e != nil {
		return same(e.RequestID, raw)
	}
	if !slices.ContainsFunc(r.attempts(), func(a llm.Attempt) bool { return a.RequestID == w }) {
		return fmt.Errorf("no attempt has it: %+v", r.attempts())
	}
	return nil
}

func checkDetail(_ *observation, r *result, raw json.RawMessage) error {
	all, err := wantAll[string](raw)
	if err != nil {
		return err
	}
	text := r.failure().Detail() + "\n" + fmt.Sprintf("%+v", r.err)
	for _, w := range all {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimPrefix(w, "HARM_CATEGORY_"))) {
			return fmt.Errorf("the error says %s", text)
		}
	}
	return nil
}

// target is who answered.
func (r *result) target() string {
	if r.err == nil && r.resp != nil {
		return r.resp.Target
	}
	return ""
}

func checkServedBy(o *observation, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	others, _ := want[string](o.c.Right["others_served_by"])
	for _, r := range o.judged() {
		if got := r.target(); got != w && (others == "" || got != others) {
			return fmt.Errorf("got %q", got)
		}
	}
	return nil
}

// checkOthers wants all calls served so but one for each request that was let through after the cool-down.
func checkOthers(o *observation, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	probes, _ := perProvider[int](o, o.c.Right["requests_after_cooldown"])
	let := 0
	for _, n := range probes {
		let += n
	}
	n := 0
	for _, r := range o.judged() {
		if r.target() != w {
			n++
		}
	}
	if n > max(1, let) {
		return fmt.Errorf("%d calls were not", n)
	}
	return nil
}

func checkMin(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[float64](raw)
	if err == nil && r.took() < ms(w) {
		err = fmt.Errorf("took %v", r.took())
	}
	return err
}

func checkMax(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[float64](raw)
	if err == nil && r.took() > slacken(ms(w)) {
		err = tooLate{fmt.Errorf("took %v", r.took())}
	}
	return err
}

// tooLate is a finding that a slow machine may make, too.
type tooLate struct{ error }

// Unwrap is for errors.As.
func (e tooLate) Unwrap() error { return e.error }

func checkStarted(o *observation, raw json.RawMessage) error {
	all, err := want[map[string]words](raw)
	for name, kinds := range all {
		r := o.started[name]
		if r == nil {
			return fmt.Errorf("%s was never started", name)
		}
		if err := oneKind(r, encode(kinds)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return err
}
