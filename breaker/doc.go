// Package breaker is a circuit breaker on gobreaker in which timeouts weigh half.
//
// A [Set] holds one breaker per target. Each call asks for a [Permit] and settles it with an [Outcome], whose
// weight says how much of a failure the call was: 0 is a success, 0.5 a timeout, 1 a failure, and a negative
// one says nothing about the target.
//
//	permit, err := set.Allow("azure")
//	if err != nil {
//		return err // a *breaker.OpenError
//	}
//	defer permit.Settle(breaker.Outcome{Weight: -1}) // whatever happens, a probe gives its slot back
//	…
//	permit.Settle(breaker.Outcome{Weight: 0.5})
//
// # When it opens
//
// A breaker opens when the weights since the last success add up to [Options].Threshold (3: three failures or
// six timeouts), or when within two minutes they add up to 5 (the threshold, if that is more) and to a quarter
// of at least ten calls. A call counts when it ends, so timeouts of any length are seen.
//
// It stays open for [Options].OpenFor. Then one call at a time is let through as a probe: a success closes
// the breaker, a failure of any weight opens it again. An opening made of nothing but failures of the wire
// lasts at most 5 s, and twice as long after each probe that fails on the wire, up to OpenFor: a short cut of
// the local network fails the calls to all targets at once, and says little about any of them.
//
// A call may be made past an open breaker, as a last resort ([Set.Bypass]): an answer to it closes the breaker,
// and nothing else about it counts.
//
// Results of calls that were admitted before the last change of state are ignored.
package breaker
