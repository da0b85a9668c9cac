package policy_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// whole is a plan without a zero field.
func whole() policy.Plan {
	return policy.Plan{
		Limits:     llm.Limits{Attempt: 20 * s, Connect: 3 * s, FirstContent: 8 * s, Idle: 5 * s, Total: 50 * s, Tries: 6},
		MaxRetries: 2,
		Backoff:    policy.Backoff{Base: 2 * s, Max: 20 * s, Jitter: policy.JitterFull},
		Targets:    []string{"a", "b"},
		Hedge:      policy.Hedge{After: 7 * s, Share: 0.1},
		Watch:      policy.WatchOn,
		FallbackOn: []llm.Kind{llm.ErrContentFiltered},
		AtMostOnce: true, NoLastResort: true,
	}
}

// TestPlanInherits: zero fields of an operation's plan are the default plan's, field by field.
func TestPlanInherits(t *testing.T) {
	t.Parallel()
	if v := reflect.ValueOf(whole()); true {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("%s is zero: this test must learn of the new field", v.Type().Field(i).Name)
			}
		}
	}
	plans := policy.Plans{Default: whole(), Operations: map[llm.Operation]policy.Plan{"x": {}}}
	for _, op := range []llm.Operation{"x", "unheard-of", ""} {
		if got, _ := plans.For(op); !reflect.DeepEqual(got, whole()) {
			t.Errorf("%q inherits %+v", string(op), got)
		}
	}
	own := policy.Plan{
		Limits:     llm.Limits{Attempt: 30 * s, Connect: 4 * s, FirstContent: 9 * s, Idle: 6 * s, Total: 60 * s, Tries: 7},
		MaxRetries: policy.NoRetries,
		Backoff:    policy.Backoff{Base: 3 * s, Max: 30 * s, Jitter: policy.JitterNone},
		Targets:    []string{"c"},
		Hedge:      policy.Hedge{After: -1, Share: 0.2},
		Watch:      policy.WatchOff,
		FallbackOn: []llm.Kind{llm.ErrInvalid},
		AtMostOnce: true, NoLastResort: true,
	}
	plans.Operations["x"] = own
	if got, _ := plans.For("x"); !reflect.DeepEqual(got, own) {
		t.Errorf("what is set is overruled: %+v", got)
	}
	mixed := policy.Plan{Backoff: policy.Backoff{Max: 40 * s}, Hedge: policy.Hedge{Share: 0.5}, Limits: llm.Limits{Tries: 1}}
	want := whole()
	want.Backoff.Max, want.Hedge.Share, want.Limits.Tries = 40*s, 0.5, 1
	plans.Operations["x"] = mixed
	if got, _ := plans.For("x"); !reflect.DeepEqual(got, want) {
		t.Errorf("a half set plan:\n got %+v\nwant %+v", got, want)
	}
}

// TestPlanKeepsTheNamedLimits: the default plan's attempt limit is not for the three named operations.
func TestPlanKeepsTheNamedLimits(t *testing.T) {
	t.Parallel()
	plans := policy.Plans{Default: policy.Plan{Limits: llm.Limits{Attempt: 5 * s}}}
	for op, want := range map[llm.Operation]time.Duration{llm.Triage: 30 * s, llm.Orchestration: 90 * s, llm.Generation: 45 * s, "": 5 * s, "x": 5 * s} {
		if got, _ := plans.For(op); got.Limits.Attempt != want {
			t.Errorf("%q: %v, want %v", string(op), got.Limits.Attempt, want)
		}
	}
}

func TestPlanRetries(t *testing.T) {
	t.Parallel()
	for max, want := range map[int]int{0: 3, policy.NoRetries: 0, -5: 0, 1: 1, 12: 12, 1_000_000: 1_000_000, math.MaxInt: 1_000_000} {
		if got := (policy.Plan{MaxRetries: max}).Retries(); got != want {
			t.Errorf("MaxRetries %d is %d retries, want %d", max, got, want)
		}
	}
}

