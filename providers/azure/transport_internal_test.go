package azure

import (
	"errors"
	"testing"
)

// blanks is a body that never comes to its end, nor to its beginning.
type blanks struct{ read int }

func (b *blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	b.read += len(p)
	return len(p), nil
}

func (b *blanks) Close() error { return nil }

func TestAWholeAnswerIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	b := new(blanks)
	r := &reply{body: b}
	r.read(t.Context(), 0)
	if !errors.Is(r.err, errTooLarge) || b.read < 32<<20 || b.read > 33<<20 {
		t.Errorf("%d bytes, %v", b.read, r.err)
	}
}
