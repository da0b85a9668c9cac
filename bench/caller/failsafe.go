package caller

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/fallback"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// composed is failsafe-go put together with care: fallback(retry(breaker(timeout))) for each provider. Five of
// ten failures open a breaker, and half open it admits one trial call. A timeout goes straight to the next
// provider, and Retry-After is waited for only if it fits the deadline.
type composed struct {
	providers []*provider
	retry     retrypolicy.RetryPolicy[*outcome]
	breakers  []circuitbreaker.CircuitBreaker[*outcome]
	limit     timeout.Timeout[*outcome]
}

// outcome carries what the policies need to know of a try, whether it failed or not.
type outcome struct{ note note }

func newFailsafe(urls []string) (Caller, error) {
	c := &composed{
		providers: newProviders(urls),
		limit:     timeout.New[*outcome](AttemptLimit),
		retry: retrypolicy.NewBuilder[*outcome]().
			WithMaxRetries(retries).
			WithDelayFunc(waitFor).
			AbortIf(useless).
			ReturnLastFailure().
			Build(),
	}
	for range urls {
		c.breakers = append(c.breakers, circuitbreaker.NewBuilder[*outcome]().
			WithFailureThresholdRatio(5, 10).
			WithSuccessThreshold(1).
			WithDelay(OpenFor).
			Build())
	}
	return c, nil
}

// waitFor is the wait before the retry.
func waitFor(exec failsafe.ExecutionAttempt[*outcome]) time.Duration {
	return max(FirstBackoff, asked(exec.LastResult()))
}

// asked is how long the server asked to wait.
func asked(o *outcome) time.Duration {
	if o == nil {
		return 0
	}
	return o.note.retryAfter
}

// useless reports whether the same provider is not worth another try.
func useless(o *outcome, err error) bool {
	switch {
	case errors.Is(err, timeout.ErrExceeded), errors.Is(err, circuitbreaker.ErrOpen),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errTooLong):
		return true
	default:
		return err != nil && !temporary(err)
	}
}

// errTooLong is beside the error of a provider that asks for a longer wait than there is time for.
var errTooLong = errors.New("caller: the wait does not fit the deadline")

func (c *composed) Call(ctx context.Context, call int) error { return c.from(ctx, 0, call) }

// from asks the provider at that place and those behind it.
func (c *composed) from(ctx context.Context, at, call int) error {
	policies := []failsafe.Policy[*outcome]{c.retry, c.breakers[at], c.limit}
	if at+1 < len(c.providers) {
		next := fallback.NewWithFunc(func(failsafe.Execution[*outcome]) (*outcome, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, c.from(ctx, at+1, call)
		})
		policies = append([]failsafe.Policy[*outcome]{next}, policies...)
	}
	_, err := failsafe.With(policies...).WithContext(ctx).
		GetWithExecution(func(exec failsafe.Execution[*outcome]) (*outcome, error) {
			o := &outcome{}
			err := c.providers[at].ask(withNote(exec.Context(), &o.note), call)
			if end, ok := ctx.Deadline(); ok && err != nil && o.note.retryAfter > time.Until(end) {
				err = errors.Join(err, errTooLong)
			}
			return o, err
		})
	return err
}

func (c *composed) Close() { closeAll(c.providers) }
