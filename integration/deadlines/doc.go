// Package deadlines holds the tests of deadlines between real processes: a program in a window at whose end the platform
// kills it.
package deadlines
