package fallback_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const ms = time.Millisecond

// simScenario is one drawn world as plain data: a chain, what happens to it, and its callers.
type simScenario struct {
	Plans       policy.Plans
	Breaker     breaker.Options
	Emergency   bool
	RetryTokens int
	Targets     []simTarget
	Events      []simEvent
	Callers     []simCaller
}

type simTarget struct {
	fallback.Target

	Exits simExit // how its Generate leaves once its context is over
	Deaf  bool    // it does not look at its context; never Prompt
}

// simExit is what a target returns when its context has ended.
type simExit struct {
	How  string        // "error", "bare", "cause", "timeout", "answer", "nothing", "pushes"
	Late time.Duration // so much later
}

// simEvent changes the chain while calls are under way.
type simEvent struct {
	At   time.Duration
	What string // "reload", "remake <i>", "drop <i>", "emergency on", "emergency off"
}

// simCaller makes one call.
type simCaller struct {
	At        time.Duration
	Via       string // "chain", "client"
	Streamed  bool
	OldChain  bool // it holds the first chain
	Unwatched bool // without an observer
	Operation llm.Operation
	Deadline  time.Duration // 0: none
	Execution time.Duration // of deadline.With; 0: none
	Used      time.Duration // of Execution, before the call
	Cancel    time.Duration // 0: never
	SinkFails int           // at the so-manyth event; 0: never
	Leaves    int           // likewise: out of the loop
	Panics    int           // likewise
	Slow      time.Duration // what the sink takes for an event
	Accept    bool          // it refuses answers that begin with "refuse"
	Output    bool          // it wants JSON
	Seed      bool
	MaxTokens int
	Long      bool // a request that small windows cannot hold
	Limits    llm.Limits
	Route     llm.Route
	Session   string
	Faults    [][]simFault // by target, then by try; the last one repeats
}

// simFault is what a target does in one try.
type simFault struct {
	Act        string
	Before     time.Duration // until the first content, or until the failure
	Events     int           // pieces of content before the end
	Gap        time.Duration // between two of them
	Tool       bool          // the last piece is a tool call, with arguments
	Text       string        // prefix of the text
	Kind       llm.Kind      // of "fail"
	Code       string
	RetryAfter time.Duration
	NotSent    bool
	NoRetry    bool
	Noisy      bool // an empty event and an EventDone before each piece
	Stubborn   bool // it pushes on after the sink has refused
}

// The acts of a fault beside those that a mood makes up.
const (
	actAnswer  = "answer"
	actFail    = "fail"
	actHang    = "hang"    // after Events
	actDial    = "dial"    // asks net/http for a connection that never comes
	actNothing = "nothing" // returns nil, nil
	actEmpty   = "empty"   // an answer without a part
	actLength  = "length"  // likewise, but its finish is length
	actNoJSON  = "no json"
	actNoise   = "noise" // no content, for ever
	actForeign = "foreign"
	actPanic   = "panic"
	actExit    = "exit"  // runtime.Goexit; never Prompt
	actStray   = "stray" // an event from another goroutine after it returned; never Prompt
)

// simDraw draws a scenario.
type simDraw struct{ *rand.Rand }

func (d simDraw) one(percent int) bool { return d.IntN(100) < percent }

func oneOf[T any](d simDraw, of ...T) T { return of[d.IntN(len(of))] }

func (d simDraw) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64((to-from)/ms)+1))*ms
}

// drawScenario is the scenario of a seed.
func drawScenario(seed uint64) *simScenario {
	d := simDraw{rand.New(rand.NewPCG(seed, 0))}
	sc := &simScenario{
		Breaker:     breaker.Options{Threshold: oneOf(d, 0, 0, 0.5, 1, 2), OpenFor: oneOf(d, 0, 3*s, 20*s)},
		Emergency:   d.one(8),
		RetryTokens: oneOf(d, 0, 0, -1, -1, -1, 10, 15, 30),
	}
	n := oneOf(d, 1, 2, 2, 3, 3, 4, 5)
	quiet := d.one(30) // nothing here leaves a target alone, so that every share can be foretold
	if quiet {
		sc.Breaker.Threshold, sc.RetryTokens = 1000, -1
	}
	for i := range n {
		sc.Targets = append(sc.Targets, d.target(i))
	}
	sc.Plans.Default = d.plan(sc.Targets)
	if d.one(40) {
		sc.Plans.Operations = map[llm.Operation]policy.Plan{"special": d.plan(sc.Targets)}
	}
	moods := make([]string, n)
	storm := d.one(12)
	for i := range moods {
		moods[i] = oneOf(d, "well", "well", "well", "well", "flaky", "flaky", "down", "hangs", "throttled", "odd", "drips")
		if storm {
			moods[i] = oneOf(d, "down", "down", "hangs", "throttled")
		}
	}
	callers := oneOf(d, 1, 1, 2, 3, 4, 6, 10)
	spread := oneOf(d, 0, 100*ms, 5*s, 60*s, 900*s)
	for range callers {
		c := d.caller(sc, d.between(0, spread))
		for i := range sc.Targets {
			c.Faults = append(c.Faults, d.faults(moods[i], quiet, &sc.Targets[i], sc.marks(&c)))
		}
		sc.Callers = append(sc.Callers, c)
	}
	if d.one(30) {
		for range oneOf(d, 1, 1, 2, 3) {
			sc.Events = append(sc.Events, d.event(n, spread))
		}
		slices.SortStableFunc(sc.Events, func(a, b simEvent) int { return int(a.At - b.At) })
	}
	return sc
}

