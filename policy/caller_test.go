package policy_test

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// TestClockIsNobodysDeadline: an attempt's limit is told to no provider, a caller's deadline is, and other values
// pass through.
func TestClockIsNobodysDeadline(t *testing.T) {
	t.Parallel()
	type key struct{}
	free := context.WithValue(t.Context(), key{}, 1)
	caller, cancel := context.WithTimeout(free, time.Hour)
	defer cancel()
	for _, tt := range []struct {
		name   string
		parent context.Context
		stream bool
		want   bool
	}{
		{"a unary attempt", free, false, false},
		{"a stream", free, true, false},
		{"a unary attempt within a caller's deadline", caller, false, true},
		{"a stream within a caller's deadline", caller, true, true},
	} {
		var outer, inner policy.Clock
		outer.Init(tt.parent, time.Now(), llm.Limits{Attempt: time.Minute, Connect: s}, time.Time{}, tt.stream)
		inner.Init(&outer, time.Now(), llm.Limits{Attempt: time.Second}, time.Time{}, tt.stream) // a chain in a chain
		for _, ctx := range []context.Context{&outer, &inner} {
			if got := deadline.Awaited(context.WithValue(ctx, key{}, 2)); got != tt.want {
				t.Errorf("%s: awaited %v, want %v", tt.name, got, tt.want)
			}
			if ctx.Value(key{}) != 1 {
				t.Errorf("%s: a value is lost", tt.name)
			}
		}
		inner.Stop()
		outer.Stop()
	}
}
