package caller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/bench/mock"
	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
	"github.com/punctual-llm/punctual/providers/azure"
)

// Our own knobs, beyond those of the tables.
const (
	FirstContent = 500 * time.Millisecond
	HedgeAfter   = 800 * time.Millisecond // p95 of a healthy provider: 300 ms · e^(0.6 · 1.645) = 805 ms
	// HedgeShare is a cap, and costs nothing while all is well: then 5 % are hedged, as p95 says. It has room
	// for the calls that a hanging provider holds until its breaker opens.
	HedgeShare = 0.3
)

// tableKnobs are those that every row has. A wait is 100 ms at the least unless Max is shorter, so Max is what
// makes the one back-off 50 ms.
func tableKnobs() policy.Plan {
	return policy.Plan{
		Limits:     llm.Limits{Attempt: AttemptLimit},
		MaxRetries: retries,
		Backoff:    policy.Backoff{Base: FirstBackoff, Max: FirstBackoff},
	}
}

// firstKnobs also stream unary calls inside and wait for the first content half a second.
func firstKnobs() policy.Plan {
	plan := tableKnobs()
	plan.Watch, plan.Limits.FirstContent = policy.WatchOn, FirstContent
	return plan
}

// hedgeKnobs also ask a second provider when the first is slower than usual.
func hedgeKnobs() policy.Plan {
	plan := tableKnobs()
	plan.Hedge = policy.Hedge{After: HedgeAfter, Share: HedgeShare}
	return plan
}

// ours is a chain over three targets.
type ours struct {
	client *llm.Client
	chain  *fallback.Chain
}

func newPunctual(knobs func() policy.Plan) New {
	return func(urls []string) (Caller, error) {
		targets := make([]fallback.Target, len(urls))
		for i, url := range urls {
			name := fmt.Sprint("target-", i)
			p, err := azure.Compatible(&azure.CompatibleOptions{BaseURL: url, Model: model, Key: "key"})
			if err != nil {
				return nil, err
			}
			targets[i] = fallback.Target{
				Name: name, Generator: p, Model: llm.ModelRef{Provider: "openai", Model: model},
				Can: llm.Capabilities{Streams: true}, Prompt: true,
				Close: p.Close,
			}
		}
		chain, err := fallback.New(targets, &fallback.Options{
			Plans:    policy.Plans{Default: knobs()},
			Breakers: breaker.NewSet(&breaker.Options{OpenFor: OpenFor}),
		})
		if err != nil {
			return nil, err
		}
		return &ours{client: llm.NewClient(chain, nil), chain: chain}, nil
	}
}

func (o *ours) Call(ctx context.Context, call int) error {
	resp, err := o.client.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User(prompt(call))}})
	switch {
	case err != nil:
		return err
	case resp.Text() != mock.Text:
		return errWrongAnswer
	default:
		return nil
	}
}

func (o *ours) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := o.chain.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		panic(err) // closing idle connections cannot fail
	}
}
