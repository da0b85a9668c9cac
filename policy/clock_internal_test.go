package policy

import (
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// TestAConnectionThatComesInTheMeantime: while it is looked at which limit has fallen, net/http may get its connection.
func TestAConnectionThatComesInTheMeantime(t *testing.T) {
	t.Parallel()
	var c Clock
	c.Init(t.Context(), time.Now(), llm.Limits{Attempt: time.Hour, Connect: time.Hour}, time.Time{}, false)
	defer c.Stop()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				c.dialing.Store(1)
				c.dialing.Store(0)
			}
		}
	}()
	for range 5_000_000 {
		if got := c.fallen(0, time.Second); got != waiting {
			t.Errorf("state %d after a second of an hour", got)
			break
		}
	}
	close(done)
	<-ended
}
