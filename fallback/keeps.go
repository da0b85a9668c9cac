package fallback

// Keeps reports whether a chain that takes over from c goes on with c's breaker, cool-down, retry tokens and generator
// for a target of this name and fingerprint. Such a target needs no Generator of its own. A nil chain keeps nothing.
func (c *Chain) Keeps(name, fingerprint string) bool {
	return c.stateOf(&Target{Name: name, Fingerprint: fingerprint}) != nil
}
