package fallback_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// simTally counts what has happened, so that a rule that is never reached is seen.
type simTally map[string]int

// mustHappen lists what a run of the usual length has to reach.
var mustHappen = slices.Concat(
	words("path", "answered at once", "retry", "hand-over", "after a back-off", "reserve", "cool-down wait", "last resort",
		"hedge won", "hedge lost", "hedge took over", "watched", "emergency", "tokens refused", "pool drawn", "preferred",
		"open was skipped", "probe admitted", "probe failed", "closed again", "late answer taken", "left behind",
		"sink failed", "reader left", "sink panicked", "target panicked", "slow sink", "not accepted", "no JSON",
		"fallback on", "at most once stopped", "larger window only", "execution too short", "unknown operation",
		"reload under a call", "call through an old chain", "several at once", "noise", "partial answer",
		"handed over mid-stream of a watched call", "shares foretold"),
	words("attempt", llm.ErrInvalid, llm.ErrUnsupported, llm.ErrAuth, llm.ErrNotFound, llm.ErrContextTooLong, llm.ErrContentFiltered,
		llm.ErrRateLimited, llm.ErrQuotaExceeded, llm.ErrUnavailable, llm.ErrConnection, llm.ErrTimeout, llm.ErrDeadlineExceeded,
		llm.ErrCanceled, llm.ErrCircuitOpen, llm.ErrBadOutput, llm.ErrInterrupted, llm.ErrUnknown, "from tomorrow"),
	words("error", llm.ErrInvalid, llm.ErrUnsupported, llm.ErrAuth, llm.ErrNotFound, llm.ErrContextTooLong, llm.ErrContentFiltered,
		llm.ErrRateLimited, llm.ErrQuotaExceeded, llm.ErrUnavailable, llm.ErrConnection, llm.ErrTimeout, llm.ErrDeadlineExceeded,
		llm.ErrCanceled, llm.ErrCircuitOpen, llm.ErrBadOutput, llm.ErrInterrupted, llm.ErrUnknown),
	words("bound", llm.BoundCaller, llm.BoundExecution, llm.BoundTotal, llm.BoundEnd, llm.BoundAttempt, llm.BoundConnect,
		llm.BoundFirstContent, llm.BoundIdle),
	words("stopped", llm.StopFinal, llm.StopDeadline, llm.StopTotal, llm.StopTries, llm.StopRetryTokens, llm.StopTargets,
		llm.StopContent, llm.StopEmergency),
	words("skipped", llm.SkipOpen, llm.SkipCooling, llm.SkipUnsupported, llm.SkipNoTime, llm.SkipNoTokens, llm.SkipRoute),
)

func words[W ~string](group string, all ...W) (names []string) {
	for _, w := range all {
		names = append(names, group+": "+string(w))
	}
	return names
}

func (t simTally) add(name string, yes bool) {
	if yes {
		t[name]++
	}
}

// count looks at a world that has come to rest.
func (t simTally) count(w *simWorld) {
	for _, c := range w.changes {
		t.add("path: probe admitted", c.To == breaker.HalfOpen)
		t.add("path: probe failed", c.From == breaker.HalfOpen && c.To == breaker.Open)
		t.add("path: closed again", c.To == breaker.Closed)
	}
	quiet := w.quiet()
	for i, c := range w.calls {
		t["calls"]++
		r := w.rules(c)
		t.caller(w, c)
		for _, other := range w.calls[:i] {
			if other.start.Before(c.end) && c.start.Before(other.end) {
				t["path: several at once"]++
				break
			}
		}
		if attempts, skipped, ok := c.trail(); ok {
			t.attempts(c, r, attempts)
			t.add("path: shares foretold", quiet && len(attempts) > 1)
			for _, s := range skipped {
				t["skipped: "+string(s.Why)]++
				t.add("path: open was skipped", s.Why == llm.SkipOpen)
				t.add("path: tokens refused", s.Why == llm.SkipNoTokens)
				t.add("path: larger window only", s.Why == llm.SkipUnsupported && r.targets[s.Target] != nil && c.fits(r.targets[s.Target]))
			}
		}
		t.end(c, r)
	}
}

func (t simTally) caller(w *simWorld, c *simCall) {
	for _, v := range w.versions[1:] {
		t.add("path: reload under a call", v.from.After(c.start) && v.from.Before(c.end))
	}
	t.add("path: call through an old chain", c.OldChain && w.versionAt(c.start) != &w.versions[0])
	t.add("path: slow sink", c.sinkTime > 0)
	t.add("path: sink failed", c.sinkErr != nil && c.Via == "chain")
	t.add("path: reader left", c.sinkErr != nil && c.Via == "client")
	for _, try := range c.tries {
		t["tries"]++
		t.add("path: last resort", try.refused)
		t.add("path: watched", try.watched)
		t.add("path: left behind", !try.prompt && (try.end.IsZero() || try.end.After(c.end)))
		t.add("path: noise", try.fault.Noisy || try.fault.Act == actNoise)
	}
	if c.panicked != nil {
		p, _ := errors.AsType[*simPanic](asError(c.panicked))
		t.add("path: sink panicked", p != nil && p.what == "the sink")
		t.add("path: target panicked", p != nil && p.what != "the sink")
	}
}

