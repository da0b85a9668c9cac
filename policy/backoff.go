package policy

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// Jitter spreads the waits of callers that failed at the same instant.
type Jitter string

const (
	// JitterProportional is the default: ±25 %.
	JitterProportional Jitter = ""
	// JitterFull draws from 0 to the whole wait: a storm drains faster, single waits are shorter.
	JitterFull Jitter = "full"
	// JitterDecorrelated draws between the base and three times the wait before: the flattest of all.
	JitterDecorrelated Jitter = "decorrelated"
	// JitterNone waits exactly. Callers that failed together come back together.
	JitterNone Jitter = "none"
)

const (
	defaultBase = time.Second
	defaultMax  = 10 * time.Second
	shortest    = 100 * time.Millisecond
)

// Backoff is how long to wait before a target is asked again. The zero Backoff is 1 s, twice as long after
// each failure, at most 10 s, ±25 %.
type Backoff struct {
	Base, Max time.Duration // 0: 1 s and 10 s
	Jitter    Jitter
}

// Delay is the wait before another try after the try-th one failed (1 is the first). It stays within 100 ms
// and Max, or is Max where that is shorter. prev is the wait before that try, for decorrelated jitter.
// serverWait is what the server asked for, 0 for nothing: it is a floor, and its jitter (half of it at the
// most) only lengthens it. A nil r draws from the runtime's own source.
func (b Backoff) Delay(try int, prev, serverWait time.Duration, r *rand.Rand) time.Duration {
	longest := min(cmp.Or(b.Max, defaultMax), maxLimit) // three times as long does not overflow
	base := min(cmp.Or(b.Base, defaultBase), longest)
	wait := base
	for i := 1; i < try && wait < longest; i++ {
		wait *= 2
	}
	wait = min(wait, longest)
	switch b.Jitter {
	case JitterNone:
	case JitterFull:
		wait = scaled(wait, draw(r))
	case JitterDecorrelated:
		wait = base + scaled(max(3*min(max(prev, base), longest)-base, 0), draw(r))
	default:
		wait = scaled(wait, 0.75+draw(r)/2)
	}
	wait = min(max(wait, shortest), longest)
	if serverWait > 0 {
		wait = max(wait, scaled(min(serverWait, maxLimit), 1+draw(r)/2))
	}
	return wait
}

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// draw is uniform in [0, 1).
func draw(r *rand.Rand) float64 {
	if r == nil {
		return rand.Float64()
	}
	return r.Float64()
}
