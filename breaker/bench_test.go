package breaker_test

import (
	"fmt"
	"testing"

	"github.com/sony/gobreaker/v2"

	"github.com/punctual-llm/punctual/breaker"
)

// open is a Set whose target is open.
func open() *breaker.Set {
	set := breaker.NewSet(nil)
	for range 3 {
		p, _ := set.Allow(target)
		p.Settle(outcomes['f'])
	}
	return set
}

// TestAllocations holds a call to gobreaker's one closure, whatever its outcome, and a look to nothing.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	set := breaker.NewSet(&breaker.Options{Threshold: 1e6})
	for letter, o := range outcomes {
		got := testing.AllocsPerRun(1000, func() {
			p, _ := set.Allow(target)
			p.Settle(o)
		})
		if got > 1 {
			t.Errorf("Allow and Settle of %q: %v allocations, want at most 1", letter, got)
		}
	}
	for name, set := range map[string]*breaker.Set{"closed": set, "open": open()} {
		if got := testing.AllocsPerRun(1000, func() { set.Wait(target) }); got > 0 {
			t.Errorf("Wait while %s: %v allocations", name, got)
		}
	}
}

func BenchmarkAllowSettle(b *testing.B) {
	b.Run("gobreaker", func(b *testing.B) {
		b.ReportAllocs()
		cb := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{})
		for b.Loop() {
			done, _ := cb.Allow()
			done(nil)
		}
	})
	for _, letter := range "stn" {
		b.Run(fmt.Sprintf("punctual/%c", letter), func(b *testing.B) {
			b.ReportAllocs()
			set := breaker.NewSet(&breaker.Options{Threshold: 1e9})
			for b.Loop() {
				p, _ := set.Allow(target)
				p.Settle(outcomes[letter])
			}
		})
	}
}

func BenchmarkWait(b *testing.B) {
	closed := breaker.NewSet(nil)
	_, _ = closed.Allow(target)
	for _, bb := range []struct {
		name string
		set  *breaker.Set
	}{{"closed", closed}, {"open", open()}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.set.Wait(target)
			}
		})
	}
}
