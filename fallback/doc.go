// Package fallback runs a call over targets under one deadline.
//
// A [Chain] asks every usable target once, in order, and then again after their waits, in one loop. Each attempt
// may take a share of the time that is left, so that a hanging target never takes the time of the next one; what
// a failure means for the target, its breaker and the call stands in the decision table of package policy. The
// trail of every attempt comes back with the answer and with the error.
package fallback
