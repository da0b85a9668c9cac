package punctual

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
)

// health is the body of [Client.Health].
type health struct {
	Usable  bool           `json:"usable"`
	Targets []targetHealth `json:"targets"`
}

// targetHealth is a [fallback.Status], and what follows from it.
type targetHealth struct {
	Target      string        `json:"target"`
	Model       string        `json:"model"`
	Usable      bool          `json:"usable"`
	Breaker     breaker.State `json:"breaker"`
	Score       float64       `json:"score"`
	OpenUntil   time.Time     `json:"open_until,omitzero"`
	Cooled      llm.Kind      `json:"cooled,omitempty"`
	CooledUntil time.Time     `json:"cooled_until,omitzero"`
	Tokens      int           `json:"tokens"`
	InFlight    int           `json:"in_flight"`
	LastFailure llm.Kind      `json:"last_failure,omitempty"`
	LastAt      time.Time     `json:"last_at,omitzero"`
}

// Health answers with the state of every target as JSON: 200 as long as one of the default plan can be asked, 503
// when each of them is left alone or the Client is closed. It asks no provider, so it is quick and costs nothing.
// The JSON names targets and models, and has no credential in it.
//
//	mux.Handle("GET /healthz", client.Health())
func (c *Client) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := c.health(time.Now())
		body, err := json.Marshal(h)
		if err != nil {
			http.Error(w, "the state of the targets is no JSON", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !h.Usable {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(append(body, '\n')) // who asked may have left
	})
}

func (c *Client) health(now time.Time) health {
	h := health{Targets: []targetHealth{}}
	if !c.opened() {
		return h
	}
	s := c.current.Load()
	plan, _ := s.plans.For("")
	for _, status := range s.chain.Status() {
		t := healthOf(&status, now)
		h.Usable = h.Usable || t.Usable && (len(plan.Targets) == 0 || slices.Contains(plan.Targets, t.Target))
		h.Targets = append(h.Targets, t)
	}
	h.Usable = h.Usable && !c.closed.Load()
	return h
}

func healthOf(s *fallback.Status, now time.Time) targetHealth {
	return targetHealth{
		Target: s.Target, Model: s.Model.String(), Usable: !s.OpenUntil.After(now) && !s.CooledUntil.After(now),
		Breaker: s.State, Score: s.Score, OpenUntil: s.OpenUntil, Cooled: s.Cooled, CooledUntil: s.CooledUntil,
		Tokens: s.Tokens, InFlight: s.InFlight, LastFailure: s.LastFailure, LastAt: s.LastAt,
	}
}
