package punctual

import (
	"context"
	"sync"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// plans are those of a configuration, for what the Client itself asks of them.
type plans struct{ policy.Plans }

// knows reports whether an operation has a plan of its own.
func (p plans) knows(op llm.Operation) bool {
	_, known := p.For(op)
	return known
}

// maxNames bounds how many names are told of: a program that makes names up must not fill the memory.
const maxNames = 100

// names are those that were seen.
type names struct {
	mu   sync.Mutex
	seen map[llm.Operation]bool
}

// first reports whether the name was not seen before.
func (n *names) first(name llm.Operation) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[name] || len(n.seen) >= maxNames {
		return false
	}
	if n.seen == nil {
		n.seen = map[llm.Operation]bool{}
	}
	n.seen[name] = true
	return true
}

// observer logs the names of operations that have no plan: a slip of the finger would go unseen otherwise, for such
// calls run by the default.
func (c *Client) observer() *llm.Observer {
	const longest = 40 // what is longer is no name, and may be anything
	return &llm.Observer{CallStart: func(ctx context.Context, req *llm.Request) context.Context {
		op := req.Operation
		if !c.current.Load().plans.knows(op) && len(op) <= longest && c.unknown.first(op) {
			c.logger.WarnContext(ctx, "punctual: an operation without a plan runs by the default", "operation", string(op))
		}
		return ctx
	}}
}
