package breaker

import (
	"fmt"
	"time"
)

// State is what a breaker does with calls.
type State string

// The states of a breaker.
const (
	// Closed lets every call through.
	Closed State = "closed"
	// Open refuses every call.
	Open State = "open"
	// HalfOpen lets one call at a time through, as a probe.
	HalfOpen State = "half_open"
)

// Status is a look at one breaker.
type Status struct {
	// State is HalfOpen as soon as the wait of an opening is over, though no probe has come yet.
	State State
	// Score is the sum of weights since the last success. It stays while the breaker is open, and a probe
	// that fails adds to it.
	Score float64
	// Until is when the next probe may come; zero unless State is Open.
	Until time.Time
}

// Change is a change of state. A breaker becomes HalfOpen when its first probe is admitted, since nothing
// happens to it in the meantime. A success of a call made by [Set.Bypass] is told as a probe that was admitted
// and succeeded just then.
type Change struct {
	Name     string // of the target
	From, To State
	At       time.Time
}

// OpenError is the error of [Set.Allow]: the target's breaker refused the call, and nothing was sent.
type OpenError struct {
	Name string // of the target
	// Until is when a call will be admitted again. It is zero when that depends on a probe that is out: the
	// next call may be admitted as soon as it is settled.
	Until time.Time
}

// Error names the target and when it may be asked again.
func (e *OpenError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("breaker: %q is half open and its probe is out", e.Name)
	}
	return fmt.Sprintf("breaker: %q is open until %s", e.Name, e.Until.Format(time.RFC3339))
}
