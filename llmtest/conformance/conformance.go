package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// Harness says how the suite gets at the Generator it tests.
type Harness struct {
	// New returns a Generator whose provider plays script: call n gets step n, and the last step repeats. It
	// is called several times by one case, and by many cases at once. What it opens, it closes with t.Cleanup.
	New func(t *testing.T, script ...llmtest.Step) llm.Generator
	// Skip names the cases that cannot hold for this Generator, each with the reason, which is printed. A name
	// that no case has, or an empty reason, fails the suite.
	Skip map[string]string
}

// Run runs every case as a parallel subtest of t. Each also fails if goroutines that it started, in the
// Generator or in what New opened, still run after its cleanup.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.New == nil {
		t.Fatal("conformance: Harness.New is nil")
	}
	all := cases()
	for _, problem := range skipProblems(h.Skip, all) {
		t.Error(problem)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if reason, ok := h.Skip[c.name]; ok {
				t.Skipf("%s: skipped: %s", c.name, reason)
			}
			t.Parallel()
			runCase(t, c, h)
		})
	}
}

func runCase(t *testing.T, c testCase, h Harness) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the contract: %s", c.sentence)
		}
	})
	started := countGoroutines(t.Context(), t.Name())
	t.Cleanup(func() { // runs after the cleanups of New, which are registered later
		if left := started.settle(0); left != "" {
			t.Errorf("goroutines still run after the case and its cleanup:\n%s", left)
		}
	})
	c.run(newCheck(t, started, func(script ...llmtest.Step) llm.Generator {
		t.Helper()
		return h.New(t, script...)
	}))
}

// skipProblems tells what is wrong with skip, in order.
func skipProblems(skip map[string]string, all []testCase) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(skip)) {
		switch {
		case !slices.ContainsFunc(all, func(c testCase) bool { return c.name == name }):
			problems = append(problems, "conformance: Harness.Skip names "+name+", which is no case")
		case strings.TrimSpace(skip[name]) == "":
			problems = append(problems, "conformance: Harness.Skip gives no reason for "+name)
		}
	}
	return problems
}

// testCase is one rule of the contract.
type testCase struct {
	name     string
	sentence string // the rule, printed when the case fails
	run      func(c *check)
}

// cases returns the whole contract.
func cases() []testCase {
	return slices.Concat(
		answerCases(), toolCases(), streamCases(), sinkCases(), requestCases(),
		contextCases(), brokenCases(), failureCases(), resourceCases(),
	)
}
