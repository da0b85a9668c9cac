package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// demoScale divides the default limits, so that minutes become seconds.
const demoScale = 20

// slack is how late a call may be on a machine that is busy before the demo calls it late.
const slack = 250 * time.Millisecond

// heartbeat is how long the demo is silent at most.
const heartbeat = 2 * time.Second

func (a *app) demo() *cli.Command {
	return &cli.Command{
		Name: "demo", CustomHelpTemplate: demoHelp, OnUsageError: usageError,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}, &cli.BoolFlag{Name: "no-color"}},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return usagef("demo takes no arguments, but there is %q\nnext: punctual demo -h", c.Args().First())
			}
			d := &demonstration{app: a, json: c.Bool("json")}
			return d.run(ctx)
		},
	}
}

// demonstration is one run of the demo.
type demonstration struct {
	app  *app
	json bool

	start           time.Time
	calls, answered int
	ended, late     int
	faults          []string // what was not as promised
	table           map[string]*tally
	names           []string
	broken          error // of the first write that failed
}

// tally counts the attempts on one target.
type tally struct{ attempts, answered, timeout, limited, other int }

// demoCall is one call of the demo with what it promises.
type demoCall struct {
	title   string
	request *llm.Request
	stream  bool
	limit   time.Duration // of the whole call
	timeout time.Duration // the caller's deadline; 0: none
	want    llm.Kind
	verdict func(*outcomeOf) string
}

// outcomeOf is how a call of the demo went.
type outcomeOf struct {
	resp    *llm.Response
	err     *llm.Error
	trail   []llm.Attempt
	skipped []llm.Skip
	took    time.Duration
	first   time.Duration // until the first content; 0: not streamed
}

func scaled(d time.Duration) time.Duration { return d / demoScale }

// demoPlans are the default plans at 1/20, with the limit to first content that the text of the demo names.
func demoPlans() policy.Plans {
	limits := func(op llm.Operation) llm.Limits {
		plan, _ := policy.Plans{}.For(op)
		return llm.Limits{Attempt: scaled(plan.Limits.Attempt)}
	}
	generation := limits(llm.Generation)
	generation.FirstContent = scaled(15 * time.Second)
	return policy.Plans{Operations: map[llm.Operation]policy.Plan{
		llm.Triage:        {Limits: limits(llm.Triage)},
		llm.Orchestration: {Limits: limits(llm.Orchestration)},
		llm.Generation:    {Limits: generation},
	}}
}

func (d *demonstration) run(ctx context.Context) error {
	d.start, d.table = time.Now(), map[string]*tally{}
	plans := demoPlans()
	triage, _ := plans.For(llm.Triage)
	orchestration, _ := plans.For(llm.Orchestration)
	generation, _ := plans.For(llm.Generation)
	d.say(`Three simulated clouds on 127.0.0.1: real wire protocols, no keys, no network.
azure hangs, bedrock throttles, vertex answers. Limits are 1/%d of the defaults:
an attempt of triage %s, orchestration %s, generation %s; call 3
sets a limit to first content, too.

  # no content yet   = content arriving   . waiting   x cut by a limit
  Below each attempt: what the log of that cloud's server says of it.
`, demoScale, span(triage.Limits.Attempt), span(orchestration.Limits.Attempt),
		span(generation.Limits.Attempt))

	throttle := llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 6 * time.Second})
	accounts := []*simulated{
		simulatedAzure("azure", d.start, llmtest.Hang()),
		simulatedBedrock("bedrock", d.start, throttle),
		simulatedVertex("vertex", d.start, demoAnswer(llm.Triage), demoAnswer(llm.Orchestration), demoAnswer(llm.Generation)),
	}
	hanging := []*simulated{
		simulatedAzure("azure", d.start, llmtest.Hang()),
		simulatedBedrock("bedrock", d.start, llmtest.Hang()),
		simulatedVertex("vertex", d.start, llmtest.Hang()),
	}
	defer closeAll(append(accounts[:3:3], hanging...))
	answering, err := demoClient(accounts, plans)
	if err != nil {
		return err
	}
	silent, err := demoClient(hanging, plans)
	if err != nil {
		return err
	}
	for i, c := range demoCalls(plans) {
		client, at := answering, accounts
		if c.want != "" {
			client, at = silent, hanging
		}
		if err := d.call(ctx, i+1, c, client, at); err != nil {
			return err
		}
	}
	return d.close()
}

func closeAll(accounts []*simulated) {
	for _, s := range accounts {
		s.server.Close()
	}
}

