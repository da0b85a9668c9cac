package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The recordings are real requests and replies of other projects, one JSON file each. They stay out of this
// repository: PUNCTUAL_RECORDINGS names the folder, relative to the module's root, and ../shared/recordings is
// looked at when it is not set. No file is treated by its name.

var adapters = map[string]adapter{
	"azure":  {open: openAzure, request: chatRequest, outcome: chatOutcome, frames: sseFrames, allowed: chatAllowances},
	"openai": {open: openAzure, request: chatRequest, outcome: chatOutcome, frames: sseFrames, allowed: chatAllowances},
	"bedrock": {
		open: openBedrock, request: converseRequest, outcome: converseOutcome, frames: converseFrames, allowed: converseAllowances,
	},
}

func TestRecordings(t *testing.T) {
	recordings := loadRecordings(t)
	t.Run("the runner notices changes", func(t *testing.T) { checkRunner(t, recordings) })
	var passed int
	var failed, unfitting, missing []string
	differing := map[string]map[string]int{}
	for _, rec := range recordings {
		a, ok := adapters[rec.Provider]
		if !ok {
			missing = append(missing, rec.Provider+": "+rec.ID)
			continue
		}
		t.Run(rec.ID, func(t *testing.T) {
			want, odd := a.outcome(rec)
			for _, why := range odd {
				unfitting = append(unfitting, rec.ID+": "+why)
			}
			if differing[rec.Provider] == nil {
				differing[rec.Provider] = map[string]int{}
			}
			got := play(t, rec, &a)
			problems := want.differs(got)
			if got.unfit != "" {
				unfitting = append(unfitting, rec.ID+": the request: "+got.unfit)
			} else {
				problems = append(problems, outgoing(rec, got, a.allowed, differing[rec.Provider])...)
			}
			if len(problems) == 0 {
				passed++
				return
			}
			failed = append(failed, rec.ID)
			t.Errorf("%s", strings.Join(problems, "\n"))
		})
	}
	reportDifferences(differing)
	report("not yet, no adapter", missing)
	report("does not fit", unfitting)
	report("FAILED", failed)
	fmt.Printf("%d passed, %d failed\n", passed, len(failed))
}

func report(title string, lines []string) {
	for _, line := range lines {
		fmt.Printf("%s: %s\n", title, line)
	}
}

// reportDifferences prints which leaves of the requests differ from the recorded ones, how often and why.
func reportDifferences(differing map[string]map[string]int) {
	for _, provider := range slices.Sorted(maps.Keys(differing)) {
		for _, a := range adapters[provider].allowed {
			if n := differing[provider][a.path]; n > 0 {
				fmt.Printf("sent otherwise: %s: %s (%d times): %s\n", provider, a.path, n, a.reason)
			}
		}
	}
}

// checkRunner changes a byte of a reply, and each value of expect, in one recording of each kind that has it,
// and wants each change noticed.
func checkRunner(t *testing.T, recordings []*recording) {
	t.Helper()
	tried := map[string]bool{}
	for _, rec := range recordings {
		a, ok := adapters[rec.Provider]
		if !ok {
			continue
		}
		notices := func(changed *recording) bool {
			want, _ := a.outcome(changed)
			return len(want.differs(play(t, changed, &a))) > 0
		}
		if kind := rec.Provider + " " + rec.Kind; !tried[kind] {
			all := changedReplies(t, rec)
			tried[kind] = len(all) > 0
			if len(all) > 0 && !slices.ContainsFunc(all, notices) {
				t.Errorf("%s: no change of one byte of the reply was noticed", rec.ID)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(rec.Expect)) {
			changed := changedExpect(rec, key)
			if name := rec.Provider + " " + rec.Kind + " " + key; changed != nil && !tried[name] {
				tried[name] = true
				if !notices(changed) {
					t.Errorf("%s: another %s in expect was not noticed", rec.ID, key)
				}
			}
		}
	}
}

// changedReplies are copies of rec with one letter changed, of a word that expect has.
func changedReplies(t *testing.T, rec *recording) []*recording {
	t.Helper()
	var all []*recording
	reply := rec.body(t)
	var word string
	for _, key := range []string{"text", "error_message", "finish_reason"} {
		_ = json.Unmarshal(rec.Expect[key], &word)
		word, _, _ = strings.Cut(word, " ")
		for i := 0; word != "" && i < len(reply); i++ {
			if bytes.HasPrefix(reply[i:], []byte(word)) {
				changed := *rec
				body := bytes.Clone(reply)
				body[i] ^= 1
				changed.Response.Body, changed.Response.BodyBase64 = string(body), ""
				all = append(all, &changed)
			}
		}
	}
	return all
}

// unread are the keys of expect that this SDK has no place for, or that others say again.
var unread = []string{"error_type", "choices", "legacy_function_call", "retry_after_ms"}

// changedExpect is a copy of rec with another value under key; nil if there is nothing to change.
func changedExpect(rec *recording, key string) *recording {
	var value any
	if slices.Contains(unread, key) || json.Unmarshal(rec.Expect[key], &value) != nil {
		return nil
	}
	switch wait, failed := rec.Expect["retry_after_ms"], rec.Expect["stream_error"] != nil; {
	case key == "retry_after_seconds" && len(wait) > 0 && string(wait) != "null": // the finer one is read
		return nil
	case failed && !slices.Contains([]string{"text", "text_deltas", "reasoning_text"}, key): // see differsBefore
		return nil
	}
	switch v := value.(type) {
	case float64:
		value = v + 1
	case string:
		value = "x" + v // in front: what is long is cut
	case []any:
		value = append(v, map[string]any{"name": "another", "arguments": map[string]any{}})
	default:
		return nil
	}
	if _, odd := adapters[rec.Provider].outcome(rec); len(odd) > 0 {
		return nil
	}
	changed := *rec
	changed.Expect = maps.Clone(rec.Expect)
	changed.Expect[key], _ = json.Marshal(value)
	return &changed
}

func TestTheRunnerOfRecordingsReadsStreamsByTheirRequest(t *testing.T) {
	t.Parallel()
	var rec recording
	rec.Kind = "error"
	rec.Request.Body = json.RawMessage(`{"stream":true}`)
	if !rec.streams() {
		t.Error("a failed stream is played without a sink")
	}
	rec.Request.Body = json.RawMessage(`null`)
	if rec.streams() {
		t.Error("a request without a body is played as a stream")
	}
}
