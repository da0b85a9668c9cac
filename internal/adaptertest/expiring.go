package adaptertest

import (
	"context"
	"sync/atomic"
)

// Expiring is a context that is over from its nth look on, without a Done that would say so. It stands for a clock:
// what counts is how much is done between two looks, on a machine of any speed.
type Expiring struct {
	context.Context //nolint:containedctx // it is one
	From            int32
	Looks           atomic.Int32
}

// Err counts the looks.
func (e *Expiring) Err() error {
	if e.Looks.Add(1) >= e.From {
		return context.Canceled
	}
	return nil
}
