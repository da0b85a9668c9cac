package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// within gives a context with a deadline of its own, none if d is 0.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// TestEnd holds the arithmetic of an execution's end: the end of Done, Deadline, End and Total are one.
func TestEnd(t *testing.T) {
	t.Parallel()
	margin := func(d time.Duration) *deadline.Options { return &deadline.Options{Margin: d} }
	with := func(total time.Duration, o *deadline.Options) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.With(ctx, total, o) }
	}
	limit := func(o *deadline.Options) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.Limit(ctx, o) }
	}
	tests := []struct {
		name string
		own  time.Duration // ctx's own deadline; 0: none
		open func(context.Context) (context.Context, context.CancelFunc)
		end  time.Duration
		ours bool // the cause is surely ours
	}{
		{"the total ends it", 0, with(60*s, nil), 60 * s, true},
		{"the margin comes off the total", 0, with(60*s, margin(10*s)), 50 * s, true},
		{"a margin below zero is none", 0, with(60*s, margin(-10*s)), 60 * s, true},
		{"a later deadline of ctx changes nothing", 61 * s, with(60*s, nil), 60 * s, true},
		{"a sooner deadline of ctx ends it", 30 * s, with(60*s, nil), 30 * s, false},
		{"the margin comes off a sooner deadline of ctx", 30 * s, with(60*s, margin(10*s)), 20 * s, true},
		{"the margin comes off the sooner one only", 55 * s, with(60*s, margin(10*s)), 45 * s, true},
		{"a total of zero has ended", 0, with(0, nil), 0, true},
		{"a total below zero has ended", 0, with(-s, nil), 0, true},
		{"the least total has ended", 0, with(math.MinInt64, nil), 0, true},
		{"a total of the margin has ended", 0, with(10*s, margin(10*s)), 0, true},
		{"a total below the margin has ended", 0, with(9*s, margin(10*s)), 0, true},
		{"ctx's deadline below the margin has ended", 5 * s, with(60*s, margin(10*s)), 0, true},
		{"the shortest total", 0, with(1, nil), 1, true},
		{"Limit takes ctx's deadline", 30 * s, limit(nil), 30 * s, false},
		{"Limit takes the margin off", 30 * s, limit(margin(10 * s)), 20 * s, true},
		{"Limit at the margin has ended", 10 * s, limit(margin(10 * s)), 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				own, stop := within(t.Context(), tt.own)
				defer stop()
				ctx, cancel := tt.open(own)
				defer cancel()

				total, ok := deadline.Total(ctx)
				equal(t, "Total", total, tt.end)
				equal(t, "Total's ok", ok, true)
				end, ok := deadline.End(ctx)
				equal(t, "End", end.Sub(start), tt.end)
				equal(t, "End's ok", ok, true)
				at, _ := ctx.Deadline()
				equal(t, "Deadline", at.Sub(start), tt.end)
				if tt.end == 0 && ctx.Err() == nil {
					t.Error("the context has not ended yet")
				}

				<-ctx.Done()
				equal(t, "time of Done", time.Since(start), tt.end)
				if err := ctx.Err(); err != context.DeadlineExceeded {
					t.Errorf("Err is %v", err)
				}
				cause := context.Cause(ctx)
				if !errors.Is(cause, context.DeadlineExceeded) {
					t.Errorf("Cause is %v", cause)
				}
				exceeded, ok := errors.AsType[*deadline.ExceededError](cause)
				if tt.ours && !ok {
					t.Errorf("Cause is %T, want ours", cause)
				}
				if ok {
					equal(t, "cause", *exceeded, deadline.ExceededError{Total: tt.end, Elapsed: tt.end})
				}
			})
		})
	}
	t.Run("the longest total", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), math.MaxInt64, nil)
			defer cancel()
			if total, _ := deadline.Total(ctx); total != math.MaxInt64 || ctx.Err() != nil || deadline.Check(ctx) != nil {
				t.Errorf("total %v, err %v, check %v", total, ctx.Err(), deadline.Check(ctx))
			}
		})
	})
}

