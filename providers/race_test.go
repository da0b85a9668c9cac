//go:build race

package providers_test

const raceEnabled = true