func (t simTally) attempts(c *simCall, r *simRules, attempts []llm.Attempt) {
	slots := map[string]*simSlot{}
	t.add("path: answered at once", len(attempts) == 1 && attempts[0].Kind == "")
	for i := range attempts {
		a := &attempts[i]
		try := c.tryOf(a)
		p := slots[a.Target]
		if p == nil {
			p = &simSlot{}
			slots[a.Target] = p
		}
		t.add("attempt: "+string(a.Kind), a.Kind != "")
		t.add("bound: "+string(a.Bound), a.Bound != "")
		t.add("path: retry", p.tries > 0)
		t.add("path: reserve", p.tries > 0 && p.reserve)
		t.add("path: after a back-off", p.tries > 0 && a.Wait > 0)
		t.add("path: cool-down wait", p.tries == 0 && a.Wait > 0)
		t.add("path: emergency", c.world.emergency(c.start, c.end))
		t.add("path: not accepted", a.Kind == llm.ErrBadOutput && c.Accept && try != nil && try.fault.Text != "")
		t.add("path: no JSON", a.Kind == llm.ErrBadOutput && c.Output && try != nil && try.fault.Act == actNoJSON)
		if try != nil && a.Kind == "" {
			t.add("path: late answer taken", a.Took >= a.Limit)
		}
		if i > 0 {
			before := &attempts[i-1]
			t.add("path: hand-over", before.Target != a.Target && !r.overlaps(attempts, i))
			t.add("path: fallback on", before.Kind != "" && slices.Contains(r.plan.FallbackOn, before.Kind) && before.Target != a.Target)
			if other := c.tryOf(before); other != nil {
				t.add("path: handed over mid-stream of a watched call", other.watched && len(other.sent) > 0 && before.Target != a.Target)
			}
		}
		for k := range attempts {
			if b := &attempts[k]; beside(b, a) {
				t.add("path: hedge won", a.Kind == "" && b.Kind == llm.ErrCanceled)
				t.add("path: hedge lost", a.Kind == llm.ErrCanceled && b.Kind == "")
				t.add("path: hedge took over", a.Kind == "" && b.Kind != "" && b.Kind != llm.ErrCanceled)
			}
		}
		p.tries++
		p.reserve = p.reserve || a.Kind == llm.ErrRateLimited || a.Kind == llm.ErrTimeout
	}
	if len(attempts) > 0 && len(r.fit) > 1 {
		first := attempts[0].Target
		pool := r.targets[r.fit[0]].Pool
		t.add("path: pool drawn", c.Route.Prefer == "" && len(c.Route.Only) == 0 && pool != "" && first != r.fit[0] && r.targets[first].Pool == pool)
		t.add("path: preferred", c.Route.Prefer == first && first != r.fit[0])
	}
}

func (t simTally) end(c *simCall, r *simRules) {
	if c.resp != nil {
		t.add("path: unknown operation", slices.ContainsFunc(c.resp.Warnings, func(w llm.Warning) bool { return w.Code == "unknown_operation" }))
	}
	e, ok := errors.AsType[*llm.Error](c.err)
	if !ok {
		t.add("answered", c.err == nil && c.panicked == nil)
		return
	}
	t["error: "+string(e.Kind)]++
	t.add("bound: "+string(e.Bound), e.Bound != "")
	t.add("stopped: "+string(e.Stopped), e.Stopped != "")
	t.add("path: partial answer", e.Partial != nil)
	t.add("path: at most once stopped", r.plan.AtMostOnce && e.Stopped == llm.StopFinal && len(e.Attempts) > 0 &&
		policy.RuleFor(e.Kind, false, r.plan).Next)
	t.add("path: execution too short", e.Code == "EXECUTION_DEADLINE_EXCEEDED")
}

// String is a table, the most frequent first within a group.
func (t simTally) String() string {
	var b strings.Builder
	names := slices.SortedFunc(maps.Keys(t), func(x, y string) int {
		gx, _, _ := strings.Cut(x, ":")
		gy, _, _ := strings.Cut(y, ":")
		return cmp.Or(strings.Compare(gx, gy), t[y]-t[x], strings.Compare(x, y))
	})
	for _, name := range names {
		fmt.Fprintf(&b, "\n%8d  %s", t[name], name)
	}
	return b.String()
}

// missing is what should have happened and did not.
func (t simTally) missing() (never []string) {
	for _, name := range mustHappen {
		if t[name] == 0 {
			never = append(never, name)
		}
	}
	return never
}
