package deadline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// TestWarned: the channel is closed when Warn is left, or at an earlier end.
func TestWarned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		o        *deadline.Options
		inner    *deadline.Options // of a second execution of 100 s inside; nil: none
		ask      time.Duration     // when Warned is called first
		cancelAt time.Duration
		at       time.Duration
	}{
		{name: "its own figure", o: &deadline.Options{Warn: 20 * s}, at: 80 * s},
		{name: "before the margin", o: &deadline.Options{Warn: 20 * s, Margin: 10 * s}, at: 70 * s},
		{name: "the default is the default fail-fast floor", o: nil, at: 95 * s},
		{name: "the default is the fail-fast floor", o: &deadline.Options{FailFast: 30 * s}, at: 70 * s},
		{name: "a figure below zero is the default", o: &deadline.Options{Warn: -s}, at: 95 * s},
		{name: "asked late", o: &deadline.Options{Warn: 20 * s}, ask: 79 * s, at: 80 * s},
		{name: "asked too late", o: &deadline.Options{Warn: 20 * s}, ask: 90 * s, at: 90 * s},
		{name: "asked after the end", o: &deadline.Options{Warn: 20 * s}, ask: 110 * s, at: 110 * s},
		{name: "canceled before", o: &deadline.Options{Warn: 20 * s}, cancelAt: 30 * s, at: 30 * s},
		{name: "a figure above the total", o: &deadline.Options{Warn: 200 * s}, at: 0},
		{name: "the warning outside holds inside", o: &deadline.Options{Warn: 50 * s}, inner: &deadline.Options{Warn: s}, at: 50 * s},
		{name: "the warning inside holds too", o: &deadline.Options{Warn: s}, inner: &deadline.Options{Warn: 50 * s}, at: 50 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := deadline.With(t.Context(), 100*s, tt.o)
				defer cancel()
				if tt.inner != nil {
					var stop context.CancelFunc
					ctx, stop = deadline.With(ctx, 100*s, tt.inner)
					defer stop()
				}
				if tt.cancelAt > 0 {
					time.AfterFunc(tt.cancelAt, cancel)
				}
				time.Sleep(tt.ask)
				warned := deadline.Warned(ctx)
				if tt.at == tt.ask {
					select {
					case <-warned:
					default:
						t.Error("the channel is not closed at once")
					}
				}
				<-warned
				equal(t, "time of the warning", time.Since(start), tt.at)
				near, stop := context.WithTimeout(ctx, s)
				defer stop()
				if deadline.Warned(near) != warned {
					t.Error("another channel")
				}
			})
		})
	}
	if deadline.Warned(t.Context()) != nil {
		t.Error("a channel without an execution")
	}
	ctx, cancel := deadline.Limit(t.Context(), nil)
	defer cancel()
	if deadline.Warned(ctx) != nil {
		t.Error("a channel without a deadline")
	}
}

// TestWarnedTimer: the timer goes with the execution. Virtual time would run to a timer that was left.
func TestWarnedTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 100*s, nil)
		near, stop := context.WithTimeout(ctx, s)
		warned := deadline.Warned(near)
		stop()
		synctest.Wait()
		select {
		case <-warned:
			t.Error("the end of a context inside closed the channel of the execution")
		default:
		}
		cancel()
		<-warned
		equal(t, "time", deadline.Elapsed(ctx), 0)
	})
}