func (d simDraw) target(i int) simTarget {
	name := string(rune('a' + i))
	t := simTarget{Target: fallback.Target{
		Name: name, Model: llm.ModelRef{Provider: "sim", Model: "m-" + name}, Prompt: d.one(75), Fingerprint: "1",
	}}
	if d.one(25) {
		t.Pool, t.Weight = oneOf(d, "p", "q"), oneOf(d, 0, 1, 5)
	}
	if d.one(30) {
		t.QuotaGroup = oneOf(d, "g", "h")
	}
	if d.one(50) {
		t.Tags = []string{"eu"}
	}
	if d.one(20) {
		t.Limits = llm.Limits{Attempt: oneOf(d, 0, 4*s, 15*s), FirstContent: oneOf(d, 0, s), Idle: oneOf(d, 0, 700*ms)}
	}
	t.Can.Streams = d.one(70)
	t.Can.Silent = d.one(10)
	if d.one(15) {
		t.Can.Lacks = []string{oneOf(d, "stream", "seed", "json_schema")}
	}
	if d.one(15) {
		t.Can.MaxOutput = 100
	}
	t.Can.ContextWindow = oneOf(d, 0, 0, 100, 1000)
	t.Exits = simExit{oneOf(d, "error", "error", "bare", "cause", "timeout", "answer", "nothing", "pushes"), oneOf(d, 0, 0, 1, ms, 3*ms)}
	t.Deaf = !t.Prompt && d.one(50)
	return t
}

func (d simDraw) plan(targets []simTarget) policy.Plan {
	p := policy.Plan{
		Limits:       d.limits(),
		MaxRetries:   oneOf(d, 0, 0, 1, 2, 5, policy.NoRetries),
		Backoff:      policy.Backoff{Base: oneOf(d, 0, 0, 50*ms, 4*s), Max: oneOf(d, 0, 0, 60*ms, 2*s, 30*s)},
		Watch:        oneOf(d, policy.WatchAuto, policy.WatchAuto, policy.WatchOn, policy.WatchOff),
		AtMostOnce:   d.one(10),
		NoLastResort: d.one(15),
	}
	p.Backoff.Jitter = oneOf(d, policy.JitterProportional, policy.JitterFull, policy.JitterDecorrelated, policy.JitterNone)
	if d.one(40) {
		p.Hedge = policy.Hedge{After: oneOf(d, 100*ms, 500*ms, 2*s, 6*s), Share: oneOf(d, 0, 0.5, 1, 1)}
	}
	if d.one(20) {
		p.FallbackOn = []llm.Kind{oneOf(d, llm.ErrContentFiltered, llm.ErrInvalid)}
	}
	if d.one(25) {
		for _, i := range d.Perm(len(targets))[:1+d.IntN(len(targets))] {
			p.Targets = append(p.Targets, targets[i].Name)
		}
	}
	return p
}

func (d simDraw) limits() llm.Limits {
	return llm.Limits{
		Attempt:      oneOf(d, 0, 3*s, 8*s, 20*s, 45*s),
		Connect:      oneOf(d, 0, 0, s, 4*s),
		FirstContent: oneOf(d, 0, 0, 1500*ms, 6*s),
		Idle:         oneOf(d, 0, 0, 400*ms, 2*s),
		Total:        oneOf(d, 0, 0, 5*s, 15*s, 50*s),
		Tries:        oneOf(d, 0, 0, 0, 1, 2, 4),
	}
}

