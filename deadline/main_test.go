package deadline_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
