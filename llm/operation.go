package llm

// Operation names what a call is for, and with that the plan (limits, retries, targets) it runs under. The
// set is open: any name may have a plan. The zero Operation is the default plan.
type Operation string

// The operations that have a plan of their own by default.
const (
	// Triage is a short decision at the entry: 30 s an attempt.
	Triage Operation = "triage"
	// Orchestration plans the next steps of an agent: 90 s an attempt.
	Orchestration Operation = "orchestration"
	// Generation writes the answer for a reader: 45 s an attempt.
	Generation Operation = "generation"
)
