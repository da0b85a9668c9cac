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

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

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
			d := &demonstration{app: a, json: c.Bool("json"), paint: a.paint(c, a.terminal)}
			return d.run(ctx)
		},
	}
}

// demonstration is one run of the demo.
type demonstration struct {
	app   *app
	json  bool
	paint paint

	start           time.Time
	calls, answered int
	ended, late     int
	faults          []string // what was not as promised
	table           map[string]*tally
	first           time.Duration // what the first call took
	broken          error         // of the first write that failed
}

// side is a chain over three simulated accounts.
type side struct {
	accounts []*simulated
	chain    *fallback.Chain
	client   *llm.Client
	counted  bool // in the closing table
}

// outcomeOf is how a call of the demo went.
type outcomeOf struct {
	resp    *llm.Response
	err     *llm.Error
	trail   []llm.Attempt
	skipped []llm.Skip
	took    time.Duration
	first   time.Duration   // until the first content; 0: not streamed
	logs    []cloud.Request // of the servers, one for each attempt
}

func (d *demonstration) run(ctx context.Context) error {
	d.start, d.table = time.Now(), map[string]*tally{}
	plans := demoPlans()
	d.say(`Three simulated clouds on 127.0.0.1: real wire protocols, no keys, no network.
azure hangs, bedrock throttles and asks for %s of rest, vertex answers.
Limits are 1/%d of the defaults: an attempt of triage %s, orchestration
%s, generation %s; call 3 sets a limit to first content, too.

  # no content yet   = content arriving   . waiting   x cut by a limit
  Below each attempt: what the log of that cloud's server says of it.
`, span(demoRest), demoScale, span(attemptOf(plans, llm.Triage)), span(attemptOf(plans, llm.Orchestration)),
		span(attemptOf(plans, llm.Generation)))
	answering, err := openSide(plans, demoAccounts(d.start))
	if err != nil {
		return err
	}
	defer answering.close()
	answering.counted = true
	silent, err := openSide(plans, hangingAccounts(d.start))
	if err != nil {
		return err
	}
	defer silent.close()
	for i, c := range demoCalls(plans) {
		at := answering
		if c.want != "" {
			at = silent
		}
		if err := d.call(ctx, i+1, c, at); err != nil {
			return err
		}
	}
	return d.close(answering.chain.Status())
}

// openSide opens a chain over accounts, and closes them if that fails.
func openSide(plans policy.Plans, accounts []*simulated) (*side, error) {
	s := &side{accounts: accounts}
	targets := make([]fallback.Target, len(accounts))
	for i, account := range accounts {
		t, err := account.open()
		if err != nil {
			s.close()
			return nil, err
		}
		targets[i] = *t
	}
	chain, err := fallback.New(targets, &fallback.Options{
		Plans: plans, Breakers: breaker.NewSet(&breaker.Options{OpenFor: scaled(breakerOpenFor)}),
	})
	if err != nil {
		s.close()
		return nil, err
	}
	s.chain, s.client = chain, llm.NewClient(chain, nil)
	return s, nil
}

func (s *side) close() {
	if s.chain != nil {
		_ = s.chain.Close(context.Background()) // every call has ended
	}
	for _, account := range s.accounts {
		account.server.Close()
	}
}

// names are those of the targets, in order.
func (s *side) names() []string {
	names := make([]string, len(s.accounts))
	for i, account := range s.accounts {
		names[i] = account.name
	}
	return names
}

// call runs one call, or several at once, and shows it.
func (d *demonstration) call(ctx context.Context, n int, c demoCall, at *side) error {
	d.say("\n%d  %s\n", n, c.title)
	if d.broken != nil { // nobody reads on
		return d.broken
	}
	before := make([]int, len(at.accounts))
	for i, s := range at.accounts {
		before[i] = len(s.server.Requests())
	}
	outcomes := d.watch(ctx, at.client, c)
	var err error
	if ctx.Err() == nil {
		err = serverLogs(ctx, at.accounts, before, outcomes)
	}
	switch {
	case ctx.Err() != nil:
		return d.interrupted(n, at, outcomes[0])
	case err != nil:
		return err
	}
	return d.judge(n, c, at, at.chain.Status(), outcomes)
}

// judge counts a call, shows it, and remembers what was not as promised. Of calls at once it shows one.
func (d *demonstration) judge(n int, c demoCall, at *side, status []fallback.Status, outcomes []*outcomeOf) error {
	if n == 1 {
		d.first = outcomes[0].took
	}
	drawn, faults := outcomes[0], []string(nil)
	for _, o := range outcomes {
		found := d.count(c, at, o)
		if len(faults) == 0 && len(found) > 0 {
			drawn = o
		}
		faults = append(faults, found...)
	}
	if got := breakerWords(&status[0]); got != c.breaker {
		faults = append(faults, fmt.Sprintf("leaves %s's breaker %s instead of %s", status[0].Target, got, c.breaker))
	}
	for _, f := range faults {
		d.faults = append(d.faults, fmt.Sprintf("call %d %s", n, f))
	}
	if d.json {
		return d.showJSON(n, c, status, outcomes, faults)
	}
	return d.show(n, c, at, drawn, faults)
}

