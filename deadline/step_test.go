package deadline_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// TestStep: a step ends at its cap or when the reserve is left, whichever is sooner, and never after ctx.
func TestStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		used    time.Duration // of the 60 s before the step
		near    time.Duration // a nearer deadline of ctx at the step; 0: none
		step    string
		reserve time.Duration
		end     time.Duration // after the step's start
		own     bool          // its own limit ends it
	}{
		{"its cap", 0, 0, "plan", 0, 10 * s, true},
		{"its cap, and the reserve is far", 0, 0, "plan", 50*s - 1, 10 * s, true},
		{"the reserve", 0, 0, "plan", 55 * s, 5 * s, true},
		{"the reserve, late", 45 * s, 0, "plan", 12 * s, 3 * s, true},
		{"the end of the execution", 55 * s, 0, "plan", 0, 5 * s, false},
		{"at equal ends the execution's", 50 * s, 0, "plan", 0, 10 * s, false},
		{"no cap of its own", 0, 0, "act", 0, 60 * s, false},
		{"no cap of its own, with a reserve", 0, 0, "act", 20 * s, 40 * s, true},
		{"the last moment", 60*s - 1, 0, "plan", 0, 1, false},
		{"a nearer deadline of ctx", 0, 4 * s, "plan", 0, 4 * s, false},
		{"the reserve of a nearer deadline of ctx", 0, 4 * s, "plan", 3 * s, s, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caps := map[string]time.Duration{"plan": 10 * s, "act": 0}
				ctx, cancel := deadline.With(t.Context(), 60*s, &deadline.Options{Caps: caps})
				defer cancel()
				clear(caps) // they were copied
				time.Sleep(tt.used)
				near, stop := within(ctx, tt.near)
				defer stop()

				step, done, err := deadline.Step(near, tt.step, tt.reserve)
				if err != nil {
					t.Fatal(err)
				}
				defer done()
				left, _ := deadline.Remaining(step)
				equal(t, "Remaining", left, tt.end)
				start := time.Now()
				<-step.Done()
				equal(t, "time of Done", time.Since(start), tt.end)
				equal(t, "Err", step.Err(), context.DeadlineExceeded)
				exceeded, ok := errors.AsType[*deadline.ExceededError](context.Cause(step))
				if tt.own {
					equal(t, "cause", *exceeded, deadline.ExceededError{Step: tt.step, Total: tt.end, Elapsed: tt.end})
				} else if ok {
					equal(t, "step of the cause", exceeded.Step, "")
				}
			})
		})
	}
}

