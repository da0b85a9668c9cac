// Package adaptertest is what the tests of the adapters have in common: a provider by hand, calls, and checks.
package adaptertest
