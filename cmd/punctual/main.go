// Command punctual shows and uses the Punctual SDK from a shell: a demo without set-up, single calls, and
// simulated clouds for tests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ(), terminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
	}
	status := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// isTerminal reports whether f is a terminal, on which a running row may be drawn again and again.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	null, err := os.Stat(os.DevNull) // a device of the same kind
	return err != nil || !os.SameFile(info, null)
}
