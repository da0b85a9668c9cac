package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

func TestAdjustHoldsFromTheNextFailureOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		failures := func(n int) breaker.Status {
			for range n {
				p, err := set.Allow("a")
				if err != nil {
					t.Fatal(err)
				}
				p.Settle(breaker.Outcome{Weight: 1})
			}
			return set.Status("a")
		}
		failures(2)
		set.Adjust(5, time.Hour)
		if s := failures(2); s.State != breaker.Closed {
			t.Errorf("after 4 failures of 5: %v", s)
		}
		s := failures(1)
		if left := time.Until(s.Until); s.State != breaker.Open || left < 50*time.Minute {
			t.Errorf("after 5 failures: %v for %v", s.State, left)
		}
		set.Adjust(0, 0)
		if again := set.Status("a"); again != s {
			t.Errorf("an open breaker changed from %v to %v", s, again)
		}
		time.Sleep(2 * time.Hour)
		set.Forget("a")
		if s := failures(3); s.State != breaker.Open || time.Until(s.Until) > 6*time.Minute {
			t.Errorf("with the defaults again: %v", s)
		}
	})
}
