package fallback

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Chain is an llm.Generator that asks its targets in order until one answers. It is immutable and safe for
// concurrent use.
type Chain struct {
	targets []Target
	plans   policy.Plans

	running atomic.Int64  // calls under way; below 0 once Close was called
	drained chan struct{} // closed when Close was called and no call is under way
	once    sync.Once     // for closing drained
}

// closedMark is added to running by Close.
const closedMark = math.MinInt64 / 2

// New returns a Chain over targets. An error names the field that is wrong.
func New(targets []Target, o *Options) (*Chain, error) {
	c := &Chain{targets: slices.Clone(targets), drained: make(chan struct{})}
	if o != nil {
		c.plans = o.Plans
		c.plans.Operations = maps.Clone(o.Plans.Operations)
	}
	if err := checkTargets(c.targets, c.plans); err != nil {
		return nil, err
	}
	for i := range c.targets {
		if t := &c.targets[i]; !t.Prompt {
			t.Generator = llm.Detached(t.Generator)
		}
	}
	return c, nil
}

// NewClient is the shortest way to a call: a Client over New(targets, o).
func NewClient(targets []Target, o *Options) (*llm.Client, error) {
	c, err := New(targets, o)
	if err != nil {
		return nil, err
	}
	return llm.NewClient(c, nil), nil
}

// Generate runs one call, as [llm.Generator] says. It returns by the caller's deadline, whatever the targets
// do. The answer carries its trail in Attempts and Skipped; an error is an [*llm.Error] with the same.
func (c *Chain) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	defer c.leave()
	if c.running.Add(1) < 0 {
		return nil, llm.Invalid("chain", "is closed", "open a new one")
	}
	switch {
	case ctx == nil:
		return nil, llm.Invalid("ctx", "is nil", "pass context.Background() at the least")
	case req == nil:
		return nil, llm.Invalid("request", "is nil", "pass a request with at least one message")
	}
	run := call{chain: c, ctx: ctx, req: req, sink: sink, start: time.Now(), observer: llm.ObserverOf(ctx)}
	if err := run.prepare(); err != nil {
		return nil, err
	}
	return run.run()
}

func (c *Chain) leave() {
	if c.running.Add(-1) == closedMark {
		c.once.Do(func() { close(c.drained) })
	}
}

// Close refuses new calls, waits until those under way have ended or ctx ends, and then closes every target
// once. It returns what their Close returned, and the context's error if calls were still under way. A
// second Close does nothing.
func (c *Chain) Close(ctx context.Context) error {
	for {
		n := c.running.Load()
		if n < 0 {
			return nil
		}
		if c.running.CompareAndSwap(n, n+closedMark) {
			if n == 0 {
				c.once.Do(func() { close(c.drained) })
			}
			break
		}
	}
	if ctx == nil {
		ctx = context.Background() //nolint:forbidigo // a nil context means no bound, not a panic
	}
	var errs []error
	select {
	case <-c.drained:
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	}
	for i := range c.targets {
		if t := &c.targets[i]; t.Close != nil {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}
