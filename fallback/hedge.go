package fallback

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// hedge is a second target beside an attempt that brings nothing. The first attempt stays on the caller's
// goroutine as if there were no hedge; the second has one of its own. Whoever brings content first (of a
// unary call: an answer) claims the call. If the second does, it cancels the first, and the caller's
// goroutine pumps its events, so the sink never leaves it. Slots, tokens and trail are touched on the
// caller's goroutine only.
type hedge struct {
	first, second *attempt
	live          int // targets that share what is left when the second is asked: itself and those behind it
	timer         *time.Timer
	claim         atomic.Int32 // nobody, theFirst or theSecond

	mu      sync.Mutex
	closed  bool // the second must not be started any more
	running bool // it was started
	result  result

	counted bool           // it is in the slots; of the caller's goroutine, as is over
	over    bool           // it was dropped, or its end was taken
	events  chan llm.Event // the second's, once it has claimed
	taken   chan error     // what the sink said to them
	quit    chan struct{}  // closed when nobody will pump
	done    chan struct{}  // closed when the result is there
}

type result struct {
	resp   *llm.Response
	err    error
	failed bool // by itself, while the caller still waited
	panic  any  // of the target; nil: none
	done   bool
	took   time.Duration

	callerErr error // of the caller's context, when it ended
}

const (
	nobody int32 = iota
	theFirst
	theSecond
)

var errHedged = errors.New("fallback: another target was faster")

// hedgeBudget earns a share of a hedge with every call. In millionths of a hedge.
type hedgeBudget struct{ credit atomic.Int64 }

const (
	oneHedge   = 1_000_000
	mostHedges = 10 * oneHedge
)

func (b *hedgeBudget) earn(share float64) {
	if credit := b.credit.Add(int64(math.Ceil(share * oneHedge))); credit > mostHedges {
		b.credit.CompareAndSwap(credit, mostHedges)
	}
}

func (b *hedgeBudget) spend() bool {
	if b.credit.Add(-oneHedge) >= 0 {
		return true
	}
	b.giveBack()
	return false
}

func (b *hedgeBudget) giveBack() { b.credit.Add(oneHedge) }

// arm makes ready to ask a second target beside a, nil if none is fit for it.
func (c *call) arm(a *attempt, left time.Duration) *hedge {
	budget := &c.plan.hedges
	if len(c.attempts) == 0 {
		budget.earn(c.plan.Hedge.Limit())
	}
	after := c.plan.Hedge.After
	if c.plan.AtMostOnce || c.chain.inEmergency() || after >= a.limits.Attempt || c.limits.Tries > 0 && int(c.tries) >= c.limits.Tries {
		return nil
	}
	at := c.hedgeTarget(a, left-after)
	if at < 0 {
		return nil
	}
	h := &hedge{
		first: a, second: &attempt{call: c, slot: &c.slots[at], member: c.member(at)},
		live:   policy.Live(c.slots, at, c.usable),
		events: make(chan llm.Event), taken: make(chan error), quit: make(chan struct{}), done: make(chan struct{}),
	}
	h.timer = time.AfterFunc(after, func() { h.fire(budget) })
	return h
}

// hedgeTarget is the slot to hedge with: another target, not tried yet, ready now, and in good health.
func (c *call) hedgeTarget(a *attempt, left time.Duration) int {
	for i := range c.slots {
		s := &c.slots[i]
		if s == a.slot || s.Dead || s.Reserve || s.Tries > 0 || left < c.minimum || !c.usable(i) {
			continue
		}
		if c.chain.breakers.Status(c.member(i).Name).State == breaker.Closed {
			return i
		}
	}
	return -1
}

// fire starts the second target, on a goroutine of its own, unless the first is done.
func (h *hedge) fire(budget *hedgeBudget) {
	r := result{err: &llm.Error{Kind: llm.ErrUnknown, Code: "panicked"}}
	defer h.finish(&r)
	if h.start(budget) {
		h.work(&r)
	}
}

// finish ends the work of the second target. A panic of it, or of the caller's code, is kept for his goroutine.
func (h *hedge) finish(r *result) {
	if !h.running {
		return
	}
	a := h.second
	defer a.call.chain.leave()
	r.panic, r.done = recover(), true
	a.Stop()
	r.took, r.callerErr = time.Since(a.Start()), a.call.ctx.Err()
	h.mu.Lock()
	h.result = *r
	h.mu.Unlock()
	close(h.done)
}

func (h *hedge) start(budget *hedgeBudget) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, c := h.second, h.second.call
	if h.closed || h.claim.Load() != nobody || !a.fit() || !budget.spend() {
		return false
	}
	if !a.member.tokens.Take(policy.ResortCost) {
		budget.giveBack()
		return false
	}
	permit, err := c.chain.breakers.Allow(a.member.Name)
	if err != nil {
		a.member.tokens.Return(policy.ResortCost)
		budget.giveBack()
		return false
	}
	c.chain.running.Add(1)
	a.permit, h.running = permit, true
	now := time.Now()
	left, bound := c.left(now.Sub(c.start))
	limits := policy.Shorten(c.limits, a.member.Limits)
	limits.Attempt = policy.Share(left, limits.Attempt, c.minimum, h.live)
	a.set(limits, left, bound)
	a.begin(now)
	return true
}

