package adaptertest

import (
	"os"
	"runtime"
	"testing"
)

// MiB is a mebibyte.
const MiB = 1 << 20

// Full reports whether the tests run in full: PUNCTUAL_FULL is set. Without it a test that repeats one thing in many
// forms, tens of megabytes each, runs the forms that differ most.
func Full() bool { return os.Getenv("PUNCTUAL_FULL") != "" }

// Heavy skips a test that takes seconds of a processor. With the race detector it is always skipped: it takes thirty
// times as long and has nothing to race with.
func Heavy(t *testing.T) {
	t.Helper()
	switch {
	case RaceEnabled:
		t.Skip("it takes long with the race detector and has nothing to race with")
	case !Full():
		t.Skip("one of many forms; PUNCTUAL_FULL=1 runs them all")
	}
}

// Variant skips one of several forms of a suite, unless the tests run in full.
func Variant(t *testing.T) {
	t.Helper()
	if !Full() {
		t.Skip("one of several forms; PUNCTUAL_FULL=1 runs them all")
	}
}

// Allocated is how many MiB f allocates. The test must not be parallel: what others allocate counts, too.
func Allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) / MiB)
}
