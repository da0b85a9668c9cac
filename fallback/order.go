package fallback

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// choose fills slots with the targets of the call in its order: the request's route or the plan's list,
// without those that cannot carry the request, pools drawn, the preferred one first.
func (c *call) choose() error {
	if err := c.route(); err != nil {
		return err
	}
	c.drop(llm.SkipRoute, func(m *member) bool {
		return slices.ContainsFunc(c.req.Route.Tags, func(tag string) bool { return !slices.Contains(m.Tags, tag) })
	})
	if len(c.slots) == 0 {
		return llm.Unsupported("route.tags", "no target of the plan has all of them", "correct route.tags or the targets' tags")
	}
	var what string
	c.drop(llm.SkipUnsupported, func(m *member) bool {
		lacks := lacking(&m.Can, c.req, c.sink != nil)
		if lacks != "" {
			what = lacks
		}
		return lacks != ""
	})
	if len(c.slots) == 0 {
		return llm.Unsupported(what, "no target of the plan can carry it", "route to one that can, or leave it out")
	}
	c.draw()
	return c.prefer()
}

// drop leaves out the targets that unfit names, and says why in the trail.
func (c *call) drop(why llm.SkipReason, unfit func(*member) bool) {
	c.slots = slices.DeleteFunc(c.slots, func(s policy.Slot) bool {
		m := &c.chain.members[s.Target]
		gone := unfit(m)
		if gone {
			c.skipped = append(c.skipped, llm.Skip{Target: m.Name, Why: why})
		}
		return gone
	})
}

func (c *call) route() error {
	names, path := c.req.Route.Only, "route.only"
	if len(names) == 0 {
		names, path = c.plan.Targets, "plan.targets"
	}
	if len(names) == 0 {
		c.slots = make([]policy.Slot, len(c.chain.members))
		for i := range c.slots {
			c.slots[i].Target = int32(i)
		}
		return nil
	}
	c.slots = make([]policy.Slot, 0, len(names))
	for i, name := range names {
		at := c.chain.index(name)
		switch {
		case at < 0:
			return unknownTarget(fmt.Sprintf("%s[%d]", path, i), name, c.chain.names())
		case c.slotOf(at) >= 0:
			return llm.Invalid(fmt.Sprintf("%s[%d]", path, i), "names a target twice", "name each target once")
		}
		c.slots = append(c.slots, policy.Slot{Target: int32(at)})
	}
	return nil
}

func (c *call) slotOf(target int) int {
	return slices.IndexFunc(c.slots, func(s policy.Slot) bool { return int(s.Target) == target })
}

// draw puts the targets of each pool behind its first one, in an order drawn by weight. What Route.Only names
// stays in the order that was asked for.
func (c *call) draw() {
	if len(c.req.Route.Only) > 0 {
		return
	}
	for at := 0; at < len(c.slots); at++ {
		pool := c.poolOf(at)
		if pool == "" {
			continue
		}
		end := at + 1
		for i := end; i < len(c.slots); i++ {
			if c.poolOf(i) == pool {
				s := c.slots[i]
				copy(c.slots[end+1:i+1], c.slots[end:i])
				c.slots[end] = s
				end++
			}
		}
		c.shuffle(c.slots[at:end])
		at = end - 1
	}
}

func (c *call) poolOf(slot int) string { return c.chain.members[c.slots[slot].Target].Pool }

func (c *call) shuffle(slots []policy.Slot) {
	draw := rand.Int64N
	if c.req.Session != "" {
		h := fnv.New64a() // the same in every process: a session finds its cached prefix again
		_, _ = io.WriteString(h, c.req.Session)
		draw = rand.New(rand.NewPCG(h.Sum64(), 0)).Int64N
	}
	weight := func(s policy.Slot) int64 { return max(int64(c.chain.members[s.Target].Weight), 1) }
	for len(slots) > 1 {
		sum := int64(0)
		for _, s := range slots {
			sum += weight(s)
		}
		n, at := draw(sum), 0
		for n >= weight(slots[at]) {
			n -= weight(slots[at])
			at++
		}
		slots[0], slots[at] = slots[at], slots[0]
		slots = slots[1:]
	}
}

// prefer moves the preferred target to the front: the named one, else who wrote the last assistant message.
func (c *call) prefer() error {
	at := -1
	if name := c.req.Route.Prefer; name != "" {
		target := c.chain.index(name)
		if target < 0 {
			return unknownTarget("route.prefer", name, c.chain.names())
		}
		at = c.slotOf(target)
	} else if len(c.req.Route.Only) == 0 {
		at = c.lastAuthor()
	}
	if at > 0 {
		s := c.slots[at]
		copy(c.slots[1:at+1], c.slots[:at])
		c.slots[0] = s
	}
	return nil
}

func (c *call) lastAuthor() int {
	for i := len(c.req.Messages) - 1; i >= 0; i-- {
		m := &c.req.Messages[i]
		if m.Role != llm.RoleAssistant || m.From == (llm.ModelRef{}) {
			continue
		}
		return slices.IndexFunc(c.slots, func(s policy.Slot) bool { return c.chain.members[s.Target].wrote(m.From) })
	}
	return -1
}

func (c *Chain) index(name string) int {
	return slices.IndexFunc(c.members, func(m member) bool { return m.Name == name })
}

func (c *Chain) names() []string {
	names := make([]string, len(c.members))
	for i := range c.members {
		names[i] = c.members[i].Name
	}
	return names
}
