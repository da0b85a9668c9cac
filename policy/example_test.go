package policy_test

import (
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Three targets and a deadline of 60 s: each attempt may take an equal part of what is left, so a target
// that hangs never takes the time of the next one.
func ExampleShare() {
	left := 60 * time.Second
	for live := 3; live > 0; live-- {
		share := policy.Share(left, 45*time.Second, policy.Minimum(60*time.Second), live)
		fmt.Println(left, "left for", live, "targets:", share)
		left -= share
	}
	// Output:
	// 1m0s left for 3 targets: 20s
	// 40s left for 2 targets: 20s
	// 20s left for 1 targets: 20s
}

func ExamplePlans_For() {
	plans := policy.Plans{
		Default: policy.Plan{Limits: llm.Limits{Idle: 10 * time.Second}},
		Operations: map[llm.Operation]policy.Plan{
			"summaries": {Limits: llm.Limits{Attempt: 2 * time.Minute}},
		},
	}
	for _, op := range []llm.Operation{llm.Triage, "summaries", "unheard-of"} {
		plan, known := plans.For(op)
		fmt.Println(string(op), plan.Limits.Attempt, plan.Limits.Idle, known)
	}
	// Output:
	// triage 30s 10s true
	// summaries 2m0s 10s true
	// unheard-of 1m0s 10s false
}

func ExampleJudge() {
	// The SDK says "canceled", but it was our own limit that ended the attempt.
	sdk := fmt.Errorf("sdk: request canceled")
	v := policy.Judge(nil, false, llm.BoundFirstContent, sdk)
	fmt.Println(v.Kind, v.Bound)
	// Output: timeout first_content
}
