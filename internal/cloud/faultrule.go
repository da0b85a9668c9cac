package cloud

import (
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llmtest"
)

// faultRule rules an item out when something holds: "no error", or that there are others, named between blanks.
type faultRule struct{ name, when, problem string }

func faultRules() []faultRule {
	const (
		beside = "does not go with body, which is the whole answer; its status is set by status, its header by " +
			"header=NAME:VALUE"
		lonely  = "goes with an error only; add status=429 or error=rate_limited"
		endless = "is an answer without an end, so it does not go with body, hang, ping, cut and reset"
		content = "needs an answer that comes to its end; cut at start or half, or leave the error or the body out"
	)
	return []faultRule{
		{"error", "body", beside},
		{"retry-after", "body", beside},
		{"code", "body", beside},
		{"at", "body", beside},
		{"hang", "body", beside},
		{"retry-after", "no error", lonely},
		{"code", "no error", lonely},
		{"at", "no error", lonely},
		{"hang", "an error", "does not go with an error; let the one or the other happen"},
		{"reset", "cut", "does not go with cut; a connection ends in one way"},
		{"cut", "a cut end and no content", content},
		{"reset", "a cut end and no content", content},
		{"drip", "body hang ping cut reset", endless},
		{"ping", "no length and no hang", "needs a length (ping=50ms/1s) or a hang (hang=first,ping=50ms)"},
		{"ping", "a hang before the header", "comes after the header; let it hang later (hang=body,ping=50ms)"},
	}
}

// holds reports whether what a rule asks for is so.
func (f *Fault) holds(when string, items map[string]string) bool {
	switch when {
	case "an error":
		return f.Fails()
	case "no error":
		return !f.Fails()
	case "a cut end and no content":
		return f.CutEnd && (f.Fails() || f.Body != nil)
	case "no length and no hang":
		return f.Ping.For == 0 && f.Hang == ""
	case "a hang before the header":
		return f.Hang == llmtest.PhaseHeaders
	}
	return slices.ContainsFunc(strings.Fields(when), func(name string) bool { _, ok := items[name]; return ok })
}
