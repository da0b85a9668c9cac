// Package load holds a test of many sessions at once over three simulated clouds and real sockets. Nobody
// imports it.
package load
