package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func reflectValue(into any) reflect.Value { return reflect.ValueOf(into).Elem() }

// kinds are what fallback_on may hold: failures of a target.
var kinds = []llm.Kind{
	llm.ErrInvalid, llm.ErrUnsupported, llm.ErrAuth, llm.ErrNotFound, llm.ErrContextTooLong, llm.ErrContentFiltered,
	llm.ErrRateLimited, llm.ErrQuotaExceeded, llm.ErrUnavailable, llm.ErrConnection, llm.ErrTimeout, llm.ErrCircuitOpen,
	llm.ErrBadOutput, llm.ErrInterrupted, llm.ErrUnknown,
}

// plans fills Config.Plans from the file.
func (l *loader) plans(f *File) {
	l.config.Plans.Operations = map[llm.Operation]policy.Plan{}
	section := l.tree.root.get("plans")
	if section == nil || section.kind != mapKind {
		return
	}
	for _, e := range section.entries {
		plan, ok := f.Plans[e.key]
		switch {
		case !ok:
			continue
		case e.key == "":
			l.report.add(e.at, "plans", "a plan has no name", "write the name of an operation, or default", "")
			continue
		case strings.Contains(e.key, "${"):
			l.report.add(e.at, "plans", "variables are not put into the name of a plan", "write the name itself", "")
			continue
		case !isOperation(e.key):
			l.report.add(e.at, "plans", "the name of a plan has signs that cannot be seen, or is longer than 100", "write the name of an operation, such as triage", "")
			continue
		}
		p := l.plan("plans."+e.key, e.value, &plan)
		if e.key == defaultPlan {
			l.config.Plans.Default = p
		} else {
			l.config.Plans.Operations[llm.Operation(e.key)] = p
		}
	}
}

// isOperation reports whether a terminal can show a name, and a person read it.
func isOperation(name string) bool {
	const longest = 100
	return len(name) <= longest && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (l *loader) plan(path string, n *node, f *FilePlan) policy.Plan {
	p := policy.Plan{
		Limits: llm.Limits{
			Attempt: time.Duration(f.Attempt), Total: time.Duration(f.Total), Connect: time.Duration(f.Connect),
			FirstContent: time.Duration(f.FirstContent), Idle: time.Duration(f.Idle), Tries: value(f.Tries),
		},
		Targets: f.Targets, AtMostOnce: value(f.AtMostOnce), NoLastResort: value(f.NoLastResort),
		Hedge: hedge(f.Hedge), MaxRetries: retries(f.MaxRetries),
	}
	if f.Watch != "auto" {
		p.Watch = policy.Watch(f.Watch)
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	for i, k := range f.FallbackOn {
		if item := n.get("fallback_on").item(i); !slices.Contains(kinds, llm.Kind(k)) && item != nil {
			d := &decoder{report: &l.report}
			d.word(fmt.Sprintf("%s.fallback_on", path), item, words)
		}
		p.FallbackOn = append(p.FallbackOn, llm.Kind(k))
	}
	return p
}

func (n *node) item(i int) *node {
	if n == nil || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// retries turns a number of a file, where 0 is none, into that of a Plan, where 0 is the default.
func retries(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return policy.NoRetries
	default:
		return *n
	}
}

func hedge(f FileHedge) policy.Hedge {
	h := policy.Hedge{After: time.Duration(value(f.After)), Share: value(f.Share)}
	if f.After != nil && h.After == 0 || f.Share != nil && h.Share == 0 {
		return policy.Hedge{After: -1}
	}
	return h
}

// shortestWait is a wait of 0, which in a Backoff would be the default.
const shortestWait = 1

func (l *loader) retry(f *File) {
	p := &l.config.Plans.Default
	r := &f.Retry
	if p.MaxRetries == 0 {
		p.MaxRetries = retries(r.MaxRetries)
	}
	p.Backoff.Base, p.Backoff.Max = wait(r.Base), wait(r.Max)
	p.Backoff.Jitter = policy.Jitter(r.Jitter)
	switch t := r.Tokens; {
	case t == nil:
	case *t == 0:
		n := l.tree.find("retry.tokens")
		l.report.add(n.at, "retry.tokens", "0 tokens would pay for no retry at all", "write -1 for no limit", "for no retries write max_retries: 0")
	default:
		l.config.RetryTokens = *t
	}
}

func wait(d *Duration) time.Duration {
	switch {
	case d == nil:
		return 0
	case *d == 0:
		return shortestWait
	default:
		return time.Duration(*d)
	}
}

func (l *loader) breaker(f *File) {
	l.config.Breaker.Threshold = f.Breaker.Threshold
	l.config.Breaker.OpenFor = time.Duration(f.Breaker.OpenFor)
	l.config.Emergency = value(f.Emergency)
}
