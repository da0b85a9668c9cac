package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/internal/cloud"
)

func (a *app) sim() *cli.Command {
	return &cli.Command{
		Name: "sim", CustomHelpTemplate: simHelp, OnUsageError: usageError,
		StopOnNthArg: new(1), // the flags of COMMAND are COMMAND's
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0"},
			&cli.StringFlag{Name: "replay"},
			&cli.StringFlag{Name: "fault"},
			&cli.BoolFlag{Name: "quiet"},
		},
		Action: a.runSim,
	}
}

func (a *app) runSim(ctx context.Context, c *cli.Command) error {
	clouds, err := a.simulatedClouds(ctx, c)
	if err != nil {
		return err
	}
	server, err := cloud.ListenConns(c.String("listen"), clouds)
	if err != nil {
		return configf("-listen %s: %s\nnext: choose a free port of this machine, or 127.0.0.1:0", c.String("listen"), systemWords(err))
	}
	defer clouds.close() // after the server, or requests that are being answered would be missing in the log
	defer server.Close()
	credential, err := writeCredential(server.URL)
	if err != nil {
		return configf("a file for the simulated credential of Google: %s\nnext: set TMPDIR to a folder that can be written", systemWords(err))
	}
	defer os.Remove(credential)
	vars := simVariables(server.URL, credential)
	if c.Args().Len() > 0 {
		return a.runChild(ctx, c.Args().Slice(), vars)
	}
	text := fmt.Sprintf("three simulated clouds at %s; stop them with Ctrl-C\n", server.URL)
	for _, v := range vars {
		text += "export " + v + "\n"
	}
	for _, name := range realVariables() {
		text += "unset " + name + "\n"
	}
	if _, err := io.WriteString(a.stdout, text); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// simulatedClouds are the accounts, or the replay of a recording on all of their paths.
func (a *app) simulatedClouds(ctx context.Context, c *cli.Command) (*simClouds, error) {
	fault, err := cloud.ParseFault(c.String("fault"))
	if err != nil {
		return nil, faultUsage(err)
	}
	turn := cloud.Turn{Fault: c.String("fault")}
	if file := c.String("replay"); file != "" {
		turn.Reply, err = unlessInterrupted(ctx, func() (*cloud.Reply, error) { return readRecording(file) })
		switch s, interrupted := errors.AsType[*statusError](err); {
		case interrupted:
			return nil, s
		case err != nil:
			return nil, configf("-replay %s: %s", file, err)
		}
		if err := fault.Suits(turn.Reply); err != nil {
			return nil, faultUsage(err)
		}
	}
	var log io.Writer
	if !c.Bool("quiet") {
		log = a.stderr
	}
	return newSimClouds(turn, log), nil
}

func faultUsage(err error) error {
	return usagef("-%s\nnext: see docs/simulated-clouds.md for the faults there are", err)
}

// runChild runs the command of the user with the variables set and passes on its exit status. It decides how to
// end: signals to sim are passed on, but for the interrupt of a terminal, which sends one to each by itself.
func (a *app) runChild(ctx context.Context, command, vars []string) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Env = simEnvironment(a.environ, vars)
	child.Stdin, child.Stdout, child.Stderr = a.stdin, a.stdout, a.stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return usagef("cannot start %q: %s\nnext: give a program that is on the PATH", command[0], systemWords(err))
	}
	ended := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() { passOn(signals, child.Process, ended) })
	err := child.Wait()
	close(ended)
	passing.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &statusError{status: childStatus(exit), text: ""}
	}
	return err
}

// passOn sends signals on to a child until it has ended.
func passOn(signals <-chan os.Signal, child *os.Process, ended <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s == os.Interrupt && inForeground() {
				continue
			}
			_ = child.Signal(s)
		case <-ended:
			return
		}
	}
}

// childStatus is the exit status of a child as a shell gives it: 128 and the signal for one that was killed.
func childStatus(exit *exec.ExitError) int {
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return exit.ExitCode()
}

// systemWords is the last part of an error of the operating system: "connection refused" and the like.
func systemWords(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