// odd is a context whose answers do not fit one another, as those of other libraries can be.
type odd struct {
	context.Context
	end time.Time
	ok  bool
	err error
}

func (o odd) Deadline() (time.Time, bool) { return o.end, o.ok }

func (o odd) Err() error {
	if o.err != nil {
		return o.err
	}
	return o.Context.Err()
}

// TestEndOfAnOddDeadline: what a context says of its deadline is taken as far as it goes, and never makes work unbounded.
func TestEndOfAnOddDeadline(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		with  time.Duration // Total of With
		limit time.Duration // Total of Limit; -1: none
	}{
		{"the zero time", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Time{})
		}, 0, 0},
		{"the zero time, not ended", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return odd{Context: ctx, ok: true}, func() {}
		}, 0, 0},
		{"a time that does not count", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return odd{Context: ctx, end: time.Now().Add(5 * s)}, func() {}
		}, 60 * s, -1},
		{"a time of the wall clock", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(30*s).Round(0))
		}, 30 * s, 30 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				own, stop := tt.ctx(t.Context())
				defer stop()
				with, cancel := deadline.With(own, 60*s, nil)
				defer cancel()
				limited, cancel := deadline.Limit(own, nil)
				defer cancel()
				for ctx, want := range map[context.Context]time.Duration{with: tt.with, limited: tt.limit} {
					total, ok := deadline.Total(ctx)
					equal(t, "Total", total, max(want, 0))
					equal(t, "Total's ok", ok, want >= 0)
					equal(t, "Check is nil", deadline.Check(ctx) == nil, want != 0)
				}
			})
		})
	}
}

// TestEndByTheMonotonicClock: a platform's deadline is often one of the wall clock, and that may be set.
func TestEndByTheMonotonicClock(t *testing.T) { // in real time: that of a bubble has one clock
	t.Parallel()
	wall := time.Now().Add(time.Hour).Round(0)
	own, stop := context.WithDeadline(t.Context(), wall)
	defer stop()
	with, cancel := deadline.With(own, 2*time.Hour, nil)
	defer cancel()
	limited, cancel := deadline.Limit(own, nil)
	defer cancel()
	for _, ctx := range []context.Context{with, limited} {
		end, _ := deadline.End(ctx)
		equal(t, "End", end.Round(0), wall)
		equal(t, "End is of the monotonic clock", strings.Contains(end.String(), " m="), true)
	}
}

// TestWithoutExecution: no look-up answers for a context that no execution bounds, whatever its deadline.
func TestWithoutExecution(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		own  time.Duration
		open func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"a bare context", 0, context.WithCancel},
		{"a deadline of its own", s, context.WithCancel},
		{"Limit without a deadline", 0, func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.Limit(ctx, nil) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				own, stop := within(t.Context(), tt.own)
				defer stop()
				ctx, cancel := tt.open(own)
				left, ok := deadline.Remaining(ctx)
				equal(t, "Remaining", left, 0)
				equal(t, "Remaining's ok", ok, false)
				total, ok := deadline.Total(ctx)
				equal(t, "Total", total, 0)
				equal(t, "Total's ok", ok, false)
				end, ok := deadline.End(ctx)
				equal(t, "End", end, time.Time{})
				equal(t, "End's ok", ok, false)
				equal(t, "Check", deadline.Check(ctx), nil)
				_, ok = deadline.LastCall(ctx)
				equal(t, "LastCall's ok", ok, false)
				equal(t, "Elapsed", deadline.Elapsed(ctx), 0)
				cancel()
				equal(t, "Err after cancel", ctx.Err(), context.Canceled)
			})
		})
	}
}

