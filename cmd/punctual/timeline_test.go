package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testdata is the folder of golden files, wherever a test changes to.
var testdata, _ = filepath.Abs("testdata")

// golden compares got with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(testdata, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs (go test -update writes it anew)\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// trailOf builds a trail from attempts that follow each other.
func trailOf(attempts ...llm.Attempt) []llm.Attempt {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for i := range attempts {
		at = at.Add(attempts[i].Wait)
		attempts[i].Start = at
		at = at.Add(attempts[i].Took)
	}
	return attempts
}

const ms = time.Millisecond

// timelines are the pictures that the golden files hold.
func timelines() map[string]timeline {
	return map[string]timeline{
		"triage": {answered: "answered, 38 tokens", attempts: trailOf(
			llm.Attempt{Target: "azure", Took: 1500 * ms, Kind: llm.ErrTimeout, Bound: llm.BoundAttempt},
			llm.Attempt{Target: "bedrock", Took: 8 * ms, Kind: llm.ErrRateLimited, Status: 429},
			llm.Attempt{Target: "vertex", Took: 420 * ms},
		)},
		"stream": {answered: "answered, 331 tokens", attempts: trailOf(
			llm.Attempt{Target: "azure", Took: 750 * ms, Kind: llm.ErrTimeout, Bound: llm.BoundFirstContent},
			llm.Attempt{Target: "vertex", Took: 1200 * ms, FirstContent: 210 * ms},
		)},
		"skipped": {attempts: trailOf(llm.Attempt{Target: "vertex", Took: 420 * ms}), skipped: []llm.Skip{
			{Target: "azure", Why: llm.SkipOpen, For: 14600 * ms},
			{Target: "bedrock", Why: llm.SkipCooling, For: 2900 * ms},
			{Target: "old-model", Why: llm.SkipUnsupported},
		}},
		"waits": {attempts: trailOf(
			llm.Attempt{Target: "anthropic.claude-sonnet-4-5", Took: 300 * ms, Kind: llm.ErrUnavailable, Status: 503},
			llm.Attempt{Target: "anthropic.claude-sonnet-4-5", Wait: 1100 * ms, Took: 280 * ms, Kind: llm.ErrConnection, NotSent: true},
			llm.Attempt{Target: "anthropic.claude-sonnet-4-5", Wait: 2100 * ms, Took: 900 * ms, FirstContent: 700 * ms, Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundExecution},
		)},
		"instant": {attempts: trailOf(
			llm.Attempt{Target: "a", Kind: llm.ErrAuth, Status: 401},
			llm.Attempt{Target: "b", Kind: llm.ErrNotFound, Status: 404},
		)},
		"minutes": {attempts: trailOf(
			llm.Attempt{Target: "a", Took: 95 * time.Second, Kind: llm.ErrTimeout, Bound: llm.BoundAttempt},
			llm.Attempt{Target: "b", Took: 12800 * ms},
		)},
	}
}

func TestTimelineDrawings(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			for _, name := range []string{"triage", "stream", "skipped", "waits", "instant", "minutes"} {
				line := timelines()[name]
				line.width = width
				fmt.Fprintln(&b, name)
				if err := line.write(&b); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, fmt.Sprintf("timeline-%d.txt", width), b.String())
		})
	}
}

func TestEveryAttemptHasACellAndRowsAlign(t *testing.T) {
	t.Parallel()
	for name, line := range timelines() {
		for _, width := range []int{40, 80, 120} {
			line.width = width
			var b bytes.Buffer
			if err := line.write(&b); err != nil {
				t.Fatal(err)
			}
			open, end := -1, -1
			for i, text := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
				runes := []rune(text)
				first, last := strings.IndexRune(text, '|'), strings.LastIndexByte(text, '|')
				bar := text[first+1 : last]
				if i < len(line.attempts) && !strings.ContainsAny(bar, "#=x") {
					t.Errorf("%s at %d: no cell in %q", name, width, text)
				}
				column, close := len([]rune(text[:first])), len([]rune(text[:last]))
				if open >= 0 && (column != open || close != end) {
					t.Errorf("%s at %d: %q is out of line", name, width, text)
				}
				open, end = column, close
				if width >= 80 && len(runes) > width {
					t.Errorf("%s at %d: %d columns: %q", name, width, len(runes), text)
				}
			}
		}
	}
}

func TestSpanHasThreeDigitsThatCount(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.00 s", 4 * ms: "0.00 s", 420 * ms: "0.42 s", 9994 * ms: "9.99 s", 9996 * ms: "10.0 s", 12800 * ms: "12.8 s",
		99949 * ms: "99.9 s", 99951 * ms: "1m40s", 180 * time.Second: "3m00s", 3600 * time.Second: "60m00s",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}
