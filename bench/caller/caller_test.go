package caller_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/bench/caller"
	"github.com/punctual-llm/punctual/bench/mock"
)

// quick are fates of calls that take a millisecond.
func quick() mock.Fates {
	f := mock.Draw(rand.New(rand.NewPCG(1, 1)), 40)
	for i := range f {
		for nth := range f[i] {
			f[i][nth].Latency = time.Millisecond
		}
	}
	return f
}

// three starts the primary with a fault and two healthy ones.
func three(t *testing.T, mode mock.Mode) (servers []*mock.Server, urls []string) {
	t.Helper()
	for place := range 3 {
		o := mock.Options{Fates: quick(), First: 0.5}
		if place == 0 {
			o.Mode = mode
		}
		s, err := mock.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		servers, urls = append(servers, s), append(urls, s.URL)
	}
	return servers, urls
}

// one makes one call with a row of its own and three mocks of its own.
func one(t *testing.T, row caller.Row, mode mock.Mode, calls int) (servers []*mock.Server, err error) {
	t.Helper()
	servers, urls := three(t, mode)
	c, err := row.New(urls)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err = c.Call(ctx, call)
		cancel()
		if err != nil {
			break
		}
	}
	return servers, err
}

func TestEveryRowAsksAHealthyPrimaryOnce(t *testing.T) {
	t.Parallel()
	for _, row := range caller.Rows() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			servers, err := one(t, row, mock.Healthy, 1)
			if err != nil {
				t.Fatal(err)
			}
			for place, want := range []int{1, 0, 0} {
				if got := servers[place].Asked(); got != want {
					t.Errorf("provider %d was asked %d times, want %d", place, got, want)
				}
			}
		})
	}
}

// What a row does with a fault of the primary shows in how often it asks the primary in 20 calls.
func TestRowsDoWithFaultsWhatTheirCommentsSay(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[mock.Mode]int{
		// A breaker over five failures in a row, each of them of two tries.
		"handrolled": {mock.Fail: 10, mock.Throttle: 10},
		// Five of ten open; a 500 is tried again after 50 ms, a 429 for 30 s is not.
		"failsafe": {mock.Fail: 5, mock.Throttle: 5},
		// Three failures open, and the next target comes before the retry; a 429 is left alone.
		"punctual":       {mock.Fail: 3, mock.Throttle: 1},
		"punctual-first": {mock.Fail: 3, mock.Throttle: 1},
		"punctual-hedge": {mock.Fail: 3, mock.Throttle: 1},
	} {
		for mode, asked := range want {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				servers, err := one(t, named(t, name), mode, 20)
				if err != nil {
					t.Fatal(err)
				}
				if got := servers[0].Asked(); got != asked {
					t.Errorf("the primary was asked %d times, want %d", got, asked)
				}
				if got := servers[1].Asked(); got != 20 {
					t.Errorf("the second was asked %d times, want 20", got)
				}
			})
		}
	}
}

func TestRowsLeaveAHangingPrimary(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{
		"handrolled":     2*caller.AttemptLimit + caller.FirstBackoff/2,
		"failsafe":       caller.AttemptLimit,
		"punctual":       caller.AttemptLimit,
		"punctual-first": caller.FirstContent,
		"punctual-hedge": caller.HedgeAfter,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			if _, err := one(t, named(t, name), mock.Hang, 1); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took < want {
				t.Errorf("the answer came after %v, before the limit of %v", took, want)
			}
		})
	}
}

func TestTheBareRowHasNoOtherProvider(t *testing.T) {
	t.Parallel()
	servers, err := one(t, named(t, "go-openai"), mock.Fail, 1)
	if err == nil || servers[0].Asked() != 1 || servers[1].Asked() != 0 {
		t.Errorf("asked %d and %d, error %v", servers[0].Asked(), servers[1].Asked(), err)
	}
}

func named(t *testing.T, name string) caller.Row {
	t.Helper()
	for _, row := range caller.Rows() {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("no row %s", name)
	return caller.Row{}
}