func (d simDraw) caller(sc *simScenario, at time.Duration) simCaller {
	c := simCaller{
		At: at, Via: oneOf(d, "chain", "client"), Streamed: d.one(50), OldChain: d.one(30), Unwatched: d.one(20),
		Operation: oneOf[llm.Operation](d, "", "", "triage", "unknown", "special"),
		Deadline:  oneOf(d, 0, 0, 0, d.between(1, 2*s), d.between(s, 12*s), d.between(10*s, 90*s)),
		Accept:    d.one(15), Output: d.one(15), Seed: d.one(15), Long: d.one(10),
		Session: oneOf(d, "", "x", "y"),
	}
	if d.one(15) {
		c.Execution = oneOf(d, d.between(1, 5*s), d.between(5*s, 60*s))
		c.Deadline = oneOf(d, 0, c.Deadline)
		c.Used = oneOf(d, 0, 0, d.between(0, c.Execution), c.Execution-c.Execution/10)
	}
	if d.one(15) {
		c.Cancel = oneOf(d, 1, d.between(0, 3*s), d.between(0, 40*s), c.Deadline)
	}
	if c.Streamed && d.one(25) {
		n := 1 + d.IntN(4)
		*oneOf(d, &c.SinkFails, &c.Leaves, &c.Panics) = n
		if c.Via == "chain" && c.Leaves > 0 { // only a Stream has a loop to leave
			c.SinkFails, c.Leaves = n, 0
		}
	}
	if c.Streamed && d.one(15) {
		c.Slow = oneOf(d, 10*ms, 900*ms, 5*s)
	}
	if d.one(15) {
		c.MaxTokens = 500
	}
	if d.one(20) {
		c.Limits = d.limits()
	}
	if d.one(10) {
		for _, i := range d.Perm(len(sc.Targets))[:1+d.IntN(len(sc.Targets))] {
			c.Route.Only = append(c.Route.Only, sc.Targets[i].Name)
		}
	}
	if d.one(7) {
		c.Route.Tags = []string{"eu"}
	}
	if d.one(10) {
		c.Route.Prefer = oneOf(d, sc.Targets...).Name
	}
	return c
}

// marks are the moments at which something ends for a caller: what happens right then is the interesting case.
func (sc *simScenario) marks(c *simCaller) []time.Duration {
	p, _ := sc.Plans.For(c.Operation)
	l := policy.Override(p.Limits, c.Limits)
	var marks []time.Duration
	for _, m := range []time.Duration{
		c.Deadline, c.Execution, c.Cancel, l.Attempt, l.FirstContent, l.Idle, l.Total, p.Hedge.After,
		c.Deadline / 2, c.Deadline / 3, l.Total / 2, l.Total / 3, l.Attempt - l.Attempt/10,
	} {
		if m > ms {
			marks = append(marks, m)
		}
	}
	return marks
}

func (d simDraw) event(n int, spread time.Duration) simEvent {
	i := d.IntN(n)
	what := oneOf(d, "reload", "reload", fmt.Sprint("remake ", i), fmt.Sprint("drop ", i), "emergency on", "emergency off")
	return simEvent{At: d.between(0, max(spread, 4*s)) + ms/2, What: what}
}

func (d simDraw) faults(mood string, quiet bool, t *simTarget, marks []time.Duration) []simFault {
	n := 1 + d.IntN(4)
	down := oneOf(d, llm.ErrUnavailable, llm.ErrUnavailable, llm.ErrConnection, llm.ErrUnknown, llm.ErrTimeout)
	faults := make([]simFault, n)
	for i := range faults {
		f := &faults[i]
		*f = simFault{Act: actAnswer, Before: d.delay(marks), Events: 1 + d.IntN(5), Gap: oneOf(d, 0, 20*ms, 300*ms), Tool: d.one(15)}
		switch roll := d.IntN(100); {
		case mood == "well" && roll < 85, mood == "flaky" && roll < 40, roll < 5:
		case mood == "down":
			*f = simFault{Act: actFail, Before: d.delay(marks), Kind: down}
		case mood == "hangs" && roll < 80:
			*f = simFault{Act: oneOf(d, actHang, actHang, actDial, actNoise), Before: oneOf(d, 0, 100*ms), Events: d.IntN(3) * d.IntN(2), Gap: 50 * ms}
		case mood == "throttled":
			*f = simFault{Act: actFail, Before: d.delay(nil), Kind: llm.ErrRateLimited, RetryAfter: oneOf(d, 0, 300*ms, 2*s, 30*s, 90*s)}
		case mood == "drips":
			f.Before, f.Events, f.Gap = 0, 30+d.IntN(30), oneOf(d, 390*ms, 1999*ms, 14*s, 29*s, 29*s)
		case mood == "odd":
			d.odd(f, t)
		default:
			d.any(f)
		}
		if d.one(15) {
			f.Text = "refuse "
		}
		if quiet {
			f.calm()
		}
	}
	return faults
}

