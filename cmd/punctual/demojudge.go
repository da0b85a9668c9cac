package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/fallback"
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
func (d *demonstration) count(c demoCall, at *side, o *outcomeOf) (faults []string) {
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
	if got := o.rowWords(at.names()); !slices.Equal(got, c.rows) {
		faults = append(faults, fmt.Sprintf("went %s instead of %s", strings.Join(got, ", "), strings.Join(c.rows, ", ")))
	}
	for i := range o.trail {
		if words := mismatch(&o.trail[i], &o.logs[i], d.start); words != "" {
			faults = append(faults, "is told in two ways: "+words)
		}
		if at.counted {
			d.tally(&o.trail[i])
		}
	}
	return faults
}

// rowWords are target and outcome of each row of the timeline.
func (o *outcomeOf) rowWords(order []string) []string {
	t := timeline{attempts: o.trail, skipped: o.skipped, order: order}
	var words []string
	for _, r := range t.rows() {
		switch {
		case r.skip != nil:
			words = append(words, r.skip.Target+" "+string(r.skip.Why))
		case r.attempt.Kind == "":
			words = append(words, r.attempt.Target+" answered")
		default:
			words = append(words, r.attempt.Target+" "+string(r.attempt.Kind))
		}
	}
	return words
}

// breakerWords are the state and the score of a breaker, for example "closed at 0.5".
func breakerWords(s *fallback.Status) string {
	return fmt.Sprintf("%s at %v", string(s.State), s.Score)
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

// tally counts the attempts on one target.
type tally struct{ attempts, answered, timeout, limited, unavailable int }

func (d *demonstration) tally(a *llm.Attempt) {
	t := d.table[a.Target]
	if t == nil {
		t = &tally{}
		d.table[a.Target] = t
	}
	t.attempts++
	switch a.Kind {
	case "":
		t.answered++
	case llm.ErrTimeout:
		t.timeout++
	case llm.ErrRateLimited:
		t.limited++
	case llm.ErrUnavailable:
		t.unavailable++
	default: // a fault of the demo, and told as one
	}
}
