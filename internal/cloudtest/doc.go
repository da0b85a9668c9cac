// Package cloudtest is what the tests of the simulated clouds have in common: requests, what a client has of the answers,
// and checks of what every cloud does alike.
package cloudtest
