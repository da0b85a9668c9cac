package cases_test

import (
	"context"
	"sync"
	"time"
)

// stalls notes when the machine stood still for this process: a case that was played in such a time has been given
// other times than it says.
type stalls struct {
	mu  sync.Mutex
	all []stall
}

type stall struct{ from, to time.Time }

const (
	tick      = 5 * time.Millisecond
	longStall = 60 * time.Millisecond
)

// watch notes stalls until ctx ends.
func (s *stalls) watch(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		if now.Sub(last) > longStall {
			s.mu.Lock()
			s.all = append(s.all, stall{last, now})
			s.mu.Unlock()
		}
		last = now
	}
}

// longest is the longest stall between two times.
func (s *stalls) longest(from, to time.Time) (d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.to.After(from) && one.from.Before(to) {
			d = max(d, one.to.Sub(one.from))
		}
	}
	return d
}
