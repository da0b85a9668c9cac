package deadline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// code is what tells an ExceededError from any other error in JSON.
const code = "EXECUTION_DEADLINE_EXCEEDED"

// ExceededError says that an execution, or one step of it, has used up its time. errors.Is finds
// context.DeadlineExceeded in it. Its JSON form has the code EXECUTION_DEADLINE_EXCEEDED and durations as
// text, and decodes to an equal ExceededError:
//
//	{"code":"EXECUTION_DEADLINE_EXCEEDED","step":"plan","total":"30s","elapsed":"27.5s"}
//
// It is not changed after it was returned, so it may be read from several goroutines.
type ExceededError struct {
	// Step is the step that ended, or that could not start; "" when the execution itself is over.
	Step string
	// Total is the time that was given, Elapsed what of it has gone: of the step if it ran and its own limit
	// ended it, else of the execution. Elapsed is less than Total when too little is left to start anything.
	Total, Elapsed time.Duration
}

// Error tells the step, if one is concerned, and both times, for example
// "deadline: execution deadline exceeded (28.1s of 30s used)".
func (e *ExceededError) Error() string {
	what := "execution"
	if e.Step != "" {
		what = fmt.Sprintf("step %q", e.Step)
	}
	return fmt.Sprintf("deadline: %s deadline exceeded (%v of %v used)", what, readable(e.Elapsed), readable(e.Total))
}

// readable rounds what is longer than a second to a millisecond.
func readable(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(time.Millisecond)
	}
	return d
}

// Is reports whether target is context.DeadlineExceeded, which every ExceededError is.
func (e *ExceededError) Is(target error) bool {
	return target == context.DeadlineExceeded
}

// Timeout is true: code that asks errors for it sees a timeout, as with context.DeadlineExceeded.
func (e *ExceededError) Timeout() bool { return true }

type exceededJSON struct {
	Code    string `json:"code"`
	Step    string `json:"step,omitempty"`
	Total   string `json:"total"`
	Elapsed string `json:"elapsed"`
}

// MarshalJSON writes the code, the step if there is one, and both durations as text. It has a value receiver,
// so that an ExceededError held by value has the same form.
func (e ExceededError) MarshalJSON() ([]byte, error) {
	return json.Marshal(exceededJSON{code, e.Step, e.Total.String(), e.Elapsed.String()})
}

// UnmarshalJSON reads what MarshalJSON writes. Another code, or none, is an error, so an error of another
// kind is never taken for this one.
func (e *ExceededError) UnmarshalJSON(data []byte) error {
	var j exceededJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Code != code {
		return errors.New("deadline: the error in JSON has not the code " + code)
	}
	total, err := time.ParseDuration(j.Total)
	if err != nil {
		return errors.New("deadline: total: want a number with a unit, such as 1.5s")
	}
	elapsed, err := time.ParseDuration(j.Elapsed)
	if err != nil {
		return errors.New("deadline: elapsed: want a number with a unit, such as 1.5s")
	}
	*e = ExceededError{Step: j.Step, Total: total, Elapsed: elapsed}
	return nil
}
