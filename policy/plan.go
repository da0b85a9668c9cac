package policy

import (
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// The documented defaults, used where a plan leaves a field 0.
const (
	defaultAttempt       = 60 * time.Second
	triageAttempt        = 30 * time.Second
	orchestrationAttempt = 90 * time.Second
	generationAttempt    = 45 * time.Second
	maxDefaultIdle       = 30 * time.Second
)

// Plans maps operations to plans. The zero Plans is the documented default: an attempt may take 30 s for
// triage, 90 s for orchestration, 45 s for generation and 60 s for anything else.
type Plans struct {
	Default    Plan
	Operations map[llm.Operation]Plan
}

// Plan is what an operation may spend. The zero Plan is the documented default.
type Plan struct {
	Limits  llm.Limits
	Targets []string // names of the targets to ask, in order; nil: all, in their order
}

// For returns the plan of op with the limit of an attempt filled in; what the other limits are when they are
// 0 stands at [llm.Limits]. Zero fields of an operation's plan are the default plan's; the limit of an attempt of
// the three named operations stays their own. known is false when op has no plan of its own: then it runs on
// the default.
func (p Plans) For(op llm.Operation) (plan Plan, known bool) {
	plan, known = p.Operations[op]
	if builtIn := builtInAttempt(op); builtIn > 0 {
		known = true
		if plan.Limits.Attempt == 0 {
			plan.Limits.Attempt = builtIn
		}
	}
	plan.Limits = Override(p.Default.Limits, plan.Limits)
	if len(plan.Targets) == 0 {
		plan.Targets = p.Default.Targets
	}
	if plan.Limits.Attempt == 0 {
		plan.Limits.Attempt = defaultAttempt
	}
	return plan, known || op == ""
}

func builtInAttempt(op llm.Operation) time.Duration {
	switch op {
	case llm.Triage:
		return triageAttempt
	case llm.Orchestration:
		return orchestrationAttempt
	case llm.Generation:
		return generationAttempt
	default:
		return 0
	}
}

// Total is how long a call over n targets may take: Limits.Total, or if that is 0 the limit of an attempt
// times the number of targets, counted as two at the least and three at the most, so that there is time for
// the targets behind one that hangs.
func (p Plan) Total(n int) time.Duration {
	if p.Limits.Total > 0 {
		return p.Limits.Total
	}
	return min(p.Limits.Attempt, maxLimit) * time.Duration(min(max(n, 2), 3))
}

// maxLimit is the longest limit there is. Longer ones, math.MaxInt64 for "none" above all, mean the same, and
// sums of limits never overflow.
const maxLimit = 10 * 365 * 24 * time.Hour

// DefaultIdle is the limit between two pieces of content where none is set: the limit of an attempt, at most
// 30 s.
func DefaultIdle(attempt time.Duration) time.Duration { return min(attempt, maxDefaultIdle) }

// Override returns base with the fields that over sets, longer or shorter: a request's limits replace the
// plan's this way.
func Override(base, over llm.Limits) llm.Limits {
	pick := func(b, o time.Duration) time.Duration {
		if o > 0 {
			b = o
		}
		return min(b, maxLimit)
	}
	l := llm.Limits{
		Attempt:      pick(base.Attempt, over.Attempt),
		Connect:      pick(base.Connect, over.Connect),
		FirstContent: pick(base.FirstContent, over.FirstContent),
		Idle:         pick(base.Idle, over.Idle),
		Total:        pick(base.Total, over.Total),
		Tries:        base.Tries,
	}
	if over.Tries > 0 {
		l.Tries = over.Tries
	}
	return l
}

// Shorten returns base with the fields in which a target's own limits are shorter. Total and Tries belong to
// the whole call and stay.
func Shorten(base, target llm.Limits) llm.Limits {
	pick := func(b, t time.Duration) time.Duration {
		if t > 0 && (b == 0 || t < b) {
			return t
		}
		return b
	}
	base.Attempt = pick(base.Attempt, target.Attempt)
	base.Connect = pick(base.Connect, target.Connect)
	base.FirstContent = pick(base.FirstContent, target.FirstContent)
	base.Idle = pick(base.Idle, target.Idle)
	return base
}

// Minimum is the shortest attempt worth starting in a call that may take total: 2 s, or a tenth of total
// when that is less.
func Minimum(total time.Duration) time.Duration { return min(2*time.Second, total/10) }

// Share is what one attempt may take: an equal part of the time left for each of the live targets, at most
// attempt. When the parts would be shorter than minimum, fewer targets share. A hanging target can so never
// take the time of the next one.
func Share(left, attempt, minimum time.Duration, live int) time.Duration {
	if minimum > 0 {
		live = min(live, int(left/minimum))
	}
	return min(attempt, max(left/time.Duration(max(live, 1)), 1)) // 0 would be no limit at all
}
