package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/llm"
)

// promptLine is a line of standard input, or the error that ended it.
type promptLine struct {
	text string
	long bool // longer than maxPrompt: the text is not kept
	err  error
}

// answerLines answers each line of standard input with a call of its own, in order; req has all but the prompt.
// Between calls it reads a configuration again that changed. A line that fails does not end the rest.
func (a *app) answerLines(ctx context.Context, by *caller, req *llm.Request, c *cli.Command) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := readLines(ctx, a.stdin)
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	r := a.reloader(by, c)
	status := exitDone
	for n := 1; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-hangUps:
			r.reload(ctx)
		case line, more := <-lines:
			if !more {
				return statusOrNil(status)
			}
			if line.err != nil {
				return readingError(line.err)
			}
			select {
			case <-hangUps: // it came during the call before
				r.reload(ctx)
			default:
				r.reloadChanged(ctx)
			}
			failed, err := a.answerLine(ctx, n, line, by, req, c)
			if err != nil { // nobody reads the answers
				return err
			}
			if failed == exitInterrupted { // its trail says so
				return &statusError{status: failed}
			}
			status = graver(status, failed)
			n++
		}
	}
	return &statusError{status: exitInterrupted, text: "interrupted"}
}

// answerLine answers the n-th line. A failure is told and is the exit status that comes back; an error is that of
// writing the answer.
func (a *app) answerLine(ctx context.Context, n int, line promptLine, by *caller, base *llm.Request, c *cli.Command) (int, error) {
	req := *base
	req.Messages = []llm.Message{{Role: llm.RoleUser, Parts: append(slices.Clone(base.Messages[0].Parts), llm.Text{Text: line.text})}}
	err := lineProblem(line)
	if err != nil {
		err = a.failed(err, by, c)
	} else {
		err = a.answer(ctx, by, &req, c)
	}
	s, failed := errors.AsType[*statusError](err)
	if !failed {
		return exitDone, err
	}
	fmt.Fprintf(a.stderr, "punctual: line %d: %s\n", n, strings.TrimRight(s.text, "\n"))
	return s.status, nil
}

// lineProblem is why a line cannot be sent, nil if it can.
func lineProblem(line promptLine) error {
	if line.long {
		return llm.Invalid("prompt", fmt.Sprintf("is longer than %d MB", maxPrompt>>20), "split it")
	}
	problem, next := promptProblem(line.text)
	switch problem {
	case "":
		return nil
	case promptEmpty:
		next = "take the line out"
	}
	return llm.Invalid("prompt", problem, next)
}

// graver is the exit status of several calls: that of what somebody has to mend, or else of the first failure.
func graver(before, status int) int {
	if before == exitDone || status == exitMend {
		return status
	}
	return before
}

func statusOrNil(status int) error {
	if status == exitDone {
		return nil
	}
	return &statusError{status: status}
}

// readLines reads lines until the input or ctx ends. A read that is under way then is left behind: it cannot be
// interrupted, and the program ends with it.
func readLines(ctx context.Context, from io.Reader) <-chan promptLine {
	lines := make(chan promptLine)
	go func() {
		defer close(lines)
		in := bufio.NewReader(from)
		for {
			line, more := readLine(in)
			if !more {
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			if line.err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads a line without its end, which may be that of the input. more is false if there is none.
func readLine(in *bufio.Reader) (line promptLine, more bool) {
	var text []byte
	for {
		piece, err := in.ReadSlice('\n')
		more = more || len(piece) > 0
		if line.long = line.long || len(text)+len(piece) > maxPrompt; line.long {
			text = nil
		} else {
			text = append(text, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return promptLine{err: err}, true
		}
		line.text = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		return line, more
	}
}
