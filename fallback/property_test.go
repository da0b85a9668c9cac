package fallback_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// usualCalls is how many calls TestProperties makes if nobody says otherwise: enough for every path that it
// lists.
const usualCalls = 20000

// TestProperties draws scenarios and holds every call against what a caller may rely on: it ends on time,
// nothing is asked too often, too late or too early, the sink is called as promised, the trail is true, and
// whatever was taken is given back. A scenario that fails is printed with its seed:
//
//	PUNCTUAL_PROPERTY_SEED=<seed> PUNCTUAL_PROPERTY_CALLS=1 go test ./fallback -run TestProperties
//
// plays it again. Jitter and the draw within pools are not of the seed, so that it may take a few times
// (-count).
func TestProperties(t *testing.T) {
	t.Parallel()
	first, calls := setting(t, "PUNCTUAL_PROPERTY_SEED", 1), setting(t, "PUNCTUAL_PROPERTY_CALLS", usualCalls)
	if testing.Short() {
		calls = min(calls, usualCalls/10)
	}
	tally, failed, begun := simTally{}, 0, time.Now()
	for seed := uint64(first); tally["calls"] < calls; seed++ {
		sc := drawScenario(seed)
		if problems := play(t, seed, sc, tally); len(problems) > 0 {
			t.Errorf("seed %d:\n  %s\n%s", seed, strings.Join(problems, "\n  "), sc)
			if failed++; failed == 3 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d calls, %.0f a second%s", tally["calls"], float64(tally["calls"])/time.Since(begun).Seconds(), tally)
	if never := tally.missing(); calls >= usualCalls && len(never) > 0 {
		t.Errorf("never reached: %s", strings.Join(never, ", "))
	}
}

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// play plays one scenario in a bubble of its own, and says what was wrong.
func play(t *testing.T, seed uint64, sc *simScenario, tally simTally) (problems []string) {
	t.Helper()
	rested := false
	defer func() {
		if !rested { // a goroutine that never ends breaks the bubble with a panic
			fmt.Fprintf(os.Stderr, "seed %d did not come to rest:\n%s\n", seed, sc)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(sc)
		w.run()
		w.check()
		tally.count(w)
		problems = w.problems
		if len(problems) > 0 {
			for _, c := range w.calls {
				problems = append(problems, c.String())
			}
		}
	})
	rested = true
	return problems
}

// String tells what became of a call.
func (c *simCall) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "call %d from %v, took %v: ", c.id, c.start.Sub(c.world.started), c.end.Sub(c.start))
	switch {
	case c.panicked != nil:
		fmt.Fprintf(&b, "panic %v", c.panicked)
	case c.err != nil:
		fmt.Fprintf(&b, "%v", c.err)
		if e, ok := c.err.(*llm.Error); ok { //nolint:errorlint // it is for people
			fmt.Fprintf(&b, " stopped=%s code=%s", e.Stopped, e.Code)
		}
	case c.resp != nil:
		fmt.Fprintf(&b, "%q by %s", c.resp.Text(), c.resp.Target)
	}
	attempts, skipped, _ := c.trail()
	for i := range attempts {
		a := &attempts[i]
		fmt.Fprintf(&b, "\n      %s at %v (waited %v) took %v of %v: %s %s", a.Target, a.Start.Sub(c.start), a.Wait, a.Took, a.Limit, a.Kind, a.Bound)
	}
	for _, skip := range skipped {
		fmt.Fprintf(&b, "\n      %s skipped: %s for %v", skip.Target, skip.Why, skip.For)
	}
	for _, try := range c.tries {
		end := "goes on"
		if !try.end.IsZero() {
			end = fmt.Sprint(try.end.Sub(c.start))
		}
		fmt.Fprintf(&b, "\n      saw %s.%d %s from %v to %s, over=%v late=%v refused=%v watched=%v sent=%d err=%v",
			try.target, try.n, try.fault.Act, try.start.Sub(c.start), end, try.over, try.late, try.refused, try.watched, len(try.sent), try.err)
	}
	if c.Streamed {
		fmt.Fprintf(&b, "\n      sink saw %q", texts(c.seen))
	}
	return b.String()
}

// virtual waits inside the bubble of a seed.
func virtual(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
