package azure

import (
	"errors"
	"io"
	"testing"
)

// endless is a body that never comes to its end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

func TestAWholeAnswerIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	r := &reply{body: endless{}, keep: true}
	n, err := io.Copy(io.Discard, io.LimitReader(r, 2*maxReply))
	if !errors.Is(err, errTooLarge) || n > maxReply+1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
