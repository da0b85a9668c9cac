package deadline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// virtual runs f as a parallel subtest in virtual time.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
