package main

import (
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// demoScale divides the default limits, so that minutes become seconds.
const demoScale = 20

func scaled(d time.Duration) time.Duration { return d / demoScale }

const (
	demoRest       = 6 * time.Second // what bedrock asks for
	demoExecution  = time.Second     // the deadline of the last call
	breakerOpenFor = 300 * time.Second
)

// demoCall is one call of the demo with what it promises.
type demoCall struct {
	title     string
	request   *llm.Request
	stream    bool
	times     int           // how often at once; 0: once
	limit     time.Duration // of the whole call
	execution time.Duration // an execution deadline; 0: none
	want      llm.Kind
	rows      []string // what becomes of each target, as rowWords tells it
	breaker   string   // the first target's afterwards, as breakerWords tells it
	verdict   func(*demonstration, *outcomeOf) string
}

// demoPlans are the default plans at 1/20, with the limit to first content that the text of the demo names. A
// wait of 1/20 is shorter than the shortest there is, so it is always that one.
func demoPlans() policy.Plans {
	limits := func(op llm.Operation) llm.Limits {
		plan, _ := policy.Plans{}.For(op)
		return llm.Limits{Attempt: scaled(plan.Limits.Attempt)}
	}
	generation := limits(llm.Generation)
	generation.FirstContent = scaled(15 * time.Second)
	return policy.Plans{
		Default: policy.Plan{Backoff: policy.Backoff{Base: scaled(time.Second), Max: scaled(10 * time.Second)}},
		Operations: map[llm.Operation]policy.Plan{
			llm.Triage:        {Limits: limits(llm.Triage)},
			llm.Orchestration: {Limits: limits(llm.Orchestration)},
			llm.Generation:    {Limits: generation},
		},
	}
}

func attemptOf(plans policy.Plans, op llm.Operation) time.Duration {
	plan, _ := plans.For(op)
	return plan.Limits.Attempt
}

// demoAccounts are those of the calls that are answered: what each does to its first request, its second, …;
// the last one stays.
func demoAccounts(epoch time.Time) []*simulated {
	throttle := llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: demoRest})
	overload := llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503})
	triage := demoAnswer(llm.Triage)
	return []*simulated{
		simulatedAzure("azure", epoch, llmtest.Hang()),
		simulatedBedrock("bedrock", epoch, throttle),
		simulatedVertex("vertex", epoch, triage, demoAnswer(llm.Orchestration), demoAnswer(llm.Generation),
			triage.Times(3), triage, overload, triage),
	}
}

func hangingAccounts(epoch time.Time) []*simulated {
	return []*simulated{
		simulatedAzure("azure", epoch, llmtest.Hang()),
		simulatedBedrock("bedrock", epoch, llmtest.Hang()),
		simulatedVertex("vertex", epoch, llmtest.Hang()),
	}
}

// demoCalls are the calls in order.
func demoCalls(plans policy.Plans) []demoCall {
	ask := func(op llm.Operation, text string) *llm.Request {
		return &llm.Request{Operation: op, Messages: []llm.Message{llm.User(text)}}
	}
	total := func(op llm.Operation) time.Duration {
		plan, _ := plans.For(op)
		return plan.Total(3)
	}
	generation, _ := plans.For(llm.Generation)
	triage := ask(llm.Triage, "Urgent, normal or spam? The invoice is wrong.")
	letter := ask(llm.Generation, "Write the answer to the customer.")
	return []demoCall{
		{
			title:   fmt.Sprintf("triage: %s an attempt, %s in all", span(attemptOf(plans, llm.Triage)), span(total(llm.Triage))),
			request: triage, limit: total(llm.Triage),
			rows: []string{"azure timeout", "bedrock rate_limited", "vertex answered"}, breaker: "closed at 0.5",
			verdict: func(_ *demonstration, o *outcomeOf) string {
				return "answered in " + span(o.took) + "; the hang took its share, not the call\n" +
					"     a timeout is half a failure: azure's breaker is at 0.5 of 3"
			},
		},
		{
			title:   fmt.Sprintf("orchestration: %s an attempt, %s in all", span(attemptOf(plans, llm.Orchestration)), span(total(llm.Orchestration))),
			request: ask(llm.Orchestration, "Plan the steps to handle a wrong invoice."), limit: total(llm.Orchestration),
			rows: []string{"azure timeout", "bedrock cooling", "vertex answered"}, breaker: "closed at 1",
			verdict: func(_ *demonstration, o *outcomeOf) string {
				return "answered in " + span(o.took) + "; bedrock was left alone, as it had asked"
			},
		},
		{
			title:   fmt.Sprintf("generation, streamed: %s to first content a target", span(generation.Limits.FirstContent)),
			request: letter, stream: true, limit: total(llm.Generation),
			rows: []string{"azure timeout", "bedrock rate_limited", "vertex answered"}, breaker: "closed at 1.5",
			verdict: func(_ *demonstration, o *outcomeOf) string {
				return "first words after " + span(o.first) + ", complete after " + span(o.took)
			},
		},
		{
			title:   "triage, three calls at once (one is drawn)",
			request: triage, times: 3, limit: total(llm.Triage),
			rows: []string{"azure timeout", "bedrock cooling", "vertex answered"}, breaker: "open at 3",
			verdict: func(*demonstration, *outcomeOf) string {
				return "azure's breaker opens: 6 timeouts, half a failure each, threshold 3"
			},
		},
		{
			title:   "triage, the request of call 1 once more",
			request: triage, limit: total(llm.Triage),
			rows: []string{"azure open", "bedrock cooling", "vertex answered"}, breaker: "open at 3",
			verdict: func(d *demonstration, o *outcomeOf) string {
				return "answered in " + span(o.took) + " instead of " + span(d.first)
			},
		},
		{
			title:   "triage, and now vertex is overloaded for a moment",
			request: triage, limit: total(llm.Triage),
			rows: []string{"azure open", "bedrock cooling", "vertex unavailable", "vertex answered"}, breaker: "open at 3",
			verdict: func(_ *demonstration, o *outcomeOf) string {
				return "answered in " + span(o.took) + "; there was nobody else, so it was asked again"
			},
		},
		{
			title:   fmt.Sprintf("generation with %s of execution left, and now all three hang", span(demoExecution)),
			request: letter, limit: demoExecution, execution: demoExecution, want: llm.ErrDeadlineExceeded,
			rows: []string{"azure timeout", "bedrock timeout", "vertex deadline_exceeded"}, breaker: "closed at 0",
			verdict: func(_ *demonstration, o *outcomeOf) string {
				return "ended at " + span(o.took) + " with an error that says all this; a third of it each"
			},
		},
	}
}
