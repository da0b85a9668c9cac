package deadline

import (
	"maps"
	"time"
)

// Options say how an execution uses its time. The zero value keeps no margin, has no caps, and stops
// starting work when min(5 s, a tenth) is left. Options are copied: changing them later changes nothing.
type Options struct {
	// Margin is kept for the shutdown of whoever set the total: work ends that long before. 0 is none, for
	// [FromEnv] 10 s; there a negative Margin is none.
	Margin time.Duration
	// FailFast is the time below which nothing is started: with less left, [Check] fails. 0 is 5 s or a tenth
	// of the execution's time, whichever is less.
	FailFast time.Duration
	// Caps names the steps of the execution and says how long each may take at most, see [Step]. A step whose
	// cap is 0 is known and has no cap of its own. Without caps those of the execution outside hold.
	Caps map[string]time.Duration
	// Warn is the time left at which the channel of [Warned] is closed. 0 is the FailFast in force.
	Warn time.Duration
}

// failFast is FailFast with its default, for an execution of that total.
func (o *Options) failFast(total time.Duration) time.Duration {
	if o.FailFast > 0 {
		return o.FailFast
	}
	return min(5*time.Second, total/10)
}

// caps is a copy of Caps, nil if there are none.
func (o *Options) caps() map[string]time.Duration {
	if len(o.Caps) == 0 {
		return nil
	}
	return maps.Clone(o.Caps)
}
