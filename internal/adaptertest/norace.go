//go:build !race

package adaptertest

// RaceEnabled reports whether the race detector runs.
const RaceEnabled = false
