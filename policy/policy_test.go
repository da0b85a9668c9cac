package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlansFor(t *testing.T) {
	t.Parallel()
	custom := policy.Plans{
		Default: policy.Plan{Limits: llm.Limits{Attempt: 20 * s, Idle: 7 * s}, Targets: []string{"a", "b"}},
		Operations: map[llm.Operation]policy.Plan{
			llm.Triage:  {Targets: []string{"b"}},
			"summaries": {Limits: llm.Limits{FirstContent: 3 * s}},
			"long":      {Limits: llm.Limits{Attempt: 300 * s}},
		},
	}
	tests := []struct {
		plans   policy.Plans
		op      llm.Operation
		limits  llm.Limits
		targets int
		known   bool
	}{
		{policy.Plans{}, llm.Triage, llm.Limits{Attempt: 30 * s}, 0, true},
		{policy.Plans{}, llm.Orchestration, llm.Limits{Attempt: 90 * s}, 0, true},
		{policy.Plans{}, llm.Generation, llm.Limits{Attempt: 45 * s}, 0, true},
		{policy.Plans{}, "", llm.Limits{Attempt: 60 * s}, 0, true},
		{policy.Plans{}, "summaries", llm.Limits{Attempt: 60 * s}, 0, false},
		{custom, llm.Triage, llm.Limits{Attempt: 30 * s, Idle: 7 * s}, 1, true},
		{custom, llm.Generation, llm.Limits{Attempt: 45 * s, Idle: 7 * s}, 2, true},
		{custom, "summaries", llm.Limits{Attempt: 20 * s, Idle: 7 * s, FirstContent: 3 * s}, 2, true},
		{custom, "long", llm.Limits{Attempt: 300 * s, Idle: 7 * s}, 2, true},
		{custom, "other", llm.Limits{Attempt: 20 * s, Idle: 7 * s}, 2, false},
	}
	for _, tt := range tests {
		plan, known := tt.plans.For(tt.op)
		if plan.Limits != tt.limits || len(plan.Targets) != tt.targets || known != tt.known {
			t.Errorf("For(%q) = %+v, %v; want %+v, %d targets, %v", tt.op, plan, known, tt.limits, tt.targets, tt.known)
		}
	}
}

func TestPlanTotal(t *testing.T) {
	t.Parallel()
	plan := policy.Plan{Limits: llm.Limits{Attempt: 30 * s}}
	for n, want := range map[int]time.Duration{1: 60 * s, 2: 60 * s, 3: 90 * s, 4: 90 * s} {
		if got := plan.Total(n); got != want {
			t.Errorf("Total(%d) = %v, want %v", n, got, want)
		}
	}
	plan.Limits.Total = 50 * s
	if got := plan.Total(3); got != 50*s {
		t.Errorf("a total of 50s comes out as %v", got)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		left, attempt, minimum time.Duration
		live                   int
		want                   time.Duration
	}{
		{90 * s, 30 * s, 2 * s, 3, 30 * s},
		{60 * s, 60 * s, 2 * s, 3, 20 * s},
		{40 * s, 60 * s, 2 * s, 2, 20 * s},
		{20 * s, 60 * s, 2 * s, 1, 20 * s},
		{5 * s, 60 * s, 2 * s, 3, 2500 * ms}, // three parts would be below the minimum
		{1 * s, 60 * s, 2 * s, 3, 1 * s},
		{6 * s, 60 * s, 0, 3, 2 * s},
		{6 * s, 60 * s, 2 * s, 0, 6 * s},
		{2, 60 * s, 0, 3, 1}, // never 0, which would be no limit
	}
	for _, tt := range tests {
		if got := policy.Share(tt.left, tt.attempt, tt.minimum, tt.live); got != tt.want {
			t.Errorf("Share(%v, %v, %v, %d) = %v, want %v", tt.left, tt.attempt, tt.minimum, tt.live, got, tt.want)
		}
	}
}

func TestMinimum(t *testing.T) {
	t.Parallel()
	for total, want := range map[time.Duration]time.Duration{60 * s: 2 * s, 20 * s: 2 * s, 10 * s: s, 500 * ms: 50 * ms} {
		if got := policy.Minimum(total); got != want {
			t.Errorf("Minimum(%v) = %v, want %v", total, got, want)
		}
	}
}

