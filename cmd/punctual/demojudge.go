package main

import (
	"fmt"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// mismatch says where a server's log contradicts the client's trail, "" if they agree. The log counts its times
// from epoch.
func mismatch(a *llm.Attempt, r *cloud.Request, epoch time.Time) string {
	status := a.Status
	if a.Kind == "" {
		status = 200
	}
	cut := a.Bound != ""
	switch {
	case !cut && r.Status != status:
		return fmt.Sprintf("%s: the client tells of status %d, the server of %d", a.Target, status, r.Status)
	case cut != r.Gone:
		return fmt.Sprintf("%s: cut by the client: %t, seen by the server: %t", a.Target, cut, r.Gone)
	case (a.Took - r.Took).Abs() > slack:
		return fmt.Sprintf("%s: the client waited %s, the server worked %s", a.Target, span(a.Took), span(r.Took))
	case (a.Start.Sub(epoch) - r.Time).Abs() > slack:
		return fmt.Sprintf("%s: the client began at %s, the server at %s", a.Target, span(a.Start.Sub(epoch)), span(r.Time))
	}
	return ""
}

// count adds a call to the closing table and returns what was not as promised.
func (d *demonstration) count(c demoCall, o *outcomeOf, logs []cloud.Request) (faults []string) {
	d.calls++
	switch kind := llm.KindOf(errorOrNil(o.err)); {
	case kind != c.want:
		faults = append(faults, fmt.Sprintf("ended with %s instead of %s", orAnswered(kind), orAnswered(c.want)))
	case kind == "":
		d.answered++
	default:
		d.ended++
	}
	if over := o.took - c.limit; over > slack {
		d.late++
		faults = append(faults, fmt.Sprintf("ran %s past its limit of %s", span(over), span(c.limit)))
	}
	for i := range o.trail {
		if words := mismatch(&o.trail[i], &logs[i], d.start); words != "" {
			faults = append(faults, "is told in two ways: "+words)
		}
		d.tally(&o.trail[i])
	}
	return faults
}

func errorOrNil(e *llm.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func orAnswered(k llm.Kind) string {
	if k == "" {
		return "an answer"
	}
	return string(k)
}

func (d *demonstration) tally(a *llm.Attempt) {
	t := d.table[a.Target]
	if t == nil {
		t = &tally{}
		d.table[a.Target] = t
		d.names = append(d.names, a.Target)
	}
	t.attempts++
	switch a.Kind {
	case "":
		t.answered++
	case llm.ErrTimeout:
		t.timeout++
	case llm.ErrRateLimited:
		t.limited++
	default:
		t.other++
	}
}
