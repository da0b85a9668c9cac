package main

import (
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
)

// demoAttemptJSON is a line of `punctual demo -json`: an attempt, and what the server saw of it.
type demoAttemptJSON struct {
	Call    int              `json:"call"`
	Attempt llm.Attempt      `json:"attempt"`
	Server  *demoRequestJSON `json:"server,omitempty"` // not there if the demo was interrupted
}

type demoRequestJSON struct {
	N      int    `json:"n"`
	At     string `json:"at"`
	Path   string `json:"path"`
	Stream bool   `json:"stream,omitempty"`
	Status int    `json:"status,omitempty"` // 0: nothing was sent
	Took   string `json:"took"`
	Gone   bool   `json:"gone,omitempty"` // the client left before the end
}

// demoCallJSON is the line that closes a call.
type demoCallJSON struct {
	Call      int              `json:"call"`
	Operation llm.Operation    `json:"operation"`
	Limit     string           `json:"limit"`
	Took      string           `json:"took"`
	Late      bool             `json:"late,omitempty"`
	Faults    []string         `json:"faults,omitempty"` // what was not as promised
	Kind      llm.Kind         `json:"kind,omitempty"`   // "": it answered
	Skipped   []llm.Skip       `json:"skipped,omitempty"`
	Error     *llm.Error       `json:"error,omitempty"`
	Targets   []demoTargetJSON `json:"targets"` // after the call
}

type demoTargetJSON struct {
	Target  string        `json:"target"`
	Breaker breaker.State `json:"breaker"`
	Score   float64       `json:"score"`
	Cooled  llm.Kind      `json:"cooled,omitempty"` // what it is left alone for
}

func (d *demonstration) showJSON(n int, c demoCall, status []fallback.Status, outcomes []*outcomeOf, faults []string) error {
	targets := make([]demoTargetJSON, len(status))
	for i, s := range status {
		targets[i] = demoTargetJSON{s.Target, s.State, s.Score, s.Cooled}
	}
	for _, o := range outcomes {
		if err := d.showAttempts(n, o); err != nil {
			return err
		}
		err := d.app.printJSON(demoCallJSON{
			Call: n, Operation: c.request.Operation, Limit: c.limit.String(), Took: o.took.Round(time.Microsecond).String(),
			Late: o.took-c.limit > slack, Faults: faults, Kind: llm.KindOf(errorOrNil(o.err)), Skipped: o.skipped,
			Error: o.err, Targets: targets,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// showAttempts prints the trail, with what the servers say of it if that is known.
func (d *demonstration) showAttempts(n int, o *outcomeOf) error {
	for i, attempt := range o.trail {
		line := demoAttemptJSON{Call: n, Attempt: attempt}
		if i < len(o.logs) {
			r := o.logs[i]
			line.Server = &demoRequestJSON{r.N, r.Time.String(), r.Path, r.Stream, r.Status, r.Took.String(), r.Gone}
		}
		if err := d.app.printJSON(line); err != nil {
			return err
		}
	}
	return nil
}