// TestStepRefuses: every error leaves a context that has ended, and a CancelFunc.
func TestStepRefuses(t *testing.T) {
	t.Parallel()
	caps := &deadline.Options{Caps: map[string]time.Duration{"plan": 10 * s, "act": s}}
	with := func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.With(ctx, 60*s, caps) }
	tests := []struct {
		name    string
		open    func(context.Context) (context.Context, context.CancelFunc)
		used    time.Duration
		step    string
		reserve time.Duration
		want    string
		is      error
		limited *deadline.ExceededError
	}{
		{"an unknown name lists the known ones", with, 0, "plam", 0, `deadline: step "plam" is unknown: Options.Caps has act, plan`, nil, nil},
		{"no execution", context.WithCancel, 0, "plan", 0, `step "plan" is unknown: nothing around it names steps`, nil, nil},
		{"an execution without caps", func(ctx context.Context) (context.Context, context.CancelFunc) { return deadline.With(ctx, 60*s, nil) }, 0, "plan", 0, "Options.Caps", nil, nil},
		{"a reserve below zero", with, 0, "plan", -s, `step "plan": the reserve of -1s is below zero (give what comes after it, or 0)`, nil, nil},
		{"only the reserve is left", with, 40 * s, "plan", 20 * s, `step "plan" deadline exceeded (40s of 1m0s used): 20s are left, and its reserve is 20s (lower the reserve or raise the total)`, context.DeadlineExceeded, &deadline.ExceededError{Step: "plan", Total: 60 * s, Elapsed: 40 * s}},
		{"less than the reserve is left", with, 50 * s, "plan", 20 * s, "10s are left, and its reserve is 20s", context.DeadlineExceeded, &deadline.ExceededError{Step: "plan", Total: 60 * s, Elapsed: 50 * s}},
		{"a huge reserve", with, 0, "plan", math.MaxInt64, "1m0s are left, and its reserve is 2562047h47m16.854775807s", context.DeadlineExceeded, &deadline.ExceededError{Step: "plan", Total: 60 * s}},
		{"the execution is over", with, 60 * s, "plan", 0, `step "plan" deadline exceeded (1m0s of 1m0s used)`, context.DeadlineExceeded, &deadline.ExceededError{Step: "plan", Total: 60 * s, Elapsed: 60 * s}},
		{"a deadline of ctx's own is over, without an execution's", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, stop := deadline.Limit(ctx, caps)
			ctx, cancel := context.WithTimeout(ctx, 5*s)
			return ctx, func() { cancel(); stop() }
		}, 3 * s, "plan", 2 * s, "", context.DeadlineExceeded, &deadline.ExceededError{Step: "plan", Total: 3 * s, Elapsed: 3 * s}},
		{"ctx was canceled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := with(ctx)
			cancel()
			return ctx, cancel
		}, 0, "plan", 0, "context canceled", context.Canceled, nil},
		{"ctx ended before its deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := with(ctx)
			end, _ := ctx.Deadline()
			return odd{Context: ctx, end: end, ok: true, err: context.DeadlineExceeded}, cancel
		}, 0, "plan", 0, "context deadline exceeded", context.DeadlineExceeded, nil},
		{"ctx ended without a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := deadline.Limit(ctx, caps)
			return odd{Context: ctx, err: context.DeadlineExceeded}, cancel
		}, 0, "plan", 0, "context deadline exceeded", context.DeadlineExceeded, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.open(t.Context())
				defer cancel()
				time.Sleep(tt.used)
				step, done, err := deadline.Step(ctx, tt.step, tt.reserve)
				defer done()
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error is %v, want %q", err, tt.want)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("error is %v, want one that is %v", err, tt.is)
				}
				if tt.limited != nil {
					exceeded, _ := errors.AsType[*deadline.ExceededError](err)
					equal(t, "error", *exceeded, *tt.limited)
				}
				want := context.Canceled // also of a context that ended because of a mistake
				if errors.Is(err, context.DeadlineExceeded) {
					want = context.DeadlineExceeded
				}
				equal(t, "Err of the step", step.Err(), want)
				if ctx.Err() == nil {
					equal(t, "Cause", context.Cause(step), err)
				}
			})
		})
	}
}

func TestCapsInherit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outer, stop := deadline.With(t.Context(), 60*s, &deadline.Options{Caps: map[string]time.Duration{"plan": s}})
		defer stop()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			o    *deadline.Options
			plan bool
		}{
			{"without caps of its own", outer, nil, true},
			{"with caps of its own", outer, &deadline.Options{Caps: map[string]time.Duration{"act": s}}, false},
			{"detached", context.WithoutCancel(outer), nil, false},
		} {
			ctx, cancel := deadline.With(tt.ctx, 10*s, tt.o)
			_, done, err := deadline.Step(ctx, "plan", 0)
			equal(t, tt.name+": plan is known", err == nil, tt.plan)
			done()
			cancel()
		}
	})
}

func TestShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, nil)
		defer cancel()
		for n, want := range map[int]time.Duration{1: 60 * s, 2: 30 * s, 7: 60 * s / 7, 0: 60 * s, -3: 60 * s} {
			equal(t, "Share", deadline.Share(ctx, n), want)
		}
		near, stop := context.WithTimeout(ctx, 10*s)
		defer stop()
		equal(t, "Share of a nearer deadline", deadline.Share(near, 2), 5*s)
		time.Sleep(40 * s)
		equal(t, "Share later", deadline.Share(ctx, 2), 10*s)
		time.Sleep(40 * s)
		equal(t, "Share after the end", deadline.Share(ctx, 2), 0)

		free := deadline.Share(t.Context(), 5)
		if free < 24*365*time.Hour || free+free < 0 {
			t.Errorf("Share without a deadline is %v", free)
		}
	})
}