func TestWatchOn(t *testing.T) {
	t.Parallel()
	streams := llm.Capabilities{Streams: true}
	silent := llm.Capabilities{Streams: true, Silent: true}
	lacks := llm.Capabilities{Streams: true, Lacks: []string{"seed", "stream"}}
	tests := []struct {
		name  string
		watch policy.Watch
		share time.Duration // of 30 s
		can   llm.Capabilities
		want  bool
	}{
		{"auto with a short share", policy.WatchAuto, 15 * s, streams, true},
		{"auto just below nine tenths", policy.WatchAuto, 27*s - 1, streams, true},
		{"auto at nine tenths", policy.WatchAuto, 27 * s, streams, false},
		{"auto with all of it", policy.WatchAuto, 30 * s, streams, false},
		{"auto where nothing is known", policy.WatchAuto, 15 * s, llm.Capabilities{}, false},
		{"auto on a silent one", policy.WatchAuto, 15 * s, silent, false},
		{"auto on one that lacks streams", policy.WatchAuto, 15 * s, lacks, false},
		{"on with all of it", policy.WatchOn, 30 * s, streams, true},
		{"on where nothing is known", policy.WatchOn, 30 * s, llm.Capabilities{}, true},
		{"on for a silent one", policy.WatchOn, 30 * s, silent, true},
		{"on where it cannot be", policy.WatchOn, 15 * s, lacks, false},
		{"off", policy.WatchOff, 15 * s, streams, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.watch.On(tt.share, 30*s, &tt.can); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestHedgeLimit(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]float64{0: 0.05, 0.2: 0.2, 1: 1} {
		if got := (policy.Hedge{Share: share}).Limit(); got != want {
			t.Errorf("a share of %v is %v, want %v", share, got, want)
		}
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	attempt := func(d time.Duration) policy.Plan { return policy.Plan{Limits: llm.Limits{Attempt: d}} }
	with := func(p policy.Plan, change func(*policy.Plan)) policy.Plan { change(&p); return p }
	tests := []struct {
		name    string
		plan    policy.Plan
		targets int
		left    time.Duration
		want    policy.Effective
	}{
		{"one target", attempt(30 * s), 1, 0, policy.Effective{Total: 60 * s, Tries: 4, FirstShare: 30 * s}},
		{"no target is one", attempt(30 * s), 0, 0, policy.Effective{Total: 60 * s, Tries: 4, FirstShare: 30 * s}},
		{"two targets", attempt(30 * s), 2, 0, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 30 * s}},
		{"three targets", attempt(60 * s), 3, 0, policy.Effective{Total: 180 * s, Tries: 12, FirstShare: 60 * s, HangCost: 60 * s}},
		{"five targets", attempt(60 * s), 5, 0, policy.Effective{Total: 180 * s, Tries: 20, FirstShare: 36 * s, HangCost: 36 * s}},
		{"under a deadline", attempt(60 * s), 3, 30 * s, policy.Effective{Total: 30 * s, Tries: 12, FirstShare: 10 * s, HangCost: 10 * s}},
		{"a deadline beyond the total", attempt(30 * s), 2, 600 * s, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 30 * s}},
		{"a deadline for two of three", attempt(60 * s), 3, 5 * s, policy.Effective{Total: 5 * s, Tries: 12, FirstShare: 5 * s / 3, HangCost: 5 * s / 3}},
		{"without retries", with(attempt(30*s), func(p *policy.Plan) { p.MaxRetries = policy.NoRetries }), 3, 0, policy.Effective{Total: 90 * s, Tries: 3, FirstShare: 30 * s, HangCost: 30 * s}},
		{"with retries without end", with(attempt(30*s), func(p *policy.Plan) { p.MaxRetries = math.MaxInt }), 3, 0, policy.Effective{Total: 90 * s, Tries: 3_000_003, FirstShare: 30 * s, HangCost: 30 * s}},
		{"with a limit of tries", with(attempt(30*s), func(p *policy.Plan) { p.Limits.Tries = 5 }), 3, 0, policy.Effective{Total: 90 * s, Tries: 5, FirstShare: 30 * s, HangCost: 30 * s}},
		{"with more tries than there are", with(attempt(30*s), func(p *policy.Plan) { p.Limits.Tries = 50 }), 2, 0, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 30 * s}},
		{"with a first content limit", with(attempt(30*s), func(p *policy.Plan) { p.Limits.FirstContent = 8 * s }), 2, 0, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 8 * s}},
		{"with a hedge", with(attempt(30*s), func(p *policy.Plan) { p.Limits.FirstContent, p.Hedge.After = 8*s, 5*s }), 2, 0, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 5 * s}},
		{"a hedge for one target is none", with(attempt(30*s), func(p *policy.Plan) { p.Hedge.After = 5 * s }), 1, 0, policy.Effective{Total: 60 * s, Tries: 4, FirstShare: 30 * s}},
		{"a hedge that is switched off", with(attempt(30*s), func(p *policy.Plan) { p.Hedge.After = -1 }), 2, 0, policy.Effective{Total: 60 * s, Tries: 8, FirstShare: 30 * s, HangCost: 30 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.plan.Effective(tt.targets, tt.left); got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func ExamplePlan_Effective() {
	plan, _ := policy.Plans{}.For(llm.Triage)
	for _, targets := range []int{1, 2, 3} {
		e := plan.Effective(targets, 0)
		fmt.Printf("%d targets: at most %v, the first has %v\n", targets, e.Total, e.FirstShare)
	}
	// Output:
	// 1 targets: at most 1m0s, the first has 30s
	// 2 targets: at most 1m0s, the first has 30s
	// 3 targets: at most 1m30s, the first has 30s
}
