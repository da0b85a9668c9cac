// Package policy holds the rules of a call as plain data and pure functions, and the small states of a call:
// no I/O, no goroutine. Package fallback runs them.
//
// A [Plan] says what an operation may spend. [Share] splits the time that is left over the targets that are
// left, [Clock] holds one attempt to its limits, and [Judge] says what an attempt's end means.
package policy
