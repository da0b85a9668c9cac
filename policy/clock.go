package policy

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Clock is the context of one attempt and holds it to its limits. One timer serves all of them: it is armed
// once, looks at what is due when it fires, and is armed again for the rest, so that an event of a stream
// costs no timer call. A Clock is used for one attempt and never pooled: SDKs keep contexts after they have
// returned, and a timer that was made inside a synctest bubble must not be used outside of it.
//
// The goroutine of the call uses Init, Enter, Leave and Stop; the context side is safe for any goroutine.
type Clock struct {
	context.Context
	cancel context.CancelCauseFunc

	start    time.Time
	first    time.Duration // limit until the first content (unary: of the whole attempt); 0: none
	idle     time.Duration // limit between content; 0: none
	connect  time.Duration // limit of connecting; 0: none of ours
	end      time.Duration // end of the stream after start; 0: the parent's end, if it has one
	deadline time.Duration // what Deadline says, after start; 0: the parent's

	timer   *time.Timer // nil: no limit of ours so far
	state   atomic.Uint32
	last    atomic.Int64  // when the last content was taken, after start, plus 1; 0: none yet
	dialing atomic.Int64  // when a connection was asked for, after start, plus 1; 0: none is being made
	firstAt time.Duration // when the first content came, after start
	byFirst bool          // first is the limit of first content, and not of the attempt
}

// The states of a Clock. Every change is a compare-and-swap, so after a limit fell no event can reach the
// sink, and while the sink runs no idle limit can fall. The states from expiredFirst on are final.
const (
	waiting      uint32 = iota // for the provider
	inSink                     // the sink runs; idle stands still
	sinkLate                   // the sink runs and the timer has fired meanwhile; Leave arms it again
	stopped                    // the attempt is over
	expiredFirst               // a limit fell: the first one
	expiredIdle
	expiredEnd
	expiredConnect
)

var (
	errLimit = errors.New("llm: a limit of the attempt fell")
	errOver  = errors.New("llm: the attempt is over")
)

// Init starts the clock of an attempt at now, under parent. Of l it reads Attempt, Connect, FirstContent and
// Idle. Connect bounds the time from asking net/http for a connection to having one; where nobody asks
// net/http, it does not fall. For a unary attempt Attempt is the whole limit. For a stream the shorter of Attempt and FirstContent
// bounds the wait for the first content, and after that Idle each pause and endBy the whole; a zero endBy is
// none. A limit at or beyond the parent's deadline sets no timer: the parent ends the attempt then.
func (c *Clock) Init(parent context.Context, now time.Time, l llm.Limits, endBy time.Time, stream bool) {
	if c.connect = l.Connect; c.connect > 0 {
		parent = httptrace.WithClientTrace(parent, &httptrace.ClientTrace{GetConn: c.dial, GotConn: c.dialed})
		c.timer = time.AfterFunc(never, c.fire)
	}
	c.Context, c.cancel = context.WithCancelCause(parent)
	c.start, c.first = now, l.Attempt
	if stream {
		if l.FirstContent > 0 && (l.FirstContent < c.first || c.first == 0) {
			c.first, c.byFirst = l.FirstContent, true
		}
		c.idle = l.Idle
		if !endBy.IsZero() {
			c.end = endBy.Sub(now)
			c.deadline = c.end
		}
	} else if c.first > 0 {
		c.deadline = c.first
	}
	if d, ok := parent.Deadline(); ok {
		left := d.Sub(now)
		c.first, c.idle, c.end = within(c.first, left), within(c.idle, left), within(c.end, left)
		c.deadline = within(c.deadline, left)
	}
	c.arm(0, 0)
}

// dial and dialed are called by net/http, on goroutines of its own too.
func (c *Clock) dial(string) {
	elapsed := time.Since(c.start)
	c.dialing.Store(int64(elapsed) + 1)
	c.arm(c.last.Load(), elapsed)
}

func (c *Clock) dialed(httptrace.GotConnInfo) { c.dialing.Store(0) }

// connectBy is when the connection that is being made is due, 0 if none is.
func (c *Clock) connectBy() time.Duration {
	if asked := c.dialing.Load(); asked > 0 {
		return time.Duration(asked-1) + c.connect
	}
	return 0
}

// within drops a limit that the parent's own end makes pointless.
func within(limit, left time.Duration) time.Duration {
	if limit >= left {
		return 0
	}
	return limit
}

// next is how long after start the next limit is due, 0 if none is. last is c.last.
func (c *Clock) next(last int64) time.Duration {
	var due time.Duration
	if last == 0 {
		due = c.first
	} else if c.idle > 0 {
		due = time.Duration(last-1) + c.idle
	}
	for _, other := range []time.Duration{c.end, c.connectBy()} {
		if other > 0 && (due == 0 || other < due) {
			due = other
		}
	}
	return due
}

