package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSkipNeedsAKnownCaseAndAReason(t *testing.T) {
	t.Parallel()
	got := skipProblems(map[string]string{
		"unary_text": " ", "reasoning": "the provider has none", "no_such_case": "whatever",
	}, cases())
	want := []string{
		"conformance: Harness.Skip names no_such_case, which is no case",
		"conformance: Harness.Skip gives no reason for unary_text",
	}
	if !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestGoroutinesAreCountedByTheCaseThatStartedThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() { <-stop }() // not labelled: another case's
		g := countGoroutines(context.Background(), `a case, "quoted"`)
		if left := g.settle(0); left != "" {
			t.Errorf("nothing was started, and this is left:\n%s", left)
		}
		go func() { go func() { <-stop }(); <-stop }()
		synctest.Wait()
		if n := g.running(); n != 2 {
			t.Errorf("want 2 goroutines, got %d", n)
		}
		if left := g.settle(2); left != "" {
			t.Errorf("two are allowed, and these are too many:\n%s", left)
		}
		if left := g.settle(1); !strings.Contains(left, "TestGoroutinesAreCounted") {
			t.Errorf("want the stacks of two goroutines, got %q", left)
		}
		close(stop)
		if left := g.settle(0); left != "" {
			t.Errorf("all have ended, and this is left:\n%s", left)
		}
	})
}

func TestArgumentsAreComparedAsJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{`{"b": 1, "a": "<&>"}`, `{"a":"<&>","b":1}`},
		{`{"n": 12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{`{"a":`, `{"a":`},
		{`{} {}`, `{} {}`},
		{``, ``},
	} {
		if got := compact(test.in); got != test.want {
			t.Errorf("%s: want %s, got %s", test.in, test.want, got)
		}
	}
}