// TestLookups follows one execution through its time.
func TestLookups(t *testing.T) {
	t.Parallel()
	t.Run("elapsed and remaining add up to the total", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), 60*s, &deadline.Options{Margin: 10 * s})
			defer cancel()
			for _, at := range []time.Duration{0, 7 * s, 49 * s, 50 * s, 51 * s} {
				time.Sleep(at - deadline.Elapsed(ctx))
				equal(t, "Elapsed", deadline.Elapsed(ctx), at)
				left, ok := deadline.Remaining(ctx)
				equal(t, "Remaining", left, max(50*s-at, 0))
				equal(t, "Remaining's ok", ok, true)
				total, _ := deadline.Total(ctx)
				equal(t, "Total", total, 50*s)
			}
		})
	})
	t.Run("remaining is that of a nearer deadline of ctx", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), 60*s, nil)
			defer cancel()
			near, stop := context.WithTimeout(ctx, 5*s)
			defer stop()
			left, _ := deadline.Remaining(near)
			equal(t, "Remaining", left, 5*s)
			end, _ := deadline.End(near)
			equal(t, "End", time.Until(end), 60*s)
			equal(t, "Check", deadline.Check(near), nil)
		})
	})
	t.Run("a detached context still knows the execution", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), 60*s, nil)
			cancel()
			ctx = context.WithoutCancel(ctx)
			left, ok := deadline.Remaining(ctx)
			equal(t, "Remaining", left, 60*s)
			far, stop := context.WithTimeout(ctx, 100*s)
			defer stop()
			left, _ = deadline.Remaining(far)
			equal(t, "Remaining of a later deadline", left, 60*s)
			equal(t, "ok", ok, true)
		})
	})
	t.Run("cancel ends it at once, and the cause is the cancel", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), 60*s, nil)
			cancel()
			equal(t, "Err", ctx.Err(), context.Canceled)
			equal(t, "Cause", context.Cause(ctx), context.Canceled)
			equal(t, "Check", deadline.Check(ctx), nil)
		})
	})
	t.Run("other values and their keys pass through", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			type key struct{}
			ctx, cancel := deadline.With(context.WithValue(t.Context(), key{}, 1), 60*s, nil)
			defer cancel()
			equal(t, "value", ctx.Value(key{}), any(1))
		})
	})
	t.Run("a context prints itself", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := deadline.With(t.Context(), 60*s, nil)
			defer cancel()
			if text := fmt.Sprint(ctx); !strings.Contains(text, "deadline.With(") {
				t.Errorf("prints as %q", text)
			}
		})
	})
}

// TestCheck: an error once less than FailFast is left, and the default is min(5 s, a tenth).
func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		total    time.Duration
		failFast time.Duration
		last     time.Duration // the last moment at which Check is nil; -1: none
	}{
		{"a tenth of a short total", 30 * s, 0, 27 * s},
		{"5 s of a long total", 100 * s, 0, 95 * s},
		{"where both are equal", 50 * s, 0, 45 * s},
		{"its own figure", 30 * s, 8 * s, 22 * s},
		{"a figure below zero is the default", 30 * s, -s, 27 * s},
		{"a figure above the total", 30 * s, 31 * s, -1},
		{"the shortest figure: not at the end itself", 30 * s, 1, 30*s - 1},
		{"a total too short for a tenth", 9, 0, 8},
		{"no time at all", 0, 0, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := deadline.With(t.Context(), tt.total, &deadline.Options{FailFast: tt.failFast})
				defer cancel()
				at, ok := deadline.LastCall(ctx)
				equal(t, "LastCall's ok", ok, true)
				if tt.last >= 0 {
					if last := time.Until(at); last != tt.last && last != tt.last+1 { // at the end itself nothing is started
						t.Errorf("LastCall is %v, want %v", last, tt.last)
					}
					time.Sleep(tt.last)
					equal(t, "Check at the last moment", deadline.Check(ctx), nil)
					time.Sleep(time.Nanosecond)
				}
				for range 2 {
					err := deadline.Check(ctx)
					exceeded, ok := errors.AsType[*deadline.ExceededError](err)
					if !ok {
						t.Fatalf("Check is %v after %v", err, deadline.Elapsed(ctx))
					}
					equal(t, "error", *exceeded, deadline.ExceededError{Total: tt.total, Elapsed: deadline.Elapsed(ctx)})
					time.Sleep(tt.total + s)
				}
			})
		})
	}
}

