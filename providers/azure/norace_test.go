//go:build !race

package azure_test

const raceEnabled = false
