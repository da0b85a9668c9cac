package policysim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// equal is the "equal share" of the notes, the rule to be measured by: the time that is left is shared
// equally by the providers that are left, a timeout goes on to the next one, a 503 is asked three times if the
// waits fit, and a 429 goes on at once unless its wait is a second at most. No provider is asked in a second
// round.
type equal struct {
	providers []*provider
	attempt   time.Duration
	breakers  *breaker.Set // nil: none
}

// notesBreaker opens as theirs: at a score of 5 on end, or of 5 in two minutes with a ratio of 0.25.
var notesBreaker = breaker.Options{Threshold: 5, OpenFor: 30 * s}

// equalShare makes the rule, with the breaker of the notes or without one.
func (sc *scenario) equalShare(withBreaker bool) maker {
	return func(_ *testing.T, providers []*provider) rules {
		e := &equal{providers: providers, attempt: sc.attempt}
		if withBreaker {
			e.breakers = breaker.NewSet(&notesBreaker)
		}
		return e.call
	}
}

func (e *equal) call(ctx context.Context) (err error) {
	err = context.DeadlineExceeded
	for i := range e.providers {
		for try := 1; try <= 3; try++ {
			live := e.live(i)
			if live == 0 {
				break
			}
			deadline, _ := ctx.Deadline()
			left := time.Until(deadline)
			share := left / time.Duration(live)
			if err = e.attemptOn(ctx, i, min(share, e.attempt)); err == nil || ctx.Err() != nil {
				return err
			}
			wait := again(err, try)
			if wait < 0 || wait+2*s > share-(left-time.Until(deadline)) || try == 3 || !sleep(ctx, wait) {
				break
			}
		}
	}
	return err
}

// again is how long to wait before the same provider is asked again, below 0 to leave it.
func again(err error, try int) time.Duration {
	switch llm.KindOf(err) {
	case llm.ErrUnavailable:
		return policy.Backoff{}.Delay(try, 0, 0, nil)
	case llm.ErrRateLimited:
		if e, _ := errors.AsType[*llm.Error](err); e.RetryAfter <= s {
			return e.RetryAfter
		}
		return -1
	default:
		return -1
	}
}

// live counts the providers from the i-th on that the breakers do not refuse; 0 if the i-th is refused.
func (e *equal) live(i int) int {
	live := 0
	for at := i; at < len(e.providers); at++ {
		if e.breakers == nil || e.breakers.Wait(name(at)) == 0 {
			live++
		} else if at == i {
			return 0
		}
	}
	return live
}

func (e *equal) attemptOn(ctx context.Context, i int, limit time.Duration) error {
	var permit breaker.Permit
	if e.breakers != nil {
		var err error
		if permit, err = e.breakers.Allow(name(i)); err != nil {
			return err
		}
	}
	attempt, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	_, err := e.providers[i].Generate(attempt, nil, nil)
	weight := 0.0
	switch {
	case err == nil:
	case attempt.Err() != nil:
		weight = 0.5
		if time.Since(begun) < min(10*s, e.attempt/4) {
			weight = -1
		}
	case llm.KindOf(err) == llm.ErrRateLimited:
		weight = -1
	default:
		weight = 1
	}
	permit.Settle(breaker.Outcome{Weight: weight})
	return err
}