// TestNesting: an execution inside another one can only be shorter.
func TestNesting(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		outer, inner time.Duration
		outerO       *deadline.Options
		innerO       *deadline.Options
		end, last    time.Duration // of the inner one, after its start
	}{
		{"a shorter one is its own", 100 * s, 20 * s, nil, nil, 20 * s, 18 * s},
		{"a longer one ends with the outer", 100 * s, 200 * s, nil, nil, 100 * s, 95 * s},
		{"the floor outside holds inside", 100 * s, 200 * s, &deadline.Options{FailFast: 40 * s}, &deadline.Options{FailFast: s}, 100 * s, 60 * s},
		{"the floor inside holds too", 100 * s, 20 * s, nil, &deadline.Options{FailFast: 15 * s}, 20 * s, 5 * s},
		{"the margins add up", 100 * s, 200 * s, &deadline.Options{Margin: 10 * s}, &deadline.Options{Margin: 20 * s}, 70 * s, 65 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				outer, stop := deadline.With(t.Context(), tt.outer, tt.outerO)
				defer stop()
				ctx, cancel := deadline.With(outer, tt.inner, tt.innerO)
				defer cancel()
				total, _ := deadline.Total(ctx)
				equal(t, "Total", total, tt.end)
				time.Sleep(tt.last)
				equal(t, "Check at the last moment", deadline.Check(ctx), nil)
				time.Sleep(time.Nanosecond)
				if deadline.Check(ctx) == nil {
					t.Error("Check is nil after it")
				}
			})
		})
	}
	t.Run("the inner clock starts with it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			outer, stop := deadline.With(t.Context(), 60*s, nil)
			defer stop()
			time.Sleep(20 * s)
			ctx, cancel := deadline.With(outer, 10*s, nil)
			defer cancel()
			time.Sleep(s)
			equal(t, "Elapsed inside", deadline.Elapsed(ctx), s)
			equal(t, "Elapsed outside", deadline.Elapsed(outer), 21*s)
		})
	})
	t.Run("a detached context starts anew", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			outer, stop := deadline.With(t.Context(), 10*s, nil)
			defer stop()
			time.Sleep(10 * s)
			for _, detach := range []func(context.Context) (context.Context, context.CancelFunc){
				func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.With(ctx, 30*s, nil) },
				func(ctx context.Context) (context.Context, context.CancelFunc) {
					ctx, stop := context.WithTimeout(ctx, 30*s)
					limited, cancel := deadline.Limit(ctx, nil)
					return limited, func() { cancel(); stop() }
				},
			} {
				ctx, cancel := detach(context.WithoutCancel(outer))
				equal(t, "Check", deadline.Check(ctx), nil)
				left, _ := deadline.Remaining(ctx)
				equal(t, "Remaining", left, 30*s)
				cancel()
			}
		})
	})
}

// TestConcurrent uses one execution from many goroutines; the race detector judges.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	ctx, cancel := deadline.With(t.Context(), 60*s, &deadline.Options{Caps: map[string]time.Duration{"plan": s}})
	defer cancel()
	var all sync.WaitGroup
	warned := deadline.Warned(ctx)
	for range 8 {
		all.Go(func() {
			for range 100 {
				inner, stop := deadline.With(ctx, 30*s, nil)
				step, done, err := deadline.Step(inner, "plan", 0)
				if err != nil || deadline.Check(step) != nil || deadline.Warned(ctx) != warned || fmt.Sprint(step) == "" {
					t.Errorf("step: %v, check: %v", err, deadline.Check(step))
				}
				deadline.Warned(step)
				done()
				stop()
			}
		})
	}
	all.Wait()
}
