package breaker

import (
	"context"
	"time"
)

// Hints carries what other processes have learnt about the same targets. It is best effort: breakers decide
// by themselves, so an error of a Hints costs nothing but its help, and no call ever waits for one.
// Implementations are safe for concurrent use.
type Hints interface {
	// Publish shares the state of the named breaker.
	Publish(ctx context.Context, name string, h Hint) error
	// Read returns what is known about the named breakers; one without a hint is left out.
	Read(ctx context.Context, names []string) (map[string]Hint, error)
	// TryProbe reports whether this process may send the next probe. The right ends after ttl.
	TryProbe(ctx context.Context, name string, ttl time.Duration) (bool, error)
}

// Hint is what one process says about a breaker. The zero Hint says that nothing is wrong.
type Hint struct {
	OpenUntil time.Time // zero: not open
	Score     float64   // sum of weights in the last two minutes
	Calls     int       // calls in the last two minutes
}