// demoCalls are the calls in order.
func demoCalls(plans policy.Plans) []demoCall {
	ask := func(op llm.Operation, text string) *llm.Request {
		return &llm.Request{Operation: op, Messages: []llm.Message{llm.User(text)}}
	}
	limit := func(op llm.Operation) (time.Duration, time.Duration) {
		plan, _ := plans.For(op)
		return plan.Limits.Attempt, plan.Total(3)
	}
	triage, triageTotal := limit(llm.Triage)
	orchestration, orchestrationTotal := limit(llm.Orchestration)
	generation, _ := plans.For(llm.Generation)
	const deadline = time.Second
	return []demoCall{
		{
			title:   fmt.Sprintf("triage: %s an attempt, %s in all", span(triage), span(triageTotal)),
			request: ask(llm.Triage, "Urgent, normal or spam? The invoice is wrong."), limit: triageTotal,
			verdict: func(o *outcomeOf) string {
				return "answered in " + span(o.took) + "; the hang took its share, not the call"
			},
		},
		{
			title:   fmt.Sprintf("orchestration: %s an attempt, %s in all", span(orchestration), span(orchestrationTotal)),
			request: ask(llm.Orchestration, "Plan the steps to handle a wrong invoice."), limit: orchestrationTotal,
			verdict: func(o *outcomeOf) string {
				return "answered in " + span(o.took) + "; a longer limit for a longer task"
			},
		},
		{
			title:   fmt.Sprintf("generation, streamed: %s to first content a target", span(generation.Limits.FirstContent)),
			request: ask(llm.Generation, "Write the answer to the customer."), stream: true, limit: generation.Total(3),
			verdict: func(o *outcomeOf) string {
				return "first words after " + span(o.first) + ", complete after " + span(o.took)
			},
		},
		{
			title:   fmt.Sprintf("generation with a deadline of %s, and now all three hang", span(deadline)),
			request: ask(llm.Generation, "Write the answer to the customer."), limit: deadline, timeout: deadline,
			want: llm.ErrDeadlineExceeded,
			verdict: func(o *outcomeOf) string {
				return "ended at " + span(o.took) + " with an error that says all this; a third of it each"
			},
		},
	}
}

// call runs one call and shows it.
func (d *demonstration) call(ctx context.Context, n int, c demoCall, client *llm.Client, accounts []*simulated) error {
	d.say("\n%d  %s\n", n, c.title)
	if d.broken != nil { // nobody reads on
		return d.broken
	}
	before := make([]int, len(accounts))
	for i, s := range accounts {
		before[i] = len(s.server.Requests())
	}
	o := d.watch(ctx, client, c)
	var logs []cloud.Request
	var err error
	if ctx.Err() == nil {
		logs, err = serverLogs(ctx, accounts, before, o.trail)
	}
	switch {
	case ctx.Err() != nil:
		return d.interrupted(n, o)
	case err != nil:
		return err
	}
	return d.judge(n, c, o, logs)
}

// judge counts a call, shows it, and remembers what was not as promised.
func (d *demonstration) judge(n int, c demoCall, o *outcomeOf, logs []cloud.Request) error {
	faults := d.count(c, o, logs)
	for _, f := range faults {
		d.faults = append(d.faults, fmt.Sprintf("call %d %s", n, f))
	}
	return d.show(n, c, o, logs, faults)
}

func demoClient(accounts []*simulated, plans policy.Plans) (*llm.Client, error) {
	targets := make([]fallback.Target, len(accounts))
	for i, s := range accounts {
		t, err := s.open()
		if err != nil {
			return nil, err
		}
		targets[i] = *t
	}
	return fallback.NewClient(targets, &fallback.Options{Plans: plans})
}

// watch runs the call and says every two seconds what it waits for, so that nobody takes it for frozen.
func (d *demonstration) watch(ctx context.Context, client *llm.Client, c demoCall) *outcomeOf {
	var mu sync.Mutex
	var current llm.Attempt
	ctx = llm.WithObserver(ctx, &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			mu.Lock()
			defer mu.Unlock()
			current = *a
			return ctx
		},
	})
	done := make(chan *outcomeOf, 1)
	go func() { done <- runDemoCall(ctx, client, c) }()
	tick := time.NewTicker(d.period())
	defer tick.Stop()
	for {
		select {
		case o := <-done:
			d.erase()
			return o
		case <-tick.C:
			mu.Lock()
			a := current
			mu.Unlock()
			if !a.Start.IsZero() {
				d.waiting(fmt.Sprintf("  %s: no end yet, %s", a.Target, waitWord(time.Since(a.Start), a.Limit)))
			}
		}
	}
}

