package policy_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/punctual-llm/punctual/policy"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	var bucket policy.Tokens
	for i := range 10 {
		if !bucket.Take(10) {
			t.Fatalf("a full bucket pays for ten retries, not for the %d.", i+1)
		}
	}
	if bucket.Left() != 0 || bucket.Take(1) {
		t.Errorf("it holds more than a hundred: %d left", bucket.Left())
	}
	bucket.Return(7)
	if bucket.Take(8) || bucket.Left() != 7 {
		t.Errorf("it takes all or nothing: %d left", bucket.Left())
	}
	if !bucket.Take(7) {
		t.Error("it does not give the last")
	}
	bucket.Return(1000)
	if bucket.Left() != 100 {
		t.Errorf("it never holds more than its size: %d", bucket.Left())
	}
}

func TestTokensSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]struct{ left, retries int }{0: {100, 10}, 25: {25, 2}, 5: {5, 0}, -1: {-1, 1000}} {
		var bucket policy.Tokens
		bucket.SetSize(size)
		if bucket.Left() != want.left {
			t.Errorf("size %d: %d left, want %d", size, bucket.Left(), want.left)
		}
		retries := 0
		for retries < 1000 && bucket.Take(10) {
			retries++
		}
		if retries != want.retries {
			t.Errorf("size %d pays for %d retries, want %d", size, retries, want.retries)
		}
		bucket.Return(1)
		if size < 0 && bucket.Left() != -1 {
			t.Errorf("no limit is now %d", bucket.Left())
		}
	}
}

// TestTokensFromManyGoroutines: none is taken twice, and none is lost.
func TestTokensFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var bucket policy.Tokens
	var out, most atomic.Int64
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			for range 200 {
				if !bucket.Take(10) {
					continue
				}
				if n := out.Add(10); n > most.Load() {
					most.Store(n)
				}
				out.Add(-10)
				bucket.Return(10)
			}
		})
	}
	calls.Wait()
	if bucket.Left() != 100 || most.Load() > 100 {
		t.Errorf("%d left, %d out at once", bucket.Left(), most.Load())
	}
}

// In an outage retries end by themselves; where they help they cost nothing.
func ExampleTokens() {
	var bucket policy.Tokens
	retries := 0
	for bucket.Take(10) { // every retry fails
		retries++
	}
	fmt.Println(retries, "retries in an outage,", bucket.Left(), "tokens left")
	bucket.Return(10) // ten first tries succeed, one token each
	fmt.Println(bucket.Take(10))
	bucket.Return(10) // the retry succeeded
	fmt.Println(bucket.Left())
	// Output:
	// 10 retries in an outage, 0 tokens left
	// true
	// 10
}
