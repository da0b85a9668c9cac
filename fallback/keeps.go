package fallback

import "github.com/punctual-llm/punctual/breaker"

// Keeps reports whether a chain that takes over from c goes on with c's breaker, cool-down, retry tokens and generator
// for a target of this name and fingerprint. Such a target needs no Generator of its own. A nil chain keeps nothing.
func (c *Chain) Keeps(name, fingerprint string) bool {
	return c.stateOf(&Target{Name: name, Fingerprint: fingerprint}) != nil
}

// Breakers are those of the chain's targets. A chain that takes over from c has the same, unless its Options name others.
func (c *Chain) Breakers() *breaker.Set { return c.breakers }
