//go:build !race

package deadline_test

const raceEnabled = false