// watch runs the call and says every two seconds what it waits for, so that nobody takes it for frozen.
func (d *demonstration) watch(ctx context.Context, client *llm.Client, c demoCall) []*outcomeOf {
	var mu sync.Mutex
	var current llm.Attempt // zero: none is under way
	ctx = llm.WithObserver(ctx, &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			mu.Lock()
			defer mu.Unlock()
			current = *a
			return ctx
		},
		AttemptEnd: func(context.Context, *llm.Attempt, error) {
			mu.Lock()
			defer mu.Unlock()
			current = llm.Attempt{}
		},
	})
	outcomes := make([]*outcomeOf, max(c.times, 1))
	var calls sync.WaitGroup
	for i := range outcomes {
		calls.Go(func() { outcomes[i] = runDemoCall(ctx, client, c) })
	}
	done := make(chan struct{})
	go func() { calls.Wait(); close(done) }()
	tick := time.NewTicker(d.period())
	defer tick.Stop()
	for {
		select {
		case <-done:
			d.erase()
			return outcomes
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
	if c.execution > 0 {
		var cancel context.CancelFunc
		ctx, cancel = deadline.With(ctx, c.execution, nil)
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
// the client left, so it is waited for. Attempts of calls at once are alike, so it does not matter which of
// them is which request.
func serverLogs(ctx context.Context, accounts []*simulated, seen []int, outcomes []*outcomeOf) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	requests := map[string][]cloud.Request{}
	for i, s := range accounts {
		n := seen[i]
		for _, o := range outcomes {
			for j := range o.trail {
				if o.trail[j].Target == s.name {
					n++
				}
			}
		}
		if err := s.server.Wait(ctx, n); err != nil {
			return fmt.Errorf("the log of %s has no end of request %d: %w", s.name, n, err)
		}
		requests[s.name] = s.server.Requests()[seen[i]:]
	}
	for _, o := range outcomes {
		for i := range o.trail {
			name := o.trail[i].Target
			o.logs = append(o.logs, requests[name][0])
			requests[name] = requests[name][1:]
		}
	}
	return nil
}

// show prints a call as text.
func (d *demonstration) show(n int, c demoCall, at *side, o *outcomeOf, faults []string) error {
	answered := "answered"
	if o.resp != nil {
		answered = fmt.Sprintf("answered, %d tokens", o.resp.Usage.Output)
	}
	t := timeline{
		attempts: o.trail, skipped: o.skipped, order: at.names(), answered: answered, paint: d.paint,
		under: func(i int) string { return "server: " + serverWords(o.logs[i]) },
	}
	if err := t.write(d.app.stdout); err != nil {
		return err
	}
	for _, f := range faults {
		d.say("  !! call %d %s\n", n, f)
	}
	if len(faults) == 0 {
		d.say("  -> %s\n", c.verdict(d, o))
	}
	return d.broken
}

// interrupted shows the trail so far after Ctrl-C.
func (d *demonstration) interrupted(n int, at *side, o *outcomeOf) error {
	var err error
	switch {
	case len(o.trail) == 0:
	case d.json:
		err = d.showAttempts(n, o)
	default:
		t := timeline{attempts: o.trail, skipped: o.skipped, order: at.names(), paint: d.paint}
		err = t.write(d.app.stdout)
	}
	if err != nil {
		return err
	}
	return &statusError{status: exitInterrupted, text: "interrupted"}
}

// close prints the sum of all calls. It fails if any limit was overrun.
func (d *demonstration) close(targets []fallback.Status) error {
	took := time.Since(d.start)
	d.say("\n%d calls in %s: %d answered, %d ended at its deadline, %d ran past a limit.\n\n", d.calls, span(took), d.answered, d.ended, d.late)
	d.say("  %s\n", "target   attempts  answered  timeout  rate_limited  unavailable  breaker")
	for i := range targets {
		s, t := &targets[i], d.table[targets[i].Target]
		if t == nil {
			continue
		}
		state := strings.ReplaceAll(string(s.State), "_", " ")
		if s.State == breaker.Open {
			state += ", " + span(time.Until(s.OpenUntil))
		}
		d.say("  %s  %8d  %8d  %7d  %12d  %11d  %s\n", pad(s.Target, 7), t.attempts, t.answered, t.timeout, t.limited, t.unavailable, state)
	}
	d.say(`  (call 7 has clouds and a client of its own, and is not in this table)

Next: punctual generate -demo "Hello"   a call of your own, simulated
      punctual init                     an llm.yaml for your own targets
      punctual check                    what it comes to, and what a hang costs
      docs/quickstart.md                the same from Go
`)
	if len(d.faults) > 0 {
		return &statusError{status: exitFailed, text: "the demo is not as promised:\n  " + strings.Join(d.faults, "\n  ") +
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