// fallen is the state for the limit that has fallen by now, waiting if none has. The sink does not run.
func (c *Clock) fallen(last int64, elapsed time.Duration) uint32 {
	connectBy := c.connectBy() // once: the connection may come at any time
	switch {
	case c.end > 0 && elapsed >= c.end:
		return expiredEnd
	case connectBy > 0 && elapsed >= connectBy:
		return expiredConnect
	case last == 0 && c.first > 0 && elapsed >= c.first:
		return expiredFirst
	case last > 0 && c.idle > 0 && elapsed >= time.Duration(last-1)+c.idle:
		return expiredIdle
	default:
		return waiting
	}
}

// fire runs when the timer does: a limit fell, or there was content meanwhile and it is armed anew.
func (c *Clock) fire() {
	elapsed := time.Since(c.start)
	for {
		state, last := c.state.Load(), c.last.Load()
		to := c.fallen(last, elapsed)
		switch {
		case state >= stopped:
			return
		case to == expiredEnd: // it holds while the sink runs, too
		case state == sinkLate:
			return
		case state == inSink:
			to = sinkLate
		case to == waiting:
			c.arm(last, elapsed)
			if c.last.Load() == last {
				return
			}
			continue // content came meanwhile: Leave may have armed the timer before this did
		}
		if !c.state.CompareAndSwap(state, to) {
			continue
		}
		if to >= stopped {
			c.cancel(errLimit)
		} else if c.end > 0 {
			c.timer.Reset(c.end - elapsed)
		}
		return
	}
}

// arm sets the timer for the next limit. A new timer is made asleep first, so that fire never runs before
// the field is written.
func (c *Clock) arm(last int64, elapsed time.Duration) {
	next := c.next(last)
	if next == 0 {
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(never, c.fire)
	}
	c.timer.Reset(max(next-elapsed, 0))
}

const never = 1 << 62 * time.Nanosecond

// Enter is called before the sink gets an event. It is false when a limit fell first: then the event must
// not be forwarded.
func (c *Clock) Enter() bool {
	if !c.state.CompareAndSwap(waiting, inSink) {
		return false
	}
	if c.firstAt == 0 {
		c.firstAt = max(time.Since(c.start), 1)
	}
	return true
}

// Leave is called after the sink took an event: content came, and the idle limit starts now.
func (c *Clock) Leave() {
	elapsed := time.Since(c.start)
	last := int64(elapsed) + 1
	first := c.last.Swap(last) == 0
	switch {
	case c.state.CompareAndSwap(inSink, waiting):
		if first { // from now on idle is due, perhaps before the timer would fire
			c.arm(last, elapsed)
		}
	case c.state.CompareAndSwap(sinkLate, waiting):
		c.arm(last, elapsed)
	}
}

// Start is when the attempt began, as Init was told.
func (c *Clock) Start() time.Time { return c.start }

// FirstContent is how long after its start the attempt brought its first content; 0: none yet. Like Enter it
// belongs to the goroutine of the call.
func (c *Clock) FirstContent() time.Duration { return c.firstAt }

// Stop ends the attempt, releases its context and returns the limit that fell, "" if none did. A limit has
// fallen, too, when its time is up and its timer has not run yet: what the target returned then may be its
// own look at Deadline. Later Stops return the same.
func (c *Clock) Stop() (fell llm.Bound) {
	if c.cancel == nil { // it was never started
		return ""
	}
	if c.timer != nil {
		c.timer.Stop()
		for state := c.state.Load(); state < stopped; state = c.state.Load() {
			to := c.fallen(c.last.Load(), time.Since(c.start))
			if to == waiting || state != waiting {
				to = stopped
			}
			c.state.CompareAndSwap(state, to)
		}
	} else if c.state.Load() < stopped {
		c.state.Store(stopped)
	}
	c.cancel(errOver)
	switch c.state.Load() {
	case expiredFirst:
		if c.byFirst {
			return llm.BoundFirstContent
		}
		return llm.BoundAttempt
	case expiredIdle:
		return llm.BoundIdle
	case expiredEnd:
		return llm.BoundEnd
	case expiredConnect:
		return llm.BoundConnect
	default:
		return ""
	}
}

// Abort ends the attempt from any goroutine, for cause: somebody else has answered, or the call is over. No
// limit of it can fall any more, and no event can reach the sink. It reports whether the attempt was still
// waiting: false if a limit had fallen, it was stopped, or the sink runs.
func (c *Clock) Abort(cause error) bool {
	aborted := c.state.CompareAndSwap(waiting, stopped)
	c.cancel(cause)
	return aborted
}

// Deadline says when the attempt will be over at the latest: of a unary attempt its limit, of a stream the
// end of the whole stream, since a header or SDK that reads it must not cut a healthy stream.
func (c *Clock) Deadline() (time.Time, bool) {
	if c.deadline != 0 {
		return c.start.Add(c.deadline), true
	}
	return c.Context.Deadline()
}
