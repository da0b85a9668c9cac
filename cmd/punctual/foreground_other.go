//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

// inForeground is true: a console sends Ctrl-C to all of its processes, and nobody else sends an interrupt.
func inForeground() bool { return true }
