package cases_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
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

// whole is the text of an answer; streamed, it must be what arrived. A caller that leaves was given more than it took.
func (o *observation) whole(r *result) (string, error) {
	if errors.Is(r.err, errCaller) {
		return r.text, nil
	}
	text := r.answer().Text()
	if o.c.Call.Mode == "stream" && r.text != text {
		return text, fmt.Errorf("%.80q arrived, and the answer is %.80q", r.text, text)
	}
	return text, nil
}

func checkText(o *observation, r *result, raw json.RawMessage) error {
	text, err := o.whole(r)
	if err != nil {
		return err
	}
	w, err := want[string](raw)
	if err == nil && w != text {
		err = fmt.Errorf("got %.80q", text)
	}
	return err
}

func checkTextLen(o *observation, r *result, raw json.RawMessage) error {
	text, err := o.whole(r)
	if err != nil {
		return err
	}
	return same(len(text), raw)
}

func checkPartial(o *observation, r *result, raw json.RawMessage) error {
	if r.err == nil {
		return errors.New("the answer is whole")
	}
	return checkText(o, r, raw)
}

func checkIncomplete(_ *observation, r *result, raw json.RawMessage) error {
	incomplete := r.err != nil || r.resp.Finish == llm.FinishLength || r.resp.Finish == llm.FinishOther
	return same(incomplete, raw)
}

func checkFinish(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[string](raw)
	switch {
	case err != nil:
		return err
	case w == "content_filter": // here an error of its own
		return r.ended("blocked")
	case finishes[w] == "":
		return errors.New("is unknown")
	case r.answer() == nil || r.answer().Finish != finishes[w]:
		return fmt.Errorf("got %+v", r.answer())
	}
	return nil
}

func checkUsage(_ *observation, r *result, raw json.RawMessage) error {
	var w struct {
		In  *int64 `json:"in"`
		Out *int64 `json:"out"`
	}
	if err := strict(raw, &w); err != nil {
		return err
	}
	var u llm.Usage
	if a := r.answer(); a != nil {
		u = a.Usage
	}
	if w.In != nil && *w.In != u.Input || w.Out != nil && *w.Out != u.Output {
		return fmt.Errorf("got %+v", u)
	}
	return nil
}

// tools are the calls of tools of an answer: of the first turn, if there are two.
func (r *result) tools() []llm.ToolCall {
	if r.first != nil {
		return r.first.tools()
	}
	if a := r.answer(); a != nil {
		return a.Message.ToolCalls()
	}
	return nil
}

func toolCalls(r *result, raw json.RawMessage, sameArguments func(got, want string) bool) error {
	w, err := want[[][]string](raw)
	got := r.tools()
	if err == nil && len(got) != len(w) {
		err = fmt.Errorf("got %+v", got)
	}
	if err != nil {
		return err
	}
	for i, c := range got {
		switch {
		case len(w[i]) != 3:
			return errors.New("a call is an id, a name and arguments")
		case w[i][0] == "*" && c.ID == "", w[i][0] != "*" && w[i][0] != c.ID, w[i][1] != c.Name, !sameArguments(c.Arguments, w[i][2]):
			return fmt.Errorf("got %+v", got)
		}
	}
	return nil
}

func checkToolCalls(_ *observation, r *result, raw json.RawMessage) error {
	return toolCalls(r, raw, func(got, want string) bool { return sameJSON([]byte(got), []byte(want)) })
}

func checkToolCallsRaw(_ *observation, r *result, raw json.RawMessage) error {
	return toolCalls(r, raw, func(got, want string) bool { return got == want })
}

func checkToolNames(_ *observation, r *result, raw json.RawMessage) error {
	names := []string{}
	for _, c := range r.tools() {
		names = append(names, c.Name)
	}
	return same(names, raw)
}

func checkFlagged(_ *observation, r *result, raw json.RawMessage) error {
	flagged := false
	for _, c := range r.tools() {
		var arguments map[string]any
		flagged = flagged || llm.KindOf(c.Decode(&arguments)) == llm.ErrBadOutput
	}
	return same(flagged, raw)
}

func checkDistinctIDs(_ *observation, r *result, raw json.RawMessage) error {
	ids := map[string]bool{}
	for _, c := range r.tools() {
		if c.ID != "" {
			ids[c.ID] = true
		}
	}
	return same(len(ids), raw)
}

func checkResponseID(_ *observation, r *result, raw json.RawMessage) error {
	if r.answer() == nil {
		return errors.New("there is no answer")
	}
	return same(r.answer().ID, raw)
}

