package fallback

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Chain is an llm.Generator that asks its targets until one answers: retries, breakers and hand-over in one
// loop under one deadline. It is immutable but for SetEmergency, and safe for concurrent use.
type Chain struct {
	members  []member
	plans    operations
	breakers *breaker.Set
	groups   map[string]*policy.Cooldown

	configured bool          // emergency mode by the options
	emergency  *atomic.Int32 // what SetEmergency said, shared with later chains: 0 nothing, 1 on, -1 off

	handing sync.Mutex            // held while another takes over, and to close
	running atomic.Int64          // calls under way, here and on chains before this one; below 0 once the chain was closed or replaced
	next    atomic.Pointer[Chain] // the chain that replaced this one
	drained chan struct{}         // closed when the chain was closed or replaced and no call is under way
	over    atomic.Bool           // that is so, or was
	leaving []*state              // what the next chain did not take over
}

// closedMark is added to running when the chain is closed or replaced.
const closedMark = math.MinInt64 / 2

// New returns a Chain over targets. An error names the field that is wrong; then Options.Prev goes on as if
// nothing had happened. It sends nothing and starts no goroutine.
func New(targets []Target, o *Options) (*Chain, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Prev != nil { // of two that take over at once the second is refused
		o.Prev.handing.Lock()
		defer o.Prev.handing.Unlock()
	}
	if err := check(targets, o); err != nil {
		return nil, err
	}
	c := &Chain{
		plans: newOperations(o.Plans), breakers: o.Breakers, groups: map[string]*policy.Cooldown{},
		configured: o.Emergency, emergency: new(atomic.Int32), drained: make(chan struct{}),
	}
	if prev := o.Prev; prev != nil {
		c.emergency = prev.emergency
		c.breakers = cmp.Or(c.breakers, prev.breakers)
	}
	if c.breakers == nil {
		c.breakers = breaker.NewSet(nil)
	}
	for i := range targets {
		c.members = append(c.members, c.member(targets[i], o))
	}
	if o.Prev != nil {
		o.Prev.replacedBy(c)
	}
	return c, nil
}

// NewClient is the shortest way to a call with every rule on: a Client over New(targets, o). Its Chain is out of
// reach, so that the targets are never closed: a program that does not use them to its end takes New, llm.NewClient
// and Chain.Close.
func NewClient(targets []Target, o *Options) (*llm.Client, error) {
	c, err := New(targets, o)
	if err != nil {
		return nil, err
	}
	return llm.NewClient(c, nil), nil
}

// member gives a target its state: that of the previous chain where the target is the same.
func (c *Chain) member(t Target, o *Options) member {
	m := member{Target: t, state: o.Prev.stateOf(&t)}
	if m.state == nil {
		m.state = &state{generator: t.Generator, close: t.Close}
		m.tokens.SetSize(o.RetryTokens)
		if !t.Prompt {
			m.generator = llm.Detached(t.Generator)
		}
	}
	m.group = &m.own
	if g := t.QuotaGroup; g != "" {
		if c.groups[g] == nil {
			c.groups[g] = o.Prev.group(g)
		}
		m.group = c.groups[g]
	}
	return m
}

// stateOf is the state of the target that t goes on with, nil if it is new or changed.
func (c *Chain) stateOf(t *Target) *state {
	if c == nil {
		return nil
	}
	i := c.index(t.Name)
	if i < 0 || t.Fingerprint != c.members[i].Fingerprint {
		return nil
	}
	return c.members[i].state
}

func (c *Chain) group(name string) *policy.Cooldown {
	if c != nil && c.groups[name] != nil {
		return c.groups[name]
	}
	return new(policy.Cooldown)
}

// replacedBy hands new calls to next, and closes what next did not take over once the last call has ended. Until
// then c counts as a call under way on next: what next shares with c is in use.
func (c *Chain) replacedBy(next *Chain) {
	for i := range c.members {
		m := &c.members[i]
		if slices.ContainsFunc(next.members, func(n member) bool { return n.state == m.state }) {
			continue
		}
		c.leaving = append(c.leaving, m.state)
		if next.breakers == c.breakers {
			c.breakers.Forget(m.Name)
		}
	}
	next.running.Add(1) // until the last call here has ended: it may be on a target of next
	c.next.Store(next)
	c.end()
}

// SetEmergency switches emergency mode on or off: no retries and no hedges, while fallback stays. It holds
// until the next SetEmergency, in chains that take over from this one, too.
func (c *Chain) SetEmergency(on bool) {
	if on {
		c.emergency.Store(1)
	} else {
		c.emergency.Store(-1)
	}
}

func (c *Chain) inEmergency() bool {
	if set := c.emergency.Load(); set != 0 {
		return set > 0
	}
	return c.configured
}

// Generate runs one call, as [llm.Generator] says. It returns by the caller's deadline, whatever the targets
// do. The answer carries its trail in Attempts and Skipped; an error is an [*llm.Error] with the same. On a
// chain that another has taken over from, the call runs on the other.
func (c *Chain) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	if c.running.Add(1) < 0 {
		c.leave()
		if next := c.next.Load(); next != nil {
			return next.Generate(ctx, req, sink)
		}
		return nil, llm.Invalid("chain", "is closed", "open a new one")
	}
	defer c.leave()
	switch {
	case ctx == nil:
		return nil, llm.Invalid("ctx", "is nil", "pass context.Background() at the least")
	case req == nil:
		return nil, llm.Invalid("request", "is nil", "pass a request with at least one message")
	}
	run := call{chain: c, ctx: ctx, req: req, sink: sink, observer: llm.ObserverOf(ctx)}
	if err := run.prepare(); err != nil {
		return nil, err
	}
	return run.run()
}

// leave ends a call, or what is left of one. The last one does not wait for the targets that go: they take the time
// they like, and panic as they like.
func (c *Chain) leave() {
	switch {
	case c.running.Add(-1) != closedMark || c.over.Swap(true):
	case len(c.leaving) == 0:
		c.drain()
	default:
		go func() {
			defer func() { _ = recover() }() // as with errors, nobody is there to hear of it
			c.drain()
		}()
	}
}

// endAlone is end while no other chain takes over. Where that has been done it waits for nobody.
func (c *Chain) endAlone() bool {
	if c.running.Load() < 0 {
		return false
	}
	c.handing.Lock()
	defer c.handing.Unlock()
	return c.end()
}

// end lets no new call begin on this chain. It reports whether it is the first to do so.
func (c *Chain) end() bool {
	for {
		n := c.running.Load()
		if n < 0 {
			return false
		}
		if c.running.CompareAndSwap(n, n+closedMark) {
			if n == 0 && !c.over.Swap(true) {
				c.drain()
			}
			return true
		}
	}
}

// drain runs when the last call on an ended chain, and on those before it, is over.
func (c *Chain) drain() {
	defer func() { // when a target panics, too
		close(c.drained)
		if next := c.next.Load(); next != nil {
			next.leave()
		}
	}()
	for _, s := range c.leaving {
		_ = s.shut() // nobody is there to hear of it
	}
}

// Close refuses new calls, waits until those under way have ended or ctx ends, and then closes every target
// once. It returns what their Close returned, and the context's error if calls were still under way. A
// second Close does nothing, nor does one of a chain that another has taken over from.
func (c *Chain) Close(ctx context.Context) error {
	if !c.endAlone() {
		return nil
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
	for i := range c.members {
		errs = append(errs, c.members[i].shut())
	}
	return errors.Join(errs...)
}
