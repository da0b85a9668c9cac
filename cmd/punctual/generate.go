package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

func (a *app) generate() *cli.Command {
	return &cli.Command{
		Name: "generate", CustomHelpTemplate: generateHelp, OnUsageError: usageError,
		DisableSliceFlagSeparator: true, // a file may have a comma in its name
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "c"},
			&cli.StringFlag{Name: "o"},
			&cli.StringFlag{Name: "only"},
			&cli.BoolFlag{Name: "stream"},
			&cli.BoolFlag{Name: "json"},
			&cli.BoolFlag{Name: "lines"},
			&cli.StringFlag{Name: "schema"},
			&cli.StringSliceFlag{Name: "file"},
			&cli.StringFlag{Name: "session"},
			&cli.DurationFlag{Name: "deadline"},
			&cli.StringFlag{Name: "system"},
			&cli.IntFlag{Name: "max-tokens"},
			&cli.BoolFlag{Name: "demo"},
			&cli.BoolFlag{Name: "no-color"},
			&cli.BoolFlag{Name: "v"},
		},
		Action: a.runGenerate,
	}
}

// caller is a client with the configuration that it was made from.
type caller struct {
	client *llm.Client
	opened *opened        // what is behind it; nil: the simulated cloud
	conf   *config.Config // likewise
	names  []string       // of its targets
	close  func()
}

func (a *app) runGenerate(ctx context.Context, c *cli.Command) error {
	by, err := a.caller(ctx, c)
	if err != nil {
		return err
	}
	defer by.close()
	req, err := a.request(ctx, c, operationNames(by.conf), by.names)
	if err != nil {
		return err
	}
	if c.Bool("lines") {
		return a.answerLines(ctx, by, req, c)
	}
	prompt, err := a.prompt(ctx, c.Args().First())
	if err != nil {
		return err
	}
	req.Messages[0].Parts = append(req.Messages[0].Parts, llm.Text{Text: prompt})
	return a.answer(ctx, by, req, c)
}

// caller opens the client of the file or the environment, or one over a simulated cloud.
func (a *app) caller(ctx context.Context, c *cli.Command) (*caller, error) {
	if !c.Bool("demo") {
		client, conf, err := a.open(ctx, c.String("c"))
		if err != nil {
			return nil, err
		}
		a.warnOf(conf)
		return &caller{client.Client, client, conf, targetNames(conf), func() { _ = client.Close() }}, nil // the program ends anyway
	}
	cloud := simulatedAzure("demo", time.Now(), demoAnswer(llm.Generation))
	t, err := cloud.open()
	if err != nil {
		cloud.server.Close()
		return nil, err
	}
	client, err := fallback.NewClient([]fallback.Target{*t}, nil)
	if err != nil {
		cloud.server.Close()
		return nil, err
	}
	return &caller{client, nil, nil, []string{t.Name}, func() { _ = t.Close(); cloud.server.Close() }}, nil
}

// warnOf tells of what looks wrong in a configuration.
func (a *app) warnOf(conf *config.Config) {
	for i := range conf.Warnings {
		fmt.Fprintln(a.stderr, "warning: "+warningWord(&conf.Warnings[i]))
	}
}

// answer runs the call and prints what comes of it. On a terminal it tells of the wait.
func (a *app) answer(ctx context.Context, by *caller, req *llm.Request, c *cli.Command) error {
	if d := c.Duration("deadline"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	w := a.waiter(a.trail(ctx, by, req, c))
	ctx = llm.WithObserver(ctx, w.observer())
	var resp *llm.Response
	var err error
	stop := w.start()
	if c.Bool("stream") || a.terminal && !c.Bool("json") && req.Output == nil {
		resp, err = a.printStream(by.client.Stream(ctx, req), stop)
	} else {
		resp, err = by.client.Generate(ctx, req)
	}
	stop()
	if err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			w.finish(e.Skipped)
		}
		return a.failed(err, by, c)
	}
	for _, w := range resp.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s: %s\n", w.Field, w.Message)
	}
	w.finish(resp.Skipped)
	switch {
	case c.Bool("json"):
		return a.printJSON(resp)
	case c.Bool("stream") || a.terminal && req.Output == nil:
		return nil
	default:
		_, err := io.WriteString(a.stdout, strings.TrimRight(resp.Text(), "\n")+"\n")
		return err
	}
}

// failed is the error of a call as a command ends with it. With -json it is printed, too.
func (a *app) failed(err error, by *caller, c *cli.Command) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	if c.Bool("json") {
		if err := a.printJSON(map[string]*llm.Error{"error": e}); err != nil {
			return err
		}
	}
	return &statusError{status: exitStatusOf(e), text: callErrorText(e, by.conf, c.Bool("v"), a.paint(c, a.errTerminal))}
}

// trail is what -v draws of a call, as it goes: one bar stands for all the time that the call may take. Without -v it
// is nil.
func (a *app) trail(ctx context.Context, by *caller, req *llm.Request, c *cli.Command) *timeline {
	if !c.Bool("v") {
		return nil
	}
	var plans policy.Plans
	if by.conf != nil {
		plans = by.conf.Plans
	}
	plan, _ := plans.For(req.Operation)
	targets := cmp.Or(len(req.Route.Only), len(plan.Targets), len(by.names))
	var left time.Duration
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end)
	}
	return &timeline{order: by.names, length: plan.Effective(targets, left).Total, paint: a.paint(c, a.errTerminal)}
}

// printStream prints text as it arrives and ends it with a line break. begins is called before the first of it.
func (a *app) printStream(s *llm.Stream, begins func()) (*llm.Response, error) {
	printed := false
	for text, err := range s.Text() {
		begins()
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
// to do. With verbose the trail was drawn as it came about, and the provider's own words are in it.
func callErrorText(e *llm.Error, conf *config.Config, verbose bool, p paint) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(e.Error(), "llm: ") + "\n")
	if len(e.Attempts) > 0 && !verbose {
		t := timeline{attempts: e.Attempts, skipped: e.Skipped, paint: p}
		_ = t.write(&b) // a Builder does not fail
	}
	if d := e.Detail(); verbose && d != "" {
		b.WriteString(wrapped("  the provider said: "+d, 8))
	}
	for i, line := range next(e, conf) {
		lead := "  next: "
		if i > 0 {
			lead = "        "
		}
		b.WriteString(wrapped(lead+line, 8))
	}
	return b.String()
}

// waitWord says how long something is being waited for.
func waitWord(elapsed, limit time.Duration) string {
	return fmt.Sprintf("%s of %s", span(elapsed), span(limit))
}
