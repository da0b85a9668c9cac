package policy_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func TestCooldown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c policy.Cooldown
		wait := func(d time.Duration, why llm.Kind) {
			t.Helper()
			if gotD, gotWhy := c.Wait(); gotD != d || gotWhy != why {
				t.Errorf("Wait = %v for %q, want %v for %q", gotD, gotWhy, d, why)
			}
		}
		wait(0, "")
		c.Set(10*s, llm.ErrRateLimited)
		wait(10*s, llm.ErrRateLimited)
		time.Sleep(4 * s)
		wait(6*s, llm.ErrRateLimited)
		c.Set(5*s, llm.ErrUnavailable) // ends sooner: the longer one is kept
		wait(6*s, llm.ErrRateLimited)
		c.Set(6*s, llm.ErrUnavailable) // ends as late: whoever came first
		wait(6*s, llm.ErrRateLimited)
		c.Set(20*s, llm.ErrAuth)
		wait(20*s, llm.ErrAuth)
		time.Sleep(20*s - 1)
		wait(1, llm.ErrAuth)
		time.Sleep(time.Nanosecond)
		wait(0, "")
		c.Set(s, llm.ErrQuotaExceeded) // it can begin again
		wait(s, llm.ErrQuotaExceeded)
	})
}

func TestCooldownOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c policy.Cooldown
		for _, d := range []time.Duration{0, -s} {
			c.Set(d, llm.ErrRateLimited)
			if left, why := c.Wait(); left != 0 || why != "" {
				t.Errorf("Set(%v): %v for %q", d, left, why)
			}
		}
		c.Set(math.MaxInt64, llm.ErrQuotaExceeded)
		if left, _ := c.Wait(); left < 365*24*time.Hour {
			t.Errorf("for ever is %v", left)
		}
	})
}

// TestCooldownFromManyGoroutines: the longest of all that were set at once is kept.
func TestCooldownFromManyGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c policy.Cooldown
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				c.Set(time.Duration(i+1)*s, llm.ErrRateLimited)
				_, _ = c.Wait()
			})
		}
		all.Wait()
		if left, _ := c.Wait(); left != 100*s {
			t.Errorf("%v left, want 1m40s", left)
		}
	})
}

func ExampleCooldown() {
	var quota policy.Cooldown // shared by all that use the quota
	quota.Set(20*time.Second, llm.ErrRateLimited)
	quota.Set(5*time.Second, llm.ErrRateLimited) // a second 429, less strict: the longer rest is kept
	left, why := quota.Wait()
	fmt.Println(left.Round(time.Second), why)
	// Output: 20s rate_limited
}
