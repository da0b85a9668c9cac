package sse

// noteError keeps the place of the first error member that says something, and
// of the empty ones in front of everything else.
func (c *compactor) noteError(m member, value []byte) {
	switch string(value) {
	case "null", "false", `""`:
		if m.key == c.lead {
			c.lead = m.end + 1 // with the comma
		}
	default:
		if !c.err.found() {
			c.err = m
		}
	}
}

// errorFirst returns the object with its error member moved to the front and
// the key spelled as SDKs look for it.
func (c *compactor) errorFirst() []byte {
	obj := make([]byte, 0, len(c.dst)-c.base)
	obj = append(obj, `{"error":`...)
	obj = append(obj, c.dst[c.err.value:c.err.end]...)
	if c.err.key > c.lead {
		obj = append(obj, ',')
		obj = append(obj, c.dst[c.lead:c.err.key-1]...)
	}
	return append(obj, c.dst[c.err.end:]...)
}

// dropLead removes the empty error members in front.
func (c *compactor) dropLead() {
	inner := c.base + 1
	rest := c.dst[min(c.lead, len(c.dst)-1):]
	c.dst = append(c.dst[:inner], rest...)
}