func TestLimitsOfRequestAndTarget(t *testing.T) {
	t.Parallel()
	plan := llm.Limits{Attempt: 30 * s, Idle: 10 * s, Total: 60 * s, Tries: 4}
	request := policy.Override(plan, llm.Limits{Attempt: 50 * s, FirstContent: 5 * s, Tries: 2})
	if want := (llm.Limits{Attempt: 50 * s, FirstContent: 5 * s, Idle: 10 * s, Total: 60 * s, Tries: 2}); request != want {
		t.Errorf("a request's limits replace the plan's: %+v, want %+v", request, want)
	}
	target := policy.Shorten(request, llm.Limits{Attempt: 80 * s, Idle: 4 * s, Connect: 3 * s, Total: s, Tries: 1})
	if want := (llm.Limits{Attempt: 50 * s, FirstContent: 5 * s, Idle: 4 * s, Connect: 3 * s, Total: 60 * s, Tries: 2}); target != want {
		t.Errorf("a target's limits only shorten: %+v, want %+v", target, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	provider := func(k llm.Kind) error { return &llm.Error{Kind: k} }
	tests := []struct {
		name       string
		callerErr  error
		callerOver bool
		fell       llm.Bound
		err        error
		want       policy.Verdict
	}{
		{"the caller canceled", context.Canceled, true, llm.BoundAttempt, provider(llm.ErrUnavailable), policy.Verdict{Kind: llm.ErrCanceled}},
		{"the caller's context is over", context.DeadlineExceeded, true, llm.BoundAttempt, context.Canceled, policy.Verdict{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller}},
		{"the caller's deadline has passed, its timer has not run", nil, true, llm.BoundAttempt, context.Canceled, policy.Verdict{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller}},
		{"our limit makes the SDK say canceled", nil, false, llm.BoundIdle, fmt.Errorf("sdk: %w", context.Canceled), policy.Verdict{Kind: llm.ErrTimeout, Bound: llm.BoundIdle}},
		{"the provider's own error", nil, false, "", provider(llm.ErrRateLimited), policy.Verdict{Kind: llm.ErrRateLimited}},
		{"the provider says canceled while nobody did", nil, false, "", provider(llm.ErrCanceled), policy.Verdict{Kind: llm.ErrConnection}},
		{"the provider's own deadline is a timeout", nil, false, "", context.DeadlineExceeded, policy.Verdict{Kind: llm.ErrTimeout}},
		{"a foreign network error", nil, false, "", fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), policy.Verdict{Kind: llm.ErrConnection}},
		{"a foreign end of input", nil, false, "", io.ErrUnexpectedEOF, policy.Verdict{Kind: llm.ErrConnection}},
		{"an adapter that does not know", nil, false, "", provider(llm.ErrUnknown), policy.Verdict{Kind: llm.ErrUnknown}},
		{"an adapter that does not say", nil, false, "", fmt.Errorf("x: %w", provider("")), policy.Verdict{Kind: llm.ErrUnknown}},
		{"anything else", nil, false, "", errors.New("boom"), policy.Verdict{Kind: llm.ErrUnknown}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := policy.Judge(tt.callerErr, tt.callerOver, tt.fell, tt.err); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestAnUnknownErrorIsNoNetworkFault: an llm.Error is a net.Error, which says nothing of the network.
func TestAnUnknownErrorIsNoNetworkFault(t *testing.T) {
	t.Parallel()
	for _, err := range []error{&llm.Error{}, &llm.Error{Kind: llm.ErrUnknown, Err: errors.New("boom")}} {
		if v := policy.Judge(nil, false, "", err); v.Kind != llm.ErrUnknown {
			t.Errorf("%v is %s", err, v.Kind)
		}
	}
	if v := policy.Judge(nil, false, "", &llm.Error{Err: &net.OpError{Op: "dial", Err: io.EOF}}); v.Kind != llm.ErrConnection {
		t.Errorf("a dial that failed is %s", v.Kind)
	}
}
