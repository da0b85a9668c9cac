package fallback

import (
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// operation is the plan of one operation, with what its calls share.
type operation struct {
	policy.Plan

	hedges hedgeBudget
}

// operations are the plans of all operations that have one; "" is for those that have none.
type operations map[llm.Operation]*operation

func newOperations(plans policy.Plans) operations {
	ops := operations{"": nil, llm.Triage: nil, llm.Orchestration: nil, llm.Generation: nil}
	for op := range plans.Operations {
		ops[op] = nil
	}
	for op := range ops {
		plan, _ := plans.For(op)
		ops[op] = &operation{Plan: plan}
		ops[op].hedges.credit.Store(oneHedge)
	}
	return ops
}

// of is the plan of op; known is false when it has none of its own.
func (o operations) of(op llm.Operation) (plan *operation, known bool) {
	if plan = o[op]; plan != nil {
		return plan, true
	}
	return o[""], false
}
