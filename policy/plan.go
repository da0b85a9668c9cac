package policy

import (
	"cmp"
	"slices"
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
	Limits     llm.Limits
	MaxRetries int // per target, after its first try; 0 is 3, NoRetries none
	Backoff    Backoff
	Targets    []string // names of the targets to ask, in order; nil: all, in their order
	Hedge      Hedge
	Watch      Watch
	// FallbackOn are Kinds after which the next target is asked although the table says no, for example
	// llm.ErrContentFiltered.
	FallbackOn []llm.Kind
	// AtMostOnce never sends again what may have been billed: no retry, no other target and no hedge unless
	// surely nothing was sent.
	AtMostOnce bool
	// NoLastResort refuses a call when every target is refused. Otherwise one target whose breaker is open
	// is asked after all.
	NoLastResort bool
}

// NoRetries as MaxRetries asks each target once.
const NoRetries = -1

const (
	defaultRetries = 3
	mostRetries    = 1_000_000 // more, math.MaxInt above all, mean the same: no call comes that far
)

// Retries is how often one target may be asked again.
func (p Plan) Retries() int {
	switch {
	case p.MaxRetries == 0:
		return defaultRetries
	case p.MaxRetries < 0:
		return 0
	default:
		return min(p.MaxRetries, mostRetries)
	}
}

// Watch says whether unary calls are streamed inside, so that the limits of first content and of idle time
// hold for them, too: a unary attempt cannot tell a target that hangs from a long answer.
type Watch string

const (
	// WatchAuto is the default: where an attempt gets less than nine tenths of the plan's limit, on a target
	// that is known to stream and not to be silent while it thinks.
	WatchAuto Watch = ""
	// WatchOn is for every target that can stream.
	WatchOn Watch = "on"
	// WatchOff never does.
	WatchOff Watch = "off"
)

// On reports whether a unary attempt is streamed inside, with share of the attempt the plan gives it, on a
// target with capabilities can.
func (w Watch) On(share, attempt time.Duration, can *llm.Capabilities) bool {
	switch w {
	case WatchOff:
		return false
	case WatchOn:
		return !slices.Contains(can.Lacks, "stream")
	default:
		return can.Streams && !can.Silent && !slices.Contains(can.Lacks, "stream") && share < attempt-attempt/10
	}
}

// Hedge asks a second target when the first has brought no content for a while; the first content of either
// wins. The zero Hedge is the default plan's, and there it is off.
//
// A first target that loses says nothing to its breaker: it may have been about to answer. So one that hangs is
// noticed by the calls that are not hedged, and with a Share of 1 by none of them.
type Hedge struct {
	After time.Duration // without content; p95 of what is usual is a good value. Negative: never
	Share float64       // the calls that may be hedged, of all of the operation; 0 is 0.05
}

const defaultHedgeShare = 0.05

// Limit is Share with its default filled in.
func (h Hedge) Limit() float64 { return cmp.Or(h.Share, defaultHedgeShare) }

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
	plan.inherit(&p.Default)
	if plan.Limits.Attempt == 0 {
		plan.Limits.Attempt = defaultAttempt
	}
	return plan, known || op == ""
}

// inherit fills the zero fields of p with those of base.
func (p *Plan) inherit(base *Plan) {
	p.Limits = Override(base.Limits, p.Limits)
	p.MaxRetries = cmp.Or(p.MaxRetries, base.MaxRetries)
	p.Backoff.Base = cmp.Or(p.Backoff.Base, base.Backoff.Base)
	p.Backoff.Max = cmp.Or(p.Backoff.Max, base.Backoff.Max)
	p.Backoff.Jitter = cmp.Or(p.Backoff.Jitter, base.Backoff.Jitter)
	p.Hedge.After = cmp.Or(p.Hedge.After, base.Hedge.After)
	p.Hedge.Share = cmp.Or(p.Hedge.Share, base.Hedge.Share)
	p.Watch = cmp.Or(p.Watch, base.Watch)
	if len(p.Targets) == 0 {
		p.Targets = base.Targets
	}
	if len(p.FallbackOn) == 0 {
		p.FallbackOn = base.FallbackOn
	}
	p.AtMostOnce = p.AtMostOnce || base.AtMostOnce
	p.NoLastResort = p.NoLastResort || base.NoLastResort
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

// Effective is what a plan comes to, in numbers.
type Effective struct {
	Total      time.Duration // the call ends by then
	Tries      int           // at most, over all targets
	FirstShare time.Duration // limit of the first attempt
	HangCost   time.Duration // what is lost before the second target is asked when the first one hangs; 0: there is none
}

// Effective says what the plan comes to over n targets for a caller with left until his deadline, 0 for one
// without.
func (p Plan) Effective(n int, left time.Duration) Effective {
	n = max(n, 1)
	e := Effective{Total: p.Total(n), Tries: n * (1 + p.Retries())}
	if left > 0 {
		e.Total = min(e.Total, left)
	}
	if p.Limits.Tries > 0 {
		e.Tries = min(e.Tries, p.Limits.Tries)
	}
	e.FirstShare = Share(e.Total, p.Limits.Attempt, Minimum(e.Total), n)
	if n > 1 {
		e.HangCost = e.FirstShare
		if f := p.Limits.FirstContent; f > 0 {
			e.HangCost = min(e.HangCost, f)
		}
		if h := p.Hedge.After; h > 0 {
			e.HangCost = min(e.HangCost, h)
		}
	}
	return e
}
