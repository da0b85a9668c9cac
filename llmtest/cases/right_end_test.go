package cases_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-llm/punctual/breaker"
)

func checkBreaker(o *observation, raw json.RawMessage) error {
	all, err := perProvider[breaker.State](o, raw)
	for name, w := range all {
		if o.states[name] != w {
			return fmt.Errorf("that of %s is %s", name, o.states[name])
		}
	}
	return err
}

// checkBreakerAtEnd wants the state of the first provider's breaker, or of those that are named, when a call ended.
func checkBreakerAtEnd(o *observation, raw json.RawMessage) error {
	all, err := want[map[string]json.RawMessage](raw)
	for name, inner := range all {
		r := o.started[name]
		if name == "call" {
			r = o.calls[len(o.calls)-1]
		}
		if r == nil {
			return fmt.Errorf("there is no call %q", name)
		}
		states, err := want[map[string]breaker.State](inner)
		if err != nil {
			one, err := want[breaker.State](inner)
			if err != nil {
				return err
			}
			states = map[string]breaker.State{o.c.Call.Providers[0]: one}
		}
		for target, w := range states {
			if r.states[target] != w {
				return fmt.Errorf("at the end of %s that of %s was %s", name, target, r.states[target])
			}
		}
	}
	return err
}

func checkWeight(o *observation, raw json.RawMessage) error {
	all, err := perProvider[float64](o, raw)
	for name, w := range all {
		if got := o.scores[name]; math.Abs(got-w) > 1e-6 {
			return fmt.Errorf("that of %s is %s", name, strconv.FormatFloat(got, 'g', -1, 64))
		}
	}
	return err
}

// checkPeer wants the fakes to see a connection go within that time after the call had ended.
func checkPeer(o *observation, raw json.RawMessage) error {
	w, err := want[float64](raw)
	if err != nil {
		return err
	}
	left := 0
	for name, requests := range o.log {
		for _, q := range requests {
			begun := o.epochs[name].Add(q.Time)
			if !q.Gone {
				continue
			}
			left++
			if late := begun.Add(q.Took).Sub(o.endAfter(begun)); late > slacken(ms(w)) {
				return tooLate{fmt.Errorf("%s saw it %v after the end of the call", name, late)}
			}
		}
	}
	if left == 0 {
		return errors.New("no request was left")
	}
	return nil
}

// endAfter is the end of the call that had begun last at that time; of those that ran at once, the last end.
func (o *observation) endAfter(at time.Time) (end time.Time) {
	var begun time.Time
	for _, r := range slices.Concat(o.before, o.calls, o.then, slices.Collect(maps.Values(o.started))) {
		switch {
		case r.start.After(at):
		case o.c.Call.Parallel > 0:
			if r.end.After(end) {
				end = r.end
			}
		case r.start.After(begun):
			begun, end = r.start, r.end
		}
	}
	return end
}

func checkGoroutines(o *observation, raw json.RawMessage) error {
	w, err := want[float64](raw)
	switch {
	case err != nil:
		return err
	case o.left > 0:
		return fmt.Errorf("%d are still there", o.left)
	case o.goroutinesBack > slacken(ms(w)):
		return tooLate{fmt.Errorf("took %v", o.goroutinesBack)}
	}
	return nil
}

func checkConnections(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		if got := o.conns[name]; got > w {
			return fmt.Errorf("%d to %s", got, name)
		}
	}
	return err
}
