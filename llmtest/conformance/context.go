package conformance

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// place is where a call may be when its context ends.
type place struct {
	phase llmtest.Phase
	while string
}

func places() []place {
	return []place{
		{llmtest.PhaseConnect, "the connection is being made"},
		{llmtest.PhaseToken, "the credential is being fetched"},
		{llmtest.PhaseHeaders, "no response has begun"},
		{llmtest.PhaseBody, "the response has begun and its body has not"},
		{llmtest.PhaseFirst, "the body has begun and no content has come"},
		{llmtest.PhaseStream, "content has come and more is waited for"},
		{llmtest.PhaseEnd, "all content has come and the end mark has not"},
	}
}

func contextCases() []testCase {
	all := []testCase{
		{"ended_canceled", "With a canceled context a call fails at once with ErrCanceled and sends nothing.", endedCanceled},
		{"ended_deadline", "With a deadline that is over a call fails at once with ErrDeadlineExceeded and sends nothing.", endedDeadline},
		{"context_cause", "The cause of a context's end changes no Kind.", contextCause},
		{
			"end_mark", "Without the provider's end mark there is no answer, however long the connection stays open.",
			endMark,
		},
	}
	for _, p := range places() {
		all = append(all, testCase{
			"cancel_" + string(p.phase), "A cancel while " + p.while + " ends the call within 100 ms with ErrCanceled.",
			func(c *check) { endsInTime(c, p.phase, cancels()) },
		}, testCase{
			"deadline_" + string(p.phase), "A deadline while " + p.while + " ends the call within 100 ms with ErrDeadlineExceeded.",
			func(c *check) { endsInTime(c, p.phase, expires()) },
		})
	}
	return all
}

// ending is a way for a context to end, some time after it began.
type ending struct {
	kind  llm.Kind
	plain error
	begin func(parent context.Context) (ctx context.Context, stop func(), ended func() time.Time)
}

// cancels ends after 30 ms.
func cancels() ending {
	return ending{llm.ErrCanceled, context.Canceled, func(parent context.Context) (context.Context, func(), func() time.Time) {
		ctx, cancel := context.WithCancel(parent)
		var at atomic.Pointer[time.Time]
		timer := time.AfterFunc(30*time.Millisecond, func() {
			at.Store(new(time.Now()))
			cancel()
		})
		ended := func() time.Time {
			if t := at.Load(); t != nil {
				return *t
			}
			return time.Now().Add(time.Hour) // not yet
		}
		return ctx, func() { timer.Stop(); cancel() }, ended
	}}
}

// expires ends after 40 ms.
func expires() ending {
	return ending{llm.ErrDeadlineExceeded, context.DeadlineExceeded, func(parent context.Context) (context.Context, func(), func() time.Time) {
		at := time.Now().Add(40 * time.Millisecond)
		ctx, cancel := context.WithDeadline(parent, at)
		return ctx, cancel, func() time.Time { return at }
	}}
}

// endsInTime tries each mode until it was in time once.
func endsInTime(c *check, phase llmtest.Phase, end ending) {
	c.each(func(m mode) {
		var late []time.Duration
		for range tries {
			d := endCall(c, phase, end, m)
			if d <= bound {
				return
			}
			late = append(late, d)
		}
		c.Errorf("%s: returned %v after the context's end, at most %v is allowed", m, late, bound)
	})
}

// endCall makes one call that hangs and reports how long after the end of its context it returned.
func endCall(c *check, phase llmtest.Phase, end ending, m mode) time.Duration {
	c.Helper()
	g := c.open(llmtest.Hang(phase))
	ctx, stop, ended := end.begin(c.ctx)
	defer stop()
	var returned time.Time
	var err error
	if !c.returns(func() {
		_, _, err = c.generate(ctx, g, hello(), m)
		returned = time.Now()
	}) {
		c.Fatalf("%s: still running %v after the call", m, patience)
	}
	const early = 5 * time.Millisecond // a deadline may be cut down to whole units on its way
	if at := ended(); returned.Before(at.Add(-early)) {
		c.Fatalf("%s: returned %v before the context ended: %v", m, at.Sub(returned), err)
	}
	if llm.KindOf(err) != end.kind || !errors.Is(err, end.plain) {
		c.Fatalf("%s: want %s, which is %v; got %v", m, end.kind, end.plain, err)
	}
	return returned.Sub(ended())
}

func endedCanceled(c *check) {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	endedBefore(ctx, c, cancels())
}

func endedDeadline(c *check) {
	ctx, cancel := context.WithDeadline(c.ctx, time.Now().Add(-time.Second))
	defer cancel()
	endedBefore(ctx, c, expires())
}

// endedBefore calls with a context that has ended, then with a live one: the first step of the script must
// still be there.
func endedBefore(ctx context.Context, c *check, end ending) {
	c.Helper()
	c.each(func(m mode) {
		g := c.open(llmtest.Text("first"), llmtest.Text("second"))
		took := patience
		for range tries {
			start := time.Now()
			_, _, err := c.generate(ctx, g, hello(), m)
			took = min(took, time.Since(start))
			if llm.KindOf(err) != end.kind || !errors.Is(err, end.plain) {
				c.Errorf("%s: want %s, which is %v; got %v", m, end.kind, end.plain, err)
			}
		}
		if took > bound {
			c.Errorf("%s: took %v at best, at most %v is allowed", m, took, bound)
		}
		c.wantText(g, "first")
	})
}

func contextCause(c *check) {
	cause := errors.New("conformance: the user closed the window")
	ctx, cancel := context.WithCancelCause(c.ctx)
	g := c.open(llmtest.Hang(llmtest.PhaseHeaders))
	timer := time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	defer timer.Stop()
	if _, _, err := c.generate(ctx, g, hello(), unary); llm.KindOf(err) != llm.ErrCanceled {
		c.Errorf("want ErrCanceled, got %s: %v", llm.KindOf(err), err)
	}
	ctx, stop := context.WithTimeoutCause(c.ctx, 20*time.Millisecond, cause)
	defer stop()
	if _, _, err := c.generate(ctx, g, hello(), unary); llm.KindOf(err) != llm.ErrDeadlineExceeded {
		c.Errorf("want ErrDeadlineExceeded, got %s: %v", llm.KindOf(err), err)
	}
}

func endMark(c *check) {
	g := c.open(llmtest.Hang(llmtest.PhaseEnd))
	c.each(func(m mode) {
		ctx, cancel := context.WithTimeout(c.ctx, 150*time.Millisecond)
		defer cancel()
		if _, resp, err := c.generate(ctx, g, hello(), m); err == nil {
			c.Errorf("%s: all content came and no end mark, and the call succeeds with\n%s", m, outline(resp))
		}
	})
}
