package policysim

import (
	"fmt"
	"testing"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func TestX(t *testing.T) {
	for i, l := range lines() {
		if i != 3 && i != 8 && i < 11 {
			continue
		}
		sc := l.scenario
		run := func(with func(*testing.T, []*provider) rules) string {
			var share, calls, p99 float64
			for seed := range 4 {
				r := sc.play(t, uint64(i+100*seed), 5000, poisson(uint64(i+100*seed), 2), with)
				share += r.share() / 4
				calls += r.calls / 4
				p99 += r.p99.Seconds() / 4
			}
			return fmt.Sprintf("%6.2f / %4.1f / %4.2f", 100*share, p99, calls)
		}
		ours := func(o breaker.Options, w policy.Watch, tokens int, noresort bool) string {
			return run(func(t *testing.T, ps []*provider) rules {
				targets := make([]fallback.Target, len(ps))
				for i, p := range ps {
					targets[i] = fallback.Target{Name: name(i), Generator: p, Prompt: true, Can: llm.Capabilities{Streams: true}}
				}
				p := policy.Plan{Watch: w, NoLastResort: noresort, Limits: llm.Limits{Attempt: sc.attempt}}
				c, err := fallback.New(targets, &fallback.Options{Plans: policy.Plans{Default: p}, RetryTokens: tokens, Breakers: breaker.NewSet(&o)})
				if err != nil {
					t.Fatal(err)
				}
				return chainRules(c)
			})
		}
		off := policy.WatchOff
		fmt.Fprintf(t.Output(), "%s (%s %s)\n  eq %s\n  eqB %s\n  ours: %s\n  no resort: %s\n  tokens off: %s\n  5/30: %s\n  5/30 no resort: %s\n  5/30 tokens off: %s\n 3/30: %s\n  3/30 tokens off: %s\n 5/300: %s\n Watch %s\n", l.name, l.equal, l.equalBreaker,
			run(sc.equalShare(false)), run(sc.equalShare(true)),
			ours(breaker.Options{}, off, 0, false),
			ours(breaker.Options{}, off, 0, true),
			ours(breaker.Options{}, off, -1, false),
			ours(breaker.Options{Threshold: 5, OpenFor: 30 * s}, off, 0, false),
			ours(breaker.Options{Threshold: 5, OpenFor: 30 * s}, off, 0, true),
			ours(breaker.Options{Threshold: 5, OpenFor: 30 * s}, off, -1, false),
			ours(breaker.Options{OpenFor: 30 * s}, off, 0, false),
			ours(breaker.Options{OpenFor: 30 * s}, off, -1, false),
			ours(breaker.Options{Threshold: 5}, off, 0, false),
			ours(breaker.Options{}, "", 0, false))
	}
}