// fit reports whether a second target may still be asked: since the hedge was armed it may have been left alone, its
// breaker may have opened, and the execution may have come too near to its end.
func (a *attempt) fit() bool {
	d, _ := a.member.cooled()
	return d <= 0 && a.call.chain.breakers.Status(a.member.Name).State == breaker.Closed && (!a.call.execution || deadline.Check(a.call.ctx) == nil)
}

// work asks the second target.
func (h *hedge) work(r *result) {
	a := h.second
	sink := a.sink()
	if a.call.sink != nil {
		sink = h.accept
	}
	a.asking, r.failed = true, true
	r.resp, r.err = a.member.generator.Generate(&a.Clock, a.call.req, sink)
	a.asking = false
	r.failed = r.err != nil && !errors.Is(r.err, errHedged) && !a.call.over()
	if e, ok := errors.AsType[*llm.Error](r.err); ok && e != nil && r.failed { // others must not wait for this call to end
		a.call.cool(a.member, policy.RuleFor(e.Kind, false, a.call.plan.Plan), e, time.Now())
	}
	if a.call.sink != nil || r.err != nil {
		return
	}
	if r.failed = a.call.judgeAnswer(r.resp) != nil; !r.failed && h.claim.CompareAndSwap(nobody, theSecond) {
		h.first.Abort(errHedged)
	}
}

// accept is the sink of the second target: its first content claims the call, and then the caller's
// goroutine takes the events one by one.
func (h *hedge) accept(e llm.Event) error {
	a := h.second
	switch {
	case a.sinkErr != nil: // written before taken was sent
		return a.sinkErr
	case !content(e):
		return nil
	case !a.Enter(): // before the claim: a second whose limit fell must not stop the first
		a.refused = true
		return errRefused
	}
	defer a.Leave()
	if h.claim.CompareAndSwap(nobody, theSecond) {
		h.first.Abort(errHedged)
	} else if h.claim.Load() != theSecond {
		return errHedged
	}
	select {
	case h.events <- e:
	case <-h.quit:
		return errHedged
	}
	select {
	case err := <-h.taken:
		return err
	case <-h.quit:
		return errHedged
	}
}

// claimFirst claims the call for the first target, on the caller's goroutine.
func (h *hedge) claimFirst() bool {
	if !h.claim.CompareAndSwap(nobody, theFirst) {
		return h.claim.Load() == theFirst
	}
	h.first.inSink = true // of the observers that hear of the drop
	h.drop()
	h.first.inSink = false
	return true
}

// resolve goes on when the first target is done: with its own end, or with the second one's.
func (h *hedge) resolve(resp *llm.Response, err error) (*attempt, *llm.Response, *llm.Error) {
	a := h.first
	if !h.close() {
		return a, resp, a.endNow(resp, err)
	}
	if h.claim.Load() == theSecond {
		a.Stop() // Abort leaves its timer, which holds on to the whole call
		a.lose(resp, time.Since(a.Start()))
		return h.await()
	}
	failure := a.endNow(resp, err)
	if failure != nil && a.sinkErr == nil && (h.claim.CompareAndSwap(nobody, theSecond) || h.claim.Load() == theSecond) {
		a.call.pending = h // the second is the next attempt, if there may be one
	} else {
		h.drop()
	}
	return a, resp, failure
}

// close lets the second not be started any more. It reports whether it was.
func (h *hedge) close() (running bool) {
	h.timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return h.running
}

// await pumps the second target's events, and ends with its end.
func (h *hedge) await() (*attempt, *llm.Response, *llm.Error) {
	a := h.second
	h.count()
	defer h.drop() // when the sink panics
	defer a.leave()
	for {
		select {
		case e := <-h.events:
			h.taken <- a.deliver(e)
		case <-h.done:
			h.over = true
			if p := h.result.panic; p != nil {
				panic(p)
			}
			failure := a.end(h.result.resp, h.result.err, h.result.took, h.result.callerErr)
			return a, h.result.resp, failure
		}
	}
}

// count writes the second target into its slot, on the caller's goroutine.
func (h *hedge) count() {
	if !h.counted {
		h.counted = true
		h.second.slot.Paid += policy.ResortCost
		h.second.count()
	}
}

// drop lets the second target go: it is cancelled and not waited for, and stands in the trail with what it
// may have cost. One that had failed by then is told as that.
func (h *hedge) drop() {
	if !h.close() || h.over {
		return
	}
	h.over = true
	close(h.quit)
	h.count()
	a, took := h.second, time.Since(h.second.Start())
	h.mu.Lock()
	r := h.result
	h.mu.Unlock()
	if r.done {
		took = r.took
	}
	if r.failed {
		_ = a.end(r.resp, r.err, took, r.callerErr)
		return
	}
	a.Abort(errHedged)
	a.lose(r.resp, took)
}
