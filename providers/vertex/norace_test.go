//go:build !race

package vertex_test

const raceEnabled = false
