package llm

import (
	"encoding/json"
	"fmt"
	"time"
)

// duration is a time.Duration that is text in JSON, for example "1.5s". The types that hold durations have a
// twin with this type in their place, used for their JSON form alone.
type duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A number without a unit is an error.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration: want a number with a unit, such as 1.5s")
	}
	*d = duration(v)
	return nil
}

type limitsJSON struct {
	Attempt      duration `json:"attempt,omitzero"`
	Connect      duration `json:"connect,omitzero"`
	FirstContent duration `json:"first_content,omitzero"`
	Idle         duration `json:"idle,omitzero"`
	Total        duration `json:"total,omitzero"`
	Tries        int      `json:"tries,omitempty"`
}

// MarshalJSON writes durations as text.
func (l Limits) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitsJSON{
		duration(l.Attempt), duration(l.Connect), duration(l.FirstContent),
		duration(l.Idle), duration(l.Total), l.Tries,
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var j limitsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*l = Limits{
		time.Duration(j.Attempt), time.Duration(j.Connect), time.Duration(j.FirstContent),
		time.Duration(j.Idle), time.Duration(j.Total), j.Tries,
	}
	return nil
}

type rateLimitJSON struct {
	RemainingRequests int64    `json:"remaining_requests,omitempty"`
	RemainingTokens   int64    `json:"remaining_tokens,omitempty"`
	Reset             duration `json:"reset,omitzero"`
	Reported          bool     `json:"reported,omitempty"`
}

// MarshalJSON writes durations as text.
func (r RateLimit) MarshalJSON() ([]byte, error) {
	return json.Marshal(rateLimitJSON{r.RemainingRequests, r.RemainingTokens, duration(r.Reset), r.Reported})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *RateLimit) UnmarshalJSON(data []byte) error {
	var j rateLimitJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = RateLimit{j.RemainingRequests, j.RemainingTokens, time.Duration(j.Reset), j.Reported}
	return nil
}

type attemptJSON struct {
	Target       string    `json:"target,omitempty"`
	Model        ModelRef  `json:"model,omitzero"`
	Start        time.Time `json:"start,omitzero"`
	Wait         duration  `json:"wait,omitzero"`
	Limit        duration  `json:"limit,omitzero"`
	FirstContent duration  `json:"first_content,omitzero"`
	Took         duration  `json:"took,omitzero"`
	Kind         Kind      `json:"kind,omitempty"`
	Bound        Bound     `json:"bound,omitempty"`
	Status       int       `json:"status,omitempty"`
	RequestID    string    `json:"request_id,omitempty"`
	Usage        Usage     `json:"usage,omitzero"`
	NotSent      bool      `json:"not_sent,omitempty"`
}

// MarshalJSON writes durations as text.
func (a Attempt) MarshalJSON() ([]byte, error) {
	return json.Marshal(attemptJSON{
		a.Target, a.Model, a.Start, duration(a.Wait), duration(a.Limit), duration(a.FirstContent),
		duration(a.Took), a.Kind, a.Bound, a.Status, a.RequestID, a.Usage, a.NotSent,
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Attempt) UnmarshalJSON(data []byte) error {
	var j attemptJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*a = Attempt{
		j.Target, j.Model, j.Start, time.Duration(j.Wait), time.Duration(j.Limit), time.Duration(j.FirstContent),
		time.Duration(j.Took), j.Kind, j.Bound, j.Status, j.RequestID, j.Usage, j.NotSent,
	}
	return nil
}

type skipJSON struct {
	Target string     `json:"target,omitempty"`
	Why    SkipReason `json:"why,omitempty"`
	For    duration   `json:"for,omitzero"`
}

// MarshalJSON writes durations as text.
func (s Skip) MarshalJSON() ([]byte, error) {
	return json.Marshal(skipJSON{s.Target, s.Why, duration(s.For)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Skip) UnmarshalJSON(data []byte) error {
	var j skipJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = Skip{j.Target, j.Why, time.Duration(j.For)}
	return nil
}

type errorJSON struct {
	Kind       Kind       `json:"kind,omitempty"`
	Operation  Operation  `json:"operation,omitempty"`
	Target     string     `json:"target,omitempty"`
	Model      ModelRef   `json:"model,omitzero"`
	Status     int        `json:"status,omitempty"`
	Code       string     `json:"code,omitempty"`
	RequestID  string     `json:"request_id,omitempty"`
	Filtered   []string   `json:"filtered,omitempty"`
	Field      string     `json:"field,omitempty"`
	Problem    string     `json:"problem,omitempty"`
	Next       string     `json:"next,omitempty"`
	Bound      Bound      `json:"bound,omitempty"`
	Stopped    StopReason `json:"stopped,omitempty"`
	RetryAfter duration   `json:"retry_after,omitzero"`
	NoRetry    bool       `json:"no_retry,omitempty"`
	Attempts   []Attempt  `json:"attempts,omitempty"`
	Skipped    []Skip     `json:"skipped,omitempty"`
	NotSent    bool       `json:"not_sent,omitempty"`
}

// MarshalJSON writes what is safe to log: everything but Message, Partial and the text of Err, which may
// echo a prompt or an answer. It has a value receiver, so that an Error held by value is as safe.
func (e Error) MarshalJSON() ([]byte, error) {
	j := errorJSON{
		Kind: e.kind(), Operation: e.Operation, Target: e.Target, Model: e.Model, Status: e.Status,
		Code: e.Code, RequestID: e.RequestID, Filtered: e.Filtered, Bound: e.Bound, Stopped: e.Stopped,
		RetryAfter: duration(e.RetryAfter), NoRetry: e.NoRetry, Attempts: e.Attempts, Skipped: e.Skipped,
		NotSent: e.NotSent,
	}
	if f := e.field(); f != nil {
		j.Field, j.Problem, j.Next = f.Field, f.Problem, f.Next
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes, so that an error can travel between processes.
func (e *Error) UnmarshalJSON(data []byte) error {
	var j errorJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*e = Error{
		Kind: j.Kind, Operation: j.Operation, Target: j.Target, Model: j.Model, Status: j.Status,
		Code: j.Code, RequestID: j.RequestID, Filtered: j.Filtered, Bound: j.Bound, Stopped: j.Stopped,
		RetryAfter: time.Duration(j.RetryAfter), NoRetry: j.NoRetry, Attempts: j.Attempts, Skipped: j.Skipped,
		NotSent: j.NotSent,
	}
	if j.Field != "" {
		e.Err = &FieldError{Field: j.Field, Problem: j.Problem, Next: j.Next}
	}
	return nil
}
