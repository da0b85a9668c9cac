package breaker

// Outcome says what a call told about its target. The zero Outcome is a success.
type Outcome struct {
	// Weight is how much of a failure the call was: 0 is a success, 0.5 a timeout, 1 a failure and the most
	// there is. A negative weight, and one that is no number, counts as nothing at all.
	Weight float64
	// Wire says that the network failed, not the provider. It means nothing without a weight.
	Wire bool
}

// Permit is the right to make one call. It belongs to one goroutine and must not be copied. The zero Permit
// stands for a call made without asking; settling it does nothing.
type Permit struct {
	breaker *breaker
	done    func(error)
}

// Settle reports how the call went. The first call counts, later ones do nothing. It may run
// [Options].OnChange.
func (p *Permit) Settle(o Outcome) {
	b, done := p.breaker, p.done
	if done == nil {
		return
	}
	*p = Permit{}
	done(b.verdict(o))
	b.set.changes.tell()
}

// The verdicts travel through gobreaker as errors. A nil one is a success.
type (
	// nothing is the verdict of a call that has nothing to say.
	nothing struct{}
	// failure is never changed once made.
	failure struct {
		weight int64 // in thousandths, 1 to 1000
		wire   bool
	}
)

func (nothing) Error() string  { return "no verdict" }
func (*failure) Error() string { return "failure" }

func (b *breaker) verdict(o Outcome) error {
	switch {
	case o.Weight == 0:
		return nil
	case o.Weight > 0:
		return b.failed(failure{weight: thousandths(min(o.Weight, 1)), wire: o.Wire})
	default:
		return nothing{}
	}
}

// failed is f on the heap. Failures come in runs of the same kind, which share one.
func (b *breaker) failed(f failure) *failure {
	if last := b.lastFailed.Load(); last != nil && *last == f {
		return last
	}
	next := f
	b.lastFailed.Store(&next)
	return &next
}