// checkResponseModel wants the model that was asked, if it is one that the case configures, else the one that answered.
func checkResponseModel(o *observation, r *result, raw json.RawMessage) error {
	if r.answer() == nil {
		return errors.New("there is no answer")
	}
	w, err := want[string](raw)
	if err == nil && slices.Contains(slices.Collect(maps.Values(o.c.Call.Models)), w) {
		return same(r.answer().Model.Model, raw)
	}
	return same(r.answer().ModelVersion, raw)
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

// checkRequestHas wants a text in a request of the provider: in its address, its headers or its body.
func checkRequestHas(o *observation, raw json.RawMessage) error {
	all, err := perProvider[words](o, raw)
	if err != nil {
		return err
	}
	for name, texts := range all {
		for _, text := range texts {
			if !slices.ContainsFunc(o.requests[name], func(q *request) bool { return q.has(text) }) {
				return fmt.Errorf("no request to %s has %s", name, text)
			}
		}
	}
	return nil
}

func (q *request) has(text string) bool {
	if strings.Contains(q.escaped+"?"+q.query+"\n"+q.path, text) || strings.Contains(string(q.raw), text) || has(q.body, text) {
		return true
	}
	for name, values := range q.header {
		if strings.EqualFold(name, text) || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, text) }) ||
			strings.Contains(strings.ToLower(name)+": "+strings.Join(values, ","), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

func checkRequests(fits func(got, want int) bool) check {
	return func(o *observation, raw json.RawMessage) error {
		all, err := perProvider[int](o, raw)
		for name, w := range all {
			if got := len(o.requests[name]); !fits(got, w) {
				return fmt.Errorf("%s got %d", name, got)
			}
		}
		return err
	}
}

func checkTotal(o *observation, raw json.RawMessage) error {
	n := 0
	for _, requests := range o.requests {
		n += len(requests)
	}
	return same(n, raw)
}

func checkAfterOpen(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		at, opened := o.opened[name]
		switch got := len(o.requests[name]) - at.requests; {
		case !opened:
			return fmt.Errorf("the breaker of %s never opened", name)
		case got != w:
			return fmt.Errorf("%s got %d", name, got)
		}
	}
	return err
}

func checkAfterCooldown(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		if got := len(o.requests[name]) - o.cooled[name]; got != w {
			return fmt.Errorf("%s got %d", name, got)
		}
	}
	return err
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

func checkBreaker(o *observation, raw json.RawMessage) error {
	all, err := perProvider[breaker.State](o, raw)
	for name, w := range all {
		if o.states[name] != w {
			return fmt.Errorf("that of %s is %s", name, o.states[name])
		}
	}
	return err
}

// checkBreakerAtEnd wants the state of the first provider's breaker, or of those that are named, when a call ended.
func checkBreakerAtEnd(o *observation, raw json.RawMessage) error {
	all, err := want[map[string]json.RawMessage](raw)
	for name, inner := range all {
		r := o.started[name]
		if name == "call" {
			r = o.calls[len(o.calls)-1]
		}
		if r == nil {
			return fmt.Errorf("there is no call %q", name)
		}
		states, err := want[map[string]breaker.State](inner)
		if err != nil {
			one, err := want[breaker.State](inner)
			if err != nil {
				return err
			}
			states = map[string]breaker.State{o.c.Call.Providers[0]: one}
		}
		for target, w := range states {
			if r.states[target] != w {
				return fmt.Errorf("at the end of %s that of %s was %s", name, target, r.states[target])
			}
		}
	}
	return err
}

func checkWeight(o *observation, raw json.RawMessage) error {
	all, err := perProvider[float64](o, raw)
	for name, w := range all {
		if got := o.scores[name]; math.Abs(got-w) > 1e-6 {
			return fmt.Errorf("that of %s is %s", name, strconv.FormatFloat(got, 'g', -1, 64))
		}
	}
	return err
}

// checkPeer wants the fakes to see a connection go within that time after the call had ended.
func checkPeer(o *observation, raw json.RawMessage) error {
	w, err := want[float64](raw)
	if err != nil {
		return err
	}
	left := 0
	for name, requests := range o.log {
		for _, q := range requests {
			begun := o.epochs[name].Add(q.Time)
			if !q.Gone {
				continue
			}
			left++
			if late := begun.Add(q.Took).Sub(o.endAfter(begun)); late > slacken(ms(w)) {
				return tooLate{fmt.Errorf("%s saw it %v after the end of the call", name, late)}
			}
		}
	}
	if left == 0 {
		return errors.New("no request was left")
	}
	return nil
}

// endAfter is the end of the call that had begun last at that time; of those that ran at once, the last end.
func (o *observation) endAfter(at time.Time) (end time.Time) {
	var begun time.Time
	for _, r := range slices.Concat(o.before, o.calls, o.then, slices.Collect(maps.Values(o.started))) {
		switch {
		case r.start.After(at):
		case o.c.Call.Parallel > 0:
			if r.end.After(end) {
				end = r.end
			}
		case r.start.After(begun):
			begun, end = r.start, r.end
		}
	}
	return end
}

func checkGoroutines(o *observation, raw json.RawMessage) error {
	w, err := want[float64](raw)
	switch {
	case err != nil:
		return err
	case o.left > 0:
		return fmt.Errorf("%d are still there", o.left)
	case o.goroutinesBack > slacken(ms(w)):
		return tooLate{fmt.Errorf("took %v", o.goroutinesBack)}
	}
	return nil
}

func checkConnections(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		if got := o.conns[name]; got > w {
			return fmt.Errorf("%d to %s", got, name)
		}
	}
	return err
}
