// Package fallback runs a call over targets under one deadline.
//
// A [Chain] asks its targets in order. Each attempt may take a share of the time that is left, so that a
// hanging target never takes the time of the next one; what fails goes on to the next target as the decision
// table of package policy says. The trail of every attempt comes back with the answer and with the error.
package fallback
