package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestNoWaitIntoTheFloor: a wait behind which the execution would start nothing is not begun, whatever is waited for.
func TestNoWaitIntoTheFloor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		wait time.Duration // of the back-off
		took time.Duration // 0: it did not wait
	}{
		{"to the floor", 55 * s, 55 * s},
		{"just into the floor", 55*s + 1, 0},
		{"far into the floor", 57 * s, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := deadline.With(t.Context(), 60*s, nil) // the floor is 5 s
				defer cancel()
				plan := exact()
				plan.Backoff.Base, plan.Backoff.Max = tt.wait, tt.wait
				wanted := outcome{kind: llm.ErrUnavailable, stopped: llm.StopDeadline, trail: "a:unavailable@0s"}
				if tt.took > 0 {
					wanted = outcome{text: "ok", trail: "a:unavailable@0s a:answered@0s", took: tt.took}
				}
				want(t, tt.name, ask(ctx, planned(t, plan, target("a", fail(llm.ErrUnavailable), llmtest.Text("ok"))), triage()), wanted)
			})
		})
	}
}
