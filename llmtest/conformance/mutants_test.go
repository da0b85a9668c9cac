package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// mutant is a Generator that breaks exactly one rule. Its case must notice, and no other case may. All rules
// turned out to be independent: there is no mutant that two cases catch.
type mutant struct {
	breaks string // the case
	how    string
	open   func(script []llmtest.Step) llm.Generator
}

func mutants() []mutant {
	return slices.Concat(
		answerMutants(), toolMutants(), streamMutants(), sinkMutants(), requestMutants(),
		contextMutants(), brokenMutants(), failureMutants(),
	)
}

func TestEachCaseHasANameASentenceAndAMutant(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range cases() {
		if seen[c.name] {
			t.Errorf("two cases are called %s", c.name)
		}
		seen[c.name] = true
		if !strings.HasSuffix(c.sentence, ".") || strings.Count(c.sentence, ". ") > 0 {
			t.Errorf("%s: want one sentence, got %q", c.name, c.sentence)
		}
		if !slices.ContainsFunc(mutants(), func(m mutant) bool { return m.breaks == c.name }) {
			t.Errorf("no mutant breaks %s", c.name)
		}
	}
	for _, m := range mutants() {
		if !seen[m.breaks] {
			t.Errorf("the mutant that %s breaks %s, which is no case", m.how, m.breaks)
		}
	}
}

// TestEachMutantIsCaughtByItsOwnCaseAlone runs every case against every mutant, in virtual time, where
// nothing is late by chance.
func TestEachMutantIsCaughtByItsOwnCaseAlone(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.breaks+": "+m.how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, c := range cases() {
					tryMutant(t, c, m)
				}
			})
		})
	}
}

func TestTheUnbrokenGeneratorPassesInVirtualTime(t *testing.T) {
	t.Parallel()
	unbroken := mutant{how: "keeps the contract", open: func(script []llmtest.Step) llm.Generator {
		return llmtest.New(script...)
	}}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range cases() {
			tryMutant(t, c, unbroken)
		}
	})
}

func tryMutant(t *testing.T, c testCase, m mutant) {
	t.Helper()
	failures := record(c, t.Name()+"/"+c.name, func(script ...llmtest.Step) llm.Generator { return m.open(script) })
	switch own := m.breaks == c.name; {
	case own && len(failures) == 0:
		t.Errorf("%s does not notice a generator that %s", c.name, m.how)
	case own:
		t.Logf("%s: %s", c.name, failures[0])
	case len(failures) > 0:
		t.Errorf("%s fails for a generator that %s, which only %s should notice: %s",
			c.name, m.how, m.breaks, strings.Join(failures, "\n"))
	}
}

// around makes a mutant of a function that has the Fake and its script at hand.
func around(f func(g *llmtest.Fake, script []llmtest.Step) llm.GeneratorFunc) func([]llmtest.Step) llm.Generator {
	return func(script []llmtest.Step) llm.Generator { return f(llmtest.New(script...), script) }
}
