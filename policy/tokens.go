package policy

import "sync/atomic"

const defaultTokens = 100

// Tokens is a target's bucket of retry tokens, shared by all calls. Retries that succeed get their tokens
// back, so the bucket empties only when retries do not help: in an outage they stop by themselves, and the
// calls that fall back are not held up. The zero Tokens is full and holds 100. It is safe for concurrent use.
type Tokens struct {
	size  int // 0: 100, negative: no limit
	spent atomic.Int64
}

// SetSize sets what the bucket holds when it is full: 0 is 100, and with a negative size there is no limit.
// It belongs before the first use.
func (t *Tokens) SetSize(size int) { t.size = size }

// Take takes n tokens, or none at all if there are not as many.
func (t *Tokens) Take(n int) bool {
	for t.size >= 0 {
		spent := t.spent.Load()
		if spent+int64(n) > t.full() {
			return false
		}
		if t.spent.CompareAndSwap(spent, spent+int64(n)) {
			break
		}
	}
	return true
}

// Return puts n tokens back: what a retry that succeeded has cost, what was taken and not used, and 1 for
// each first try that succeeds. The bucket never holds more than its size.
func (t *Tokens) Return(n int) {
	for t.size >= 0 {
		spent := t.spent.Load()
		if spent == 0 || t.spent.CompareAndSwap(spent, max(spent-int64(n), 0)) {
			return
		}
	}
}

// Left is how many tokens there are; -1: no limit.
func (t *Tokens) Left() int {
	if t.size < 0 {
		return -1
	}
	return int(t.full() - t.spent.Load())
}

func (t *Tokens) full() int64 {
	if t.size == 0 {
		return defaultTokens
	}
	return int64(t.size)
}
