package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/llm"
)

// app is the command line with everything it touches of the process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        []string // what children of sim inherit
	terminal       bool     // stdout is one
	errTerminal    bool     // stderr is one
}

// statusError ends a command with an exit status. What it says goes to stderr behind "punctual: "; an empty
// text means that everything was said.
type statusError struct {
	status int
	text   string
	before string // lines in front of it, as they are
}

func (e *statusError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &statusError{status: exitUsage, text: fmt.Sprintf(format, args...)}
}

func configf(format string, args ...any) error {
	return &statusError{status: exitConfig, text: fmt.Sprintf(format, args...)}
}

// run runs one command line and returns its exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	err := root.Run(ctx, append([]string{"punctual"}, args...))
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) { // a closed pipe ends quietly
		return exitDone
	}
	status, text := exitFailed, err.Error()
	if s, ok := errors.AsType[*statusError](err); ok {
		status, text = s.status, s.text
		fmt.Fprint(a.stderr, s.before)
	} else if e, ok := errors.AsType[*llm.Error](err); ok {
		status, text = exitStatusOf(e), callErrorText(e, nil, false, false)
	}
	if text != "" {
		fmt.Fprintln(a.stderr, "punctual: "+strings.TrimRight(text, "\n"))
	}
	return status
}

func (a *app) root() *cli.Command {
	root := &cli.Command{
		Name: "punctual", Usage: "calls to large language models that end on time",
		CustomRootCommandHelpTemplate: rootHelp,
		HideHelpCommand:               true,
		Writer:                        a.stdout, ErrWriter: a.stderr, Reader: a.stdin,
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // run maps errors to statuses
		OnUsageError:   usageError,
		Commands: []*cli.Command{
			a.demo(), a.generate(), a.check(), a.initialize(), a.sim(), a.schema(), a.completion(), a.version(), a.help(),
		},
	}
	root.Action = func(_ context.Context, c *cli.Command) error {
		if c.Args().Len() == 0 {
			_, err := io.WriteString(a.stdout, rootHelp)
			return err
		}
		return usagef("there is no command %q%s\nnext: punctual help", c.Args().First(),
			didYouMean(c.Args().First(), commandNames(root)))
	}
	return root
}

func commandNames(root *cli.Command) []string {
	var names []string
	for _, c := range root.Commands {
		names = append(names, c.Name)
	}
	return names
}

// usageError says what is wrong with the flags and names the nearest one.
func usageError(_ context.Context, c *cli.Command, err error, _ bool) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "flag provided but not defined: -")
	if unknown {
		var names []string
		for _, f := range c.Flags {
			names = append(names, f.Names()...)
		}
		text = fmt.Sprintf("%s has no flag -%s%s", c.FullName(), name, didYouMean(name, names))
		text = strings.Replace(text, `mean "`, `mean "-`, 1)
	}
	return usagef("%s\nnext: %s -h", plainFlagError(text), c.FullName())
}

// plainFlagError says in plain words what the flag library says in those of its parsers.
func plainFlagError(text string) string {
	flag := regexp.MustCompile(`for flag -(\S+?):? `).FindStringSubmatch(text)
	if !strings.HasPrefix(text, "invalid value ") || flag == nil {
		return text
	}
	want := "a value of another form"
	switch flag[1] {
	case "deadline":
		want = "a time with its unit, such as 20s"
	case "max-tokens":
		want = "a whole number, such as 500"
	}
	return fmt.Sprintf("-%s: want %s", flag[1], want)
}

// didYouMean names the candidate nearest to a mistyped word, if one is near.
func didYouMean(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance && d < max(len(c), 2) {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(`; did you mean "%s"?`, best)
}

// distance is the edit distance of two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