// calm takes away what would leave the target alone.
func (f *simFault) calm() {
	f.RetryAfter = 0
	//nolint:exhaustive // the others leave nobody alone
	switch f.Kind {
	case llm.ErrAuth, llm.ErrNotFound, llm.ErrQuotaExceeded, llm.ErrContextTooLong:
		f.Kind = llm.ErrUnavailable
	}
}

func (d simDraw) delay(marks []time.Duration) time.Duration {
	switch roll := d.IntN(100); {
	case roll < 30:
		return 0
	case roll < 70:
		return d.between(0, 800*ms)
	case roll < 80:
		return d.between(0, 5*s)
	case roll < 95 && len(marks) > 0:
		return oneOf(d, marks...) + oneOf(d, 0, 0, -1, 1, -ms, ms, 100*ms)
	default:
		return d.between(5*s, 60*s)
	}
}

func (d simDraw) any(f *simFault) {
	kinds := []llm.Kind{
		llm.ErrInvalid, llm.ErrUnsupported, llm.ErrAuth, llm.ErrNotFound, llm.ErrContextTooLong, llm.ErrContentFiltered,
		llm.ErrRateLimited, llm.ErrQuotaExceeded, llm.ErrUnavailable, llm.ErrConnection, llm.ErrTimeout, llm.ErrDeadlineExceeded,
		llm.ErrCanceled, llm.ErrCircuitOpen, llm.ErrBadOutput, llm.ErrInterrupted, llm.ErrUnknown, "from tomorrow",
	}
	*f = simFault{
		Act: actFail, Before: min(f.Before, 3*s), Gap: f.Gap, Kind: oneOf(d, kinds...),
		RetryAfter: oneOf(d, 0, 0, 0, 500*ms, 3*s, 40*s, 70*s), NotSent: d.one(25), NoRetry: d.one(10),
		Code: oneOf(d, "", "", "ModelNotReady", "ABORTED", "malformed_answer"),
	}
	switch d.IntN(8) {
	case 0:
		f.Events = 1 + d.IntN(3)
	case 1:
		f.Kind = oneOf(d, llm.ErrContentFiltered, llm.ErrInvalid)
	case 2:
		f.Kind = llm.ErrContextTooLong
	case 3:
		f.Act, f.Events = actNoJSON, 1
	case 4:
		*f = simFault{Act: oneOf(d, actHang, actDial, actNothing, actEmpty, actLength, actNoJSON, actForeign), Before: f.Before}
		f.Events = d.IntN(4) * d.IntN(2)
	}
}

// odd is a target that breaks its contract, or is very slow.
func (d simDraw) odd(f *simFault, t *simTarget) {
	switch d.IntN(6) {
	case 0:
		f.Noisy = true
	case 1:
		f.Noisy, f.Stubborn = true, true
	case 2:
		f.Act = actNoise
	case 3:
		f.Act, f.Events = oneOf(d, actPanic, actForeign, actNothing), d.IntN(3)*d.IntN(2)
	case 4:
		if !t.Prompt {
			f.Act = oneOf(d, actExit, actStray)
		}
	default:
		d.any(f)
	}
}

// String prints the scenario so that it can be read: Go without the fields that are zero.
func (sc *simScenario) String() string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(sc).Elem(), "")
	return b.String()
}

// dump writes v as a composite literal, one level a line down to small structs.
func dump(b *strings.Builder, v reflect.Value, indent string) {
	switch d, isDuration := v.Interface().(time.Duration); {
	case isDuration:
		fmt.Fprintf(b, "%v", d)
	case v.Kind() == reflect.Struct:
		b.WriteString(v.Type().Name() + "{")
		sep := ""
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() && v.Field(i).Kind() != reflect.Func {
				b.WriteString(sep + f.Name + ": ")
				dump(b, v.Field(i), indent+"  ")
				sep = ", "
			}
		}
		b.WriteString("}")
	case v.Kind() == reflect.Slice:
		b.WriteString("{")
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Struct || v.Type().Elem().Kind() == reflect.Slice {
				b.WriteString("\n" + indent + "  ")
			} else if i > 0 {
				b.WriteString(", ")
			}
			dump(b, v.Index(i), indent+"  ")
		}
		b.WriteString("}")
	case v.Kind() == reflect.Map:
		b.WriteString("{")
		for _, key := range v.MapKeys() {
			fmt.Fprintf(b, "\n%s  %q: ", indent, key.Interface())
			dump(b, v.MapIndex(key), indent+"  ")
		}
		b.WriteString("}")
	case v.Kind() == reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v.Interface())
	}
}
