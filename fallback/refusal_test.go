package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// A call whose targets are all refused ends with the Kind that closed them: what passes by itself before what somebody
// has to mend, and of those the one that passes first.
func TestRefusedCallEndsWithWhatClosedItsTargets(t *testing.T) {
	t.Parallel()
	auth := &llm.Error{Kind: llm.ErrAuth}
	lost := &llm.Error{Kind: llm.ErrNotFound}
	slow := &llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 50 * time.Second}
	slower := &llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 55 * time.Second}
	for name, c := range map[string]struct {
		failures []*llm.Error
		want     llm.Kind
		target   string
		after    time.Duration
	}{
		"auth":                    {[]*llm.Error{auth}, llm.ErrAuth, "a", time.Minute},
		"not found":               {[]*llm.Error{lost}, llm.ErrNotFound, "a", time.Minute},
		"the first of two":        {[]*llm.Error{auth, lost}, llm.ErrAuth, "a", time.Minute},
		"the passing one":         {[]*llm.Error{auth, slow}, llm.ErrRateLimited, "b", 50 * time.Second},
		"the passing one, before": {[]*llm.Error{slow, auth}, llm.ErrRateLimited, "a", 50 * time.Second},
		"the sooner":              {[]*llm.Error{slower, slow}, llm.ErrRateLimited, "b", 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var targets []fallback.Target
				for i, failure := range c.failures {
					targets = append(targets, fallback.Target{
						Name: string(rune('a' + i)), Generator: llmtest.New(llmtest.Fail(failure)), Prompt: true,
					})
				}
				client, err := fallback.NewClient(targets, &fallback.Options{Plans: policy.Plans{Default: policy.Plan{
					Limits: llm.Limits{Attempt: time.Second}, MaxRetries: policy.NoRetries,
				}}})
				if err != nil {
					t.Fatal(err)
				}
				req := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
				_, _ = client.Generate(t.Context(), req)
				_, err = client.Generate(t.Context(), req)
				e, ok := err.(*llm.Error) //nolint:errorlint // of the client itself
				if !ok || e.Kind != c.want || e.Target != c.target || e.RetryAfter != c.after || !e.NotSent {
					t.Errorf("got %+v of %q, retry after %v; want %s of %s after %v", err, e.Target, e.RetryAfter, c.want, c.target, c.after)
				}
			})
		})
	}
}