func runDemoCall(ctx context.Context, client *llm.Client, c demoCall) *outcomeOf {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	o, start := &outcomeOf{}, time.Now()
	var err error
	if c.stream {
		s := client.Stream(ctx, c.request)
		for e, eventErr := range s.Events() {
			if eventErr == nil && o.first == 0 && e.Kind == llm.EventText {
				o.first = time.Since(start)
			}
		}
		o.resp, err = s.Response()
	} else {
		o.resp, err = client.Generate(ctx, c.request)
	}
	o.took = time.Since(start)
	if e, ok := errors.AsType[*llm.Error](err); ok {
		o.err, o.trail, o.skipped = e, e.Attempts, e.Skipped
	} else if o.resp != nil {
		o.trail, o.skipped = o.resp.Attempts, o.resp.Skipped
	}
	return o
}

// serverLogs finds for each attempt what its server saw. A server hears a little later than the client that
// the client left, so it is waited for.
func serverLogs(ctx context.Context, accounts []*simulated, seen []int, trail []llm.Attempt) ([]cloud.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	logs := make([]cloud.Request, len(trail))
	for i := range trail {
		for j, s := range accounts {
			if s.name != trail[i].Target {
				continue
			}
			seen[j]++
			if err := s.server.Wait(ctx, seen[j]); err != nil {
				return nil, fmt.Errorf("the log of %s has no end of request %d: %w", s.name, seen[j], err)
			}
			logs[i] = s.server.Requests()[seen[j]-1]
		}
	}
	return logs, nil
}

// show prints a call as text, or as one JSON object for each attempt and one for the call.
func (d *demonstration) show(n int, c demoCall, o *outcomeOf, logs []cloud.Request, faults []string) error {
	if d.json {
		return d.showJSON(n, c, o, logs, faults)
	}
	answered := "answered"
	if o.resp != nil {
		answered = fmt.Sprintf("answered, %d tokens", o.resp.Usage.Output)
	}
	t := timeline{
		attempts: o.trail, skipped: o.skipped, answered: answered,
		under: func(i int) string { return "server: " + serverWords(logs[i]) },
	}
	if err := t.write(d.app.stdout); err != nil {
		return err
	}
	for _, f := range faults {
		d.say("  !! call %d %s\n", n, f)
	}
	if len(faults) == 0 {
		d.say("  -> %s\n", c.verdict(o))
	}
	return d.broken
}

// interrupted shows the trail so far after Ctrl-C.
func (d *demonstration) interrupted(n int, o *outcomeOf) error {
	var err error
	switch {
	case len(o.trail) == 0:
	case d.json:
		err = d.showAttempts(n, o, nil)
	default:
		t := timeline{attempts: o.trail, skipped: o.skipped}
		err = t.write(d.app.stdout)
	}
	if err != nil {
		return err
	}
	return &statusError{exitInterrupted, "interrupted"}
}

// close prints the sum of all calls. It fails if any limit was overrun.
func (d *demonstration) close() error {
	took := time.Since(d.start)
	d.say("\n%d calls in %s: %d answered, %d ended at its deadline, %d ran past a limit.\n\n", d.calls, span(took), d.answered, d.ended, d.late)
	d.say("  %s\n", "target      attempts  answered  timeout  rate_limited  deadline_exceeded")
	for _, name := range d.names {
		t := d.table[name]
		d.say("  %s  %8d  %8d  %7d  %12d  %17d\n", pad(name, 10), t.attempts, t.answered, t.timeout, t.limited, t.other)
	}
	d.say(`
Next: punctual generate -demo "Hello"   a call of your own, simulated
      punctual sim -- COMMAND           your program against simulated clouds
      README.md                         the same from Go
`)
	if len(d.faults) > 0 {
		return &statusError{exitFailed, "the demo is not as promised:\n  " + strings.Join(d.faults, "\n  ") +
			"\nnext: run it once more on a machine that is not busy; if it stays so, report it"}
	}
	return d.broken
}

// say prints for people; with -json nobody listens.
func (d *demonstration) say(format string, args ...any) {
	if !d.json {
		d.print(fmt.Sprintf(format, args...))
	}
}

// print remembers the first write that fails, so that a demo whose reader has left can end.
func (d *demonstration) print(text string) {
	if _, err := io.WriteString(d.app.stdout, text); err != nil && d.broken == nil {
		d.broken = err
	}
}

// period is how often a wait is told of.
func (d *demonstration) period() time.Duration {
	if d.app.terminal {
		return 100 * time.Millisecond
	}
	return heartbeat
}

// waiting tells of a wait: on a terminal in one line that is written over, elsewhere in a line of its own.
func (d *demonstration) waiting(line string) {
	switch {
	case d.json:
	case d.app.terminal:
		d.print("\r" + pad(line, 78))
	default:
		d.say("%s\n", line)
	}
}

// erase takes the line of waiting away again.
func (d *demonstration) erase() {
	if d.app.terminal && !d.json {
		d.print("\r" + strings.Repeat(" ", 78) + "\r")
	}
}
