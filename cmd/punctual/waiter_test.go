package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// TestTrailGrowsAndIsDrawnOnce tells a waiter of a call as a chain does, and looks at the line of the wait on the way.
func TestTrailGrowsAndIsDrawnOnce(t *testing.T) {
	t.Parallel()
	var errOut bytes.Buffer
	w := (&app{stderr: &errOut}).waiter(&timeline{order: []string{"azure-mini", "anthropic.claude-sonnet-4-5", "old"}, length: 60 * time.Second})
	o := w.observer()
	trail := trailOf(
		llm.Attempt{Target: "azure-mini", Limit: 20 * time.Second, Took: 20 * time.Second, Kind: llm.ErrTimeout, Bound: llm.BoundAttempt},
		llm.Attempt{Target: "anthropic.claude-sonnet-4-5", Limit: 30 * time.Second, Took: 30 * time.Second, Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundExecution},
		llm.Attempt{Target: "azure-mini", Wait: 2 * time.Second, Limit: 8 * time.Second, Took: 3 * time.Second, Usage: llm.Usage{Output: 7, Reported: true}},
	)
	var lines strings.Builder
	for i := range trail {
		a := llm.Attempt{Target: trail[i].Target, Start: trail[i].Start, Wait: trail[i].Wait, Limit: trail[i].Limit}
		o.AttemptStart(t.Context(), &a)
		for _, after := range []time.Duration{100 * ms, 4200 * ms} {
			lines.WriteString(w.line(a.Start.Add(after)) + "\n")
		}
		if i == 2 {
			w.start()() // the answer is being printed: its row would break it
		}
		o.AttemptEnd(t.Context(), &trail[i], nil)
		if got, want := strings.Count(errOut.String(), "\n"), min(i+1, 2); got != want {
			t.Errorf("%d rows after attempt %d, want %d", got, i, want)
		}
	}
	if line := w.line(time.Now()); line != "" { // it ended a moment ago
		t.Errorf("a wait: %q", line)
	}
	if line := w.line(time.Now().Add(3 * time.Second)); !strings.HasPrefix(line, "  waiting to ask again, 3.0") {
		t.Errorf("no wait: %q", line)
	}
	w.finish([]llm.Skip{{Target: "old", Why: llm.SkipOpen, For: 14600 * ms}})
	golden(t, "trail-grows.txt", "while it runs:\n"+lines.String()+"drawn:\n"+errOut.String())
	checkColumns(t, lines.String()+errOut.String())
}

// TestTrailTellsOfEachOfSeveral: under hedging two attempts are under way at once; the end of one is not that of both.
func TestTrailTellsOfEachOfSeveral(t *testing.T) {
	t.Parallel()
	w := (&app{stderr: io.Discard}).waiter(nil)
	o := w.observer()
	start := time.Now().Add(-time.Minute)
	first, second := llm.Attempt{Target: "one", Start: start}, llm.Attempt{Target: "two", Start: start.Add(time.Second)}
	o.AttemptStart(t.Context(), &first)
	o.AttemptStart(t.Context(), &second)
	for i, end := range []*llm.Attempt{nil, &second, &first} {
		if end != nil {
			o.AttemptEnd(t.Context(), end, nil)
		}
		want := []string{"  two: no answer yet", "  one: no answer yet", "  waiting to ask again"}[i]
		if line := w.line(time.Now().Add(2 * time.Second)); !strings.HasPrefix(line, want) {
			t.Errorf("%q, want %q", line, want)
		}
	}
}

// TestVerboseTellsWhileTheCallRuns: a row is there when its attempt has ended, not only when the call has, and it is
// there once.
func TestVerboseTellsWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Script: turns(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}), llmtest.Hang())})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := startLines(ctx, t, "-v", "-c", conf)
	if _, err := io.WriteString(s.in, prompt+"\n"); err != nil {
		t.Fatal(err)
	}
	s.wait(s.stderr, 0, "unavailable (503)\n")
	interrupt()
	if status := s.status(); status != exitInterrupted {
		t.Errorf("%d", status)
	}
	stderr := s.stderr.String()
	if !regexp.MustCompile(`(?s)^  azure \|#  +\| 0\.\d\d s  unavailable \(503\)\n(  azure \|\.*# *\| [^\n]*  canceled\n)?punctual: line 1: azure`).MatchString(stderr) ||
		strings.Count(stderr, "|") > 4 {
		t.Errorf("%s", stderr)
	}
}
