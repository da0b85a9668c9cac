package caller

import (
	"context"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
)

// handrolled is what many services have: gobreaker around a back-off loop for each provider, and a loop over
// the providers. It opens after five failures in a row, retries timeouts like anything else, and does not see
// Retry-After, since go-openai's errors have none.
type handrolled struct {
	providers []*provider
	breakers  []*gobreaker.CircuitBreaker[struct{}]
}

func newHandrolled(urls []string) (Caller, error) {
	h := &handrolled{providers: newProviders(urls)}
	for range urls {
		h.breakers = append(h.breakers, gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			Timeout:     OpenFor,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
		}))
	}
	return h, nil
}

func (h *handrolled) Call(ctx context.Context, call int) (err error) {
	for i, p := range h.providers {
		_, err = h.breakers[i].Execute(func() (struct{}, error) { return struct{}{}, again(ctx, p, call) })
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// again is the back-off loop around one provider.
func again(ctx context.Context, p *provider, call int) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = FirstBackoff
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		attempt, cancel := context.WithTimeout(ctx, AttemptLimit)
		defer cancel()
		err := p.ask(attempt, call)
		if err != nil && !temporary(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(1+retries))
	return err
}

func (h *handrolled) Close() { closeAll(h.providers) }
