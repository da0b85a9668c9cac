package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
)

// maxPrompt bounds what is read from standard input.
const maxPrompt = 16 << 20

func (a *app) generate() *cli.Command {
	return &cli.Command{
		Name: "generate", CustomHelpTemplate: generateHelp, OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o"},
			&cli.StringFlag{Name: "only"},
			&cli.BoolFlag{Name: "stream"},
			&cli.BoolFlag{Name: "json"},
			&cli.DurationFlag{Name: "deadline"},
			&cli.StringFlag{Name: "system"},
			&cli.IntFlag{Name: "max-tokens"},
			&cli.BoolFlag{Name: "demo"},
			&cli.BoolFlag{Name: "v"},
		},
		Action: a.runGenerate,
	}
}

func (a *app) runGenerate(ctx context.Context, c *cli.Command) error {
	req, err := a.request(ctx, c)
	if err != nil {
		return err
	}
	targets, closeAll, err := a.targets(c.Bool("demo"))
	if err != nil {
		return err
	}
	defer closeAll()
	if req.Route.Only, err = only(c.String("only"), targets); err != nil {
		return err
	}
	client, err := fallback.NewClient(targets, nil)
	if err != nil {
		return err
	}
	if d := c.Duration("deadline"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	return a.answer(ctx, client, req, c)
}

// request builds the request of the command line.
func (a *app) request(ctx context.Context, c *cli.Command) (*llm.Request, error) {
	op, err := operation(c.String("o"))
	if err != nil {
		return nil, err
	}
	switch {
	case c.IsSet("deadline") && c.Duration("deadline") <= 0:
		return nil, usagef("-deadline: want a time above 0, such as 20s")
	case c.Int("max-tokens") < 0:
		return nil, usagef("-max-tokens: want a number above 0")
	case c.Bool("json") && c.Bool("stream"):
		return nil, usagef("-json prints one whole object: leave -stream out")
	case c.Args().Len() > 1:
		return nil, usagef("there are %d prompts; put one prompt in quotes, flags in front of it", c.Args().Len())
	}
	prompt, err := a.prompt(ctx, c.Args().First())
	if err != nil {
		return nil, err
	}
	return &llm.Request{
		Operation: op, System: c.String("system"), MaxTokens: c.Int("max-tokens"),
		Messages: []llm.Message{llm.User(prompt)},
	}, nil
}

// operation checks the name of an operation: unlike the library, which runs an unknown one on the default
// plan, the command takes it for a slip of the finger.
func operation(name string) (llm.Operation, error) {
	known := []string{string(llm.Triage), string(llm.Orchestration), string(llm.Generation)}
	if name == "" || name == "default" {
		return "", nil
	}
	if !slices.Contains(known, name) {
		return "", usagef("-o: there is no operation %q%s\nnext: use default, %s", name, didYouMean(name, known), strings.Join(known, ", "))
	}
	return llm.Operation(name), nil
}

// only reads the names of the targets to ask, "" for all.
func only(list string, targets []fallback.Target) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	var known, names []string
	for _, t := range targets {
		known = append(known, t.Name)
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, usagef("-only: no target is named %q%s\nnext: use %s", name, didYouMean(name, known), strings.Join(known, ", "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (a *app) prompt(ctx context.Context, arg string) (string, error) {
	if arg == "" || arg == "-" {
		data, err := a.readInput(ctx)
		switch {
		case ctx.Err() != nil:
			return "", &statusError{exitInterrupted, "interrupted"}
		case err != nil:
			return "", fmt.Errorf("reading the prompt from standard input: %w", err)
		case len(data) > maxPrompt:
			return "", usagef("the prompt on standard input is longer than %d MB", maxPrompt>>20)
		}
		arg = string(data)
	}
	switch {
	case strings.TrimSpace(arg) == "":
		return "", usagef("the prompt is empty\nnext: punctual generate \"…\", or give it on standard input")
	case !utf8.ValidString(arg):
		return "", usagef("the prompt is no UTF-8 text\nnext: convert it first, for example with iconv")
	}
	return arg, nil
}

// readInput reads standard input. A read cannot be interrupted, so it is left behind when ctx ends: the
// program ends with it.
func (a *app) readInput(ctx context.Context) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(a.stdin, maxPrompt+1))
		read <- result{data, err}
	}()
	select {
	case r := <-read:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// targets are those of the environment, or one simulated cloud.
func (a *app) targets(demo bool) (targets []fallback.Target, closeAll func(), err error) {
	if demo {
		cloud := simulatedAzure("demo", time.Now(), demoAnswer(llm.Generation))
		t, err := cloud.open()
		if err != nil {
			cloud.server.Close()
			return nil, nil, err
		}
		return []fallback.Target{*t}, cloud.server.Close, nil
	}
	targets, err = environmentTargets(a.getenv)
	switch {
	case err != nil:
		if _, ok := errors.AsType[*statusError](err); ok {
			return nil, nil, err
		}
		return nil, nil, configf("%s", err.Error())
	case len(targets) == 0:
		return nil, nil, configf(errNoProvider)
	}
	return targets, func() { closeTargets(targets) }, nil
}

func closeTargets(targets []fallback.Target) {
	for _, t := range targets {
		if t.Close != nil {
			_ = t.Close() // the program ends anyway
		}
	}
}

// answer runs the call and prints what comes of it.
func (a *app) answer(ctx context.Context, client *llm.Client, req *llm.Request, c *cli.Command) error {
	var resp *llm.Response
	var err error
	if c.Bool("stream") {
		resp, err = a.printStream(client.Stream(ctx, req))
	} else {
		resp, err = client.Generate(ctx, req)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		if c.Bool("json") {
			if err := a.printJSON(map[string]*llm.Error{"error": e}); err != nil {
				return err
			}
		}
		return &statusError{exitStatusOf(e), callErrorText(e, c.Bool("v"))}
	}
	if err != nil {
		return err
	}
	for _, w := range resp.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s: %s\n", w.Field, w.Message)
	}
	switch {
	case c.Bool("json"):
		return a.printJSON(resp)
	case c.Bool("stream"):
		return nil
	default:
		_, err := io.WriteString(a.stdout, strings.TrimRight(resp.Text(), "\n")+"\n")
		return err
	}
}

// printStream prints text as it arrives and ends it with a line break.
func (a *app) printStream(s *llm.Stream) (*llm.Response, error) {
	printed := false
	for text, err := range s.Text() {
		if err != nil {
			if printed {
				fmt.Fprintln(a.stdout)
			}
			return nil, err
		}
		printed = true
		if _, err := io.WriteString(a.stdout, text); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(a.stdout, "\n"); err != nil {
		return nil, err
	}
	return s.Response()
}

func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := b.WriteTo(a.stdout)
	return err
}

// callErrorText is the error of a call as a person reads it: what happened on one line, the trail, and what
// to do. Only with verbose does it hold the provider's own words.
func callErrorText(e *llm.Error, verbose bool) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(e.Error(), "llm: ") + "\n")
	if len(e.Attempts) > 0 {
		t := timeline{attempts: e.Attempts, skipped: e.Skipped}
		_ = t.write(&b) // a Builder does not fail
	}
	if d := e.Detail(); verbose && d != "" {
		b.WriteString("  the provider said: " + d + "\n")
	}
	for i, line := range next(e) {
		lead := "  next: "
		if i > 0 {
			lead = "        "
		}
		b.WriteString(lead + line + "\n")
	}
	return b.String()
}

// waitWord says how long something is being waited for.
func waitWord(elapsed, limit time.Duration) string {
	return fmt.Sprintf("%s of %s", span(elapsed), span(limit))
}
