package policy

import "github.com/punctual-llm/punctual/deadline"

// Value is that of the context around the attempt. For deadline.CallerKey it is that context itself: the limits of
// an attempt are ours, and a provider is told of a deadline only when the caller has one.
func (c *Clock) Value(key any) any {
	if key == (deadline.CallerKey{}) {
		return c.Context
	}
	return c.Context.Value(key)
}
