package policy_test

import (
	"context"
	"errors"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// content is one event in a test of the clock: it arrives at, and the sink takes so long.
type content struct{ at, takes time.Duration }

// TestClock plays an attempt in virtual time: content arrives, and the test waits for the clock's end.
func TestClock(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		parent  time.Duration // deadline of the caller; 0: none
		limits  llm.Limits
		endBy   time.Duration
		unary   bool
		events  []content
		stopAt  time.Duration // the attempt ends by itself; 0: it waits for the clock
		fell    llm.Bound
		end     time.Duration // when the context ended
		refused int           // events that Enter refused
	}{
		{name: "a unary attempt ends at its limit", unary: true, limits: llm.Limits{Attempt: 30 * s}, fell: llm.BoundAttempt, end: 30 * s},
		{name: "a unary attempt ignores first content and idle", unary: true, limits: llm.Limits{Attempt: 30 * s, FirstContent: s, Idle: s}, fell: llm.BoundAttempt, end: 30 * s},
		{name: "no limit falls after the end of the attempt", unary: true, limits: llm.Limits{Attempt: 30 * s}, stopAt: 29 * s, end: 29 * s},
		{name: "the caller's deadline is not our limit", unary: true, parent: 10 * s, limits: llm.Limits{Attempt: 30 * s}, end: 10 * s},
		{name: "at equal limits the caller's deadline ends it", unary: true, parent: 30 * s, limits: llm.Limits{Attempt: 30 * s}, end: 30 * s},
		{name: "a stream without content ends at the attempt limit", limits: llm.Limits{Attempt: 30 * s, Idle: 5 * s}, fell: llm.BoundAttempt, end: 30 * s},
		{name: "a shorter first content limit ends it earlier", limits: llm.Limits{Attempt: 30 * s, FirstContent: 8 * s}, fell: llm.BoundFirstContent, end: 8 * s},
		{name: "once content flows the attempt limit is over", limits: llm.Limits{Attempt: 10 * s, Idle: 8 * s}, events: []content{{at: 7 * s}, {at: 14 * s}, {at: 21 * s}}, stopAt: 25 * s, end: 25 * s},
		{name: "idle starts at the last content", limits: llm.Limits{Attempt: 60 * s, Idle: 8 * s}, events: []content{{at: s}, {at: 3 * s}}, fell: llm.BoundIdle, end: 11 * s},
		{name: "idle longer than the first limit holds", limits: llm.Limits{Attempt: 10 * s, Idle: 30 * s}, events: []content{{at: s}}, fell: llm.BoundIdle, end: 31 * s},
		{name: "idle holds when the caller's deadline made the first limit pointless", parent: 20 * s, limits: llm.Limits{Attempt: 60 * s, Idle: 5 * s}, events: []content{{at: s}}, fell: llm.BoundIdle, end: 6 * s},
		{name: "idle stands still while the sink runs", limits: llm.Limits{Attempt: 60 * s, Idle: 5 * s}, events: []content{{at: s, takes: 100 * s}, {at: 104 * s}}, fell: llm.BoundIdle, end: 109 * s},
		{name: "the end holds for a stream that never pauses", limits: llm.Limits{Attempt: 10 * s, Idle: 5 * s}, endBy: 12 * s, events: []content{{at: 4 * s}, {at: 8 * s}, {at: 11 * s}, {at: 13 * s}}, fell: llm.BoundEnd, end: 12 * s, refused: 1},
		{name: "the end holds while the sink runs", limits: llm.Limits{Attempt: 10 * s, Idle: 5 * s}, endBy: 12 * s, events: []content{{at: 4 * s, takes: 30 * s}, {at: 34 * s}}, fell: llm.BoundEnd, end: 12 * s, refused: 1},
		{name: "an event after the limit is refused", limits: llm.Limits{Attempt: 10 * s}, events: []content{{at: 10*s + ms}}, fell: llm.BoundAttempt, end: 10 * s, refused: 1},
		{name: "no limits, no end", limits: llm.Limits{}, events: []content{{at: 100 * s}}, stopAt: 900 * s, end: 900 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				parent := t.Context()
				if tt.parent > 0 {
					var cancel context.CancelFunc
					parent, cancel = context.WithDeadline(parent, start.Add(tt.parent))
					defer cancel()
				}
				var endBy time.Time
				if tt.endBy > 0 {
					endBy = start.Add(tt.endBy)
				}
				var c policy.Clock
				c.Init(parent, start, tt.limits, endBy, !tt.unary)
				ended := make(chan time.Duration, 1)
				context.AfterFunc(&c, func() { ended <- time.Since(start) })

				refused := 0
				for _, e := range tt.events {
					time.Sleep(e.at - time.Since(start))
					if !c.Enter() {
						refused++
						continue
					}
					time.Sleep(e.takes)
					c.Leave()
				}
				if tt.stopAt > 0 {
					time.Sleep(tt.stopAt - time.Since(start))
				} else {
					<-c.Done()
				}
				fell := c.Stop()
				if got := <-ended; got != tt.end || fell != tt.fell || refused != tt.refused {
					t.Errorf("ended after %v by %q with %d refused, want %v by %q with %d", got, fell, refused, tt.end, tt.fell, tt.refused)
				}
				if again := c.Stop(); again != tt.fell {
					t.Errorf("a second Stop says %q, want %q", again, tt.fell)
				}
				if c.Enter() {
					t.Error("Enter after Stop let an event through")
				}
			})
		})
	}
}

func TestClockDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		caller, cancel := context.WithDeadline(t.Context(), now.Add(20*s))
		defer cancel()
		tests := []struct {
			name   string
			parent context.Context
			limits llm.Limits
			endBy  time.Duration
			stream bool
			want   time.Duration // 0: none
		}{
			{"a unary attempt has its limit", t.Context(), llm.Limits{Attempt: 5 * s}, 0, false, 5 * s},
			{"the caller's when that is earlier", caller, llm.Limits{Attempt: 50 * s}, 0, false, 20 * s},
			{"a stream has its end, not its first limit", t.Context(), llm.Limits{Attempt: 5 * s}, 600 * s, true, 600 * s},
			{"a stream under a deadline has that", caller, llm.Limits{Attempt: 5 * s}, 600 * s, true, 20 * s},
			{"none without limits", t.Context(), llm.Limits{}, 0, true, 0},
		}
		for _, tt := range tests {
			var c policy.Clock
			var endBy time.Time
			if tt.endBy > 0 {
				endBy = now.Add(tt.endBy)
			}
			c.Init(tt.parent, now, tt.limits, endBy, tt.stream)
			got, ok := c.Deadline()
			if ok != (tt.want > 0) || ok && !got.Equal(now.Add(tt.want)) {
				t.Errorf("%s: %v, %v; want %v", tt.name, got.Sub(now), ok, tt.want)
			}
			c.Stop()
		}
	})
}

func TestClockEndsWithItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		var c policy.Clock
		c.Init(parent, time.Now(), llm.Limits{Attempt: 30 * s}, time.Time{}, false)
		cause := errors.New("the user went away")
		cancel(cause)
		<-c.Done()
		if !errors.Is(context.Cause(&c), cause) {
			t.Errorf("cause is %v", context.Cause(&c))
		}
		if fell := c.Stop(); fell != "" {
			t.Errorf("Stop says that %q fell", fell)
		}
	})
}

// TestClockConnect: the connect limit counts from asking net/http for a connection to having one.
func TestClockConnect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		ask, answer time.Duration // of the connection; 0: never
		fell        llm.Bound
		end         time.Duration
	}{
		{"nobody asks for a connection", 0, 0, llm.BoundAttempt, 30 * s},
		{"the connection is not made", s, 0, llm.BoundConnect, 6 * s},
		{"the connection is made in time", s, 5 * s, llm.BoundAttempt, 30 * s},
		{"the attempt ends first", 28 * s, 0, llm.BoundAttempt, 30 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var c policy.Clock
				c.Init(t.Context(), start, llm.Limits{Attempt: 30 * s, Connect: 5 * s}, time.Time{}, false)
				trace := httptrace.ContextClientTrace(&c)
				if tt.ask > 0 {
					time.AfterFunc(tt.ask, func() { trace.GetConn("host:443") })
				}
				if tt.answer > 0 {
					time.AfterFunc(tt.answer, func() { trace.GotConn(httptrace.GotConnInfo{}) })
				}
				<-c.Done()
				if took, fell := time.Since(start), c.Stop(); took != tt.end || fell != tt.fell {
					t.Errorf("ended after %v by %q, want %v by %q", took, fell, tt.end, tt.fell)
				}
			})
		})
	}
}

func TestClockAllocations(t *testing.T) {
	c := make([]policy.Clock, 200)
	i := 0
	got := testing.AllocsPerRun(100, func() {
		c[i].Init(context.Background(), time.Now(), llm.Limits{Attempt: 30 * s, Idle: s}, time.Time{}, true)
		for range 100 {
			c[i].Enter()
			c[i].Leave()
		}
		c[i].Stop()
		i++
	})
	if got > 5 {
		t.Errorf("%v allocations an attempt of 100 events, want 5 at the most", got)
	}
}

// TestClockAbort: somebody else has answered, or the call is over. No limit falls any more, and no event passes.
func TestClockAbort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("another was faster")
		start := func() *policy.Clock {
			c := new(policy.Clock)
			c.Init(t.Context(), time.Now(), llm.Limits{Attempt: 10 * s, Idle: 5 * s}, time.Time{}, true)
			return c
		}
		c := start()
		if !c.Abort(cause) || c.Enter() || !errors.Is(context.Cause(c), cause) {
			t.Errorf("a waiting attempt: %v", context.Cause(c))
		}
		if c.Abort(cause) {
			t.Error("it was aborted twice")
		}
		time.Sleep(20 * s)
		if fell := c.Stop(); fell != "" {
			t.Errorf("%s fell after that", fell)
		}
		c = start()
		c.Enter()
		if c.Abort(cause) {
			t.Error("while the sink runs it is not waiting")
		}
		if !errors.Is(context.Cause(c), cause) {
			t.Errorf("but its context ends: %v", context.Cause(c))
		}
		c.Leave()
		c.Stop()
		c = start()
		time.Sleep(10 * s)
		synctest.Wait()
		if c.Abort(cause) || c.Stop() != llm.BoundAttempt {
			t.Error("a limit that fell is told")
		}
	})
}

func TestClockFirstContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c policy.Clock
		c.Init(t.Context(), time.Now(), llm.Limits{Attempt: 10 * s}, time.Time{}, true)
		if got := c.FirstContent(); got != 0 {
			t.Errorf("before it came: %v", got)
		}
		for range 3 {
			time.Sleep(2 * s)
			c.Enter()
			time.Sleep(s)
			c.Leave()
		}
		c.Stop()
		if got := c.FirstContent(); got != 2*s {
			t.Errorf("%v, want 2s, when the sink got it", got)
		}
	})
}

func TestDefaultIdle(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[time.Duration]time.Duration{5 * s: 5 * s, 30 * s: 30 * s, 90 * s: 30 * s} {
		if got := policy.DefaultIdle(attempt); got != want {
			t.Errorf("DefaultIdle(%v) = %v, want %v", attempt, got, want)
		}
	}
}
