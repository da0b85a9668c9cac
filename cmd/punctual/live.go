package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/llm"
)

// liveLimit is what one target has to answer in.
const liveLimit = 30 * time.Second

// asked is what one target made of one short call.
type asked struct {
	target  string
	took    time.Duration
	version string // the model that answered
	err     *llm.Error
}

// askEach sends one short call to each target, all at once: each is asked alone, and once.
func (a *app) askEach(ctx context.Context, client *opened, targets []string) []asked {
	w := a.waiter(nil)
	ctx = llm.WithObserver(ctx, w.observer())
	defer w.start()()
	results := make([]asked, len(targets))
	var calls sync.WaitGroup
	for i, name := range targets {
		calls.Go(func() {
			start := time.Now()
			resp, err := client.Generate(ctx, &llm.Request{
				Messages: []llm.Message{llm.User("Answer with the word ok.")}, MaxTokens: 64,
				Limits: llm.Limits{Attempt: liveLimit, FirstContent: liveLimit, Total: liveLimit, Tries: 1},
				Route:  llm.Route{Only: []string{name}},
			})
			results[i] = asked{target: name, took: time.Since(start)}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				results[i].err = e
			} else {
				results[i].version = resp.ModelVersion
			}
		})
	}
	calls.Wait()
	return results
}

// word is how it ended, as a trail says it.
func (r *asked) word() string {
	if r.err == nil {
		return "answered"
	}
	return outcome(&llm.Attempt{Kind: r.err.Kind, Bound: r.err.Bound, Status: r.err.Status}, "")
}

// showLive prints what the targets answered. It fails if one of them did not.
func (a *app) showLive(r *report, results []asked) error {
	var b strings.Builder
	rows := [][]string{{"target", "outcome", "took", "model that answered"}}
	answered := 0
	for i := range results {
		took := span(results[i].took)
		if results[i].err != nil && results[i].err.NotSent {
			took = "-"
		}
		if results[i].err == nil {
			answered++
		}
		rows = append(rows, []string{results[i].target, results[i].word(), took, results[i].version})
	}
	var table strings.Builder
	writeTable(&table, rows, "llrl")
	lines := strings.SplitAfter(table.String(), "\n")
	b.WriteString("\n" + lines[0])
	for i := range results {
		b.WriteString(lines[i+1])
		if e := results[i].err; e != nil {
			for _, line := range r.nextLive(e) {
				b.WriteString(wrapped("  next: "+line, 8))
			}
		}
	}
	fmt.Fprintf(&b, "%d of %s answered.\n", answered, count(len(results), "target"))
	if _, err := fmt.Fprint(a.stdout, b.String()); err != nil {
		return err
	}
	return liveStatus(results)
}

// nextLive says what to do about the target of a row: with less around it than behind a call that asked several, and
// without the limits of -live itself, which no setting lengthens.
func (r *report) nextLive(e *llm.Error) []string {
	if e.Kind == llm.ErrTimeout && e.Bound != "" {
		return []string{fmt.Sprintf("%s was silent for the %s that -live waits: try generate -only %[1]s -v", e.Target, liveLimit)}
	}
	if e.Kind == llm.ErrNotFound && providerOf(r.conf, e.Target) == "azure" {
		path := "targets." + e.Target
		place := strings.Trim(line(r.conf, path+".deployment"), " ()")
		return []string{fmt.Sprintf("create the deployment %s, or correct %s", r.models[e.Target].Model,
			cmp.Or(place, setting(r.conf, path, "deployment")))}
	}
	for _, t := range r.targets {
		if e.Kind == llm.ErrAuth && e.NotSent && t.name == e.Target && !t.needs.found {
			return []string{t.needs.next}
		}
	}
	return next(e, r.conf)
}

// liveStatus is what is most in need of somebody: what has to be mended, or else the first failure.
func liveStatus(results []asked) error {
	status := exitDone
	for i := range results {
		if results[i].err != nil {
			status = graver(status, exitStatusOf(results[i].err))
		}
	}
	return statusOrNil(status)
}

// The JSON of check: a line for each plan, target, warning, and with -live answer.
type (
	planJSON struct {
		Plan       string   `json:"plan"`
		Attempt    string   `json:"attempt"`
		AttemptIs  string   `json:"attempt_from"`
		Total      string   `json:"total"`
		Tries      int      `json:"tries"`
		Hang       string   `json:"hang,omitempty"`
		Shortened  bool     `json:"shortened,omitempty"`
		TargetList []string `json:"targets"`
	}
	targetJSON struct {
		Target string       `json:"target"`
		Model  llm.ModelRef `json:"model"`
		Needs  string       `json:"needs"`
		Found  bool         `json:"found"`
	}
	warningJSON struct {
		Warning string `json:"warning"`
		Next    string `json:"next,omitempty"`
	}
	answerJSON struct {
		Target  string     `json:"target"`
		Outcome string     `json:"outcome"`
		Took    string     `json:"took"`
		Version string     `json:"model_version,omitempty"`
		Error   *llm.Error `json:"error,omitempty"`
	}
)

// checkJSON prints the report as one object a line.
func (a *app) checkJSON(ctx context.Context, c *cli.Command, r *report, client *opened) error {
	var lines []any
	for i := range r.plans {
		p := &r.plans[i]
		lines = append(lines, planJSON{
			Plan: p.name, Attempt: p.plan.Limits.Attempt.String(), AttemptIs: r.conf.Origin("plans." + p.name + ".attempt"),
			Total: p.effective.Total.String(), Tries: p.effective.Tries, Hang: orNothing(p.effective.HangCost),
			Shortened: p.shortened, TargetList: p.targets,
		})
	}
	for _, t := range r.targets {
		lines = append(lines, targetJSON{t.name, r.models[t.name], t.needs.String(), t.needs.found})
	}
	for _, w := range r.warnings {
		lines = append(lines, warningJSON{w.text, w.next})
	}
	var results []asked
	if c.Bool("live") {
		results = a.askEach(ctx, client, r.names)
	}
	for i := range results {
		lines = append(lines, answerJSON{results[i].target, results[i].word(), results[i].took.String(), results[i].version, results[i].err})
	}
	for _, line := range lines {
		if err := a.printJSON(line); err != nil {
			return err
		}
	}
	return liveStatus(results)
}
