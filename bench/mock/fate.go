package mock

import (
	"math/rand/v2"
	"time"

	"github.com/punctual-llm/punctual/bench/stats"
)

// The latency of a healthy provider.
const (
	Median = 300 * time.Millisecond
	Sigma  = 0.6
)

// Fate is what happens to one request, drawn before the run, so that every row meets the same.
type Fate struct {
	Latency time.Duration // until the whole answer is there
	Luck    float64       // in [0, 1); below the share of a fault the request meets it
}

// fatesPerCall is how many requests of one call at one provider have a fate of their own.
const fatesPerCall = 4

// Fates are those of one provider for all calls of a round.
type Fates [][fatesPerCall]Fate

// Draw draws the fates of so many calls.
func Draw(r *rand.Rand, calls int) Fates {
	all := make(Fates, calls)
	for i := range all {
		for nth := range all[i] {
			all[i][nth] = Fate{Latency: stats.Lognormal(r, Median, Sigma), Luck: r.Float64()}
		}
	}
	return all
}

// of is the fate of the nth request of a call, counted from 0.
func (f Fates) of(call, nth int) Fate { return f[call%len(f)][nth%fatesPerCall] }
