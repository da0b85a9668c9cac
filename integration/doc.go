// Package integration holds tests over whole processes: the command as it is built, and clients of the
// simulated clouds that were written elsewhere. Nobody imports it.
package integration
