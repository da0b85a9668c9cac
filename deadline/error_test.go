package deadline_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

func TestExceededErrorIsDeadlineExceeded(t *testing.T) {
	t.Parallel()
	var err error = &deadline.ExceededError{Total: 30 * s, Elapsed: 28 * s}
	equal(t, "Is DeadlineExceeded", errors.Is(err, context.DeadlineExceeded), true)
	equal(t, "Is Canceled", errors.Is(err, context.Canceled), false)
	timeout, ok := err.(interface{ Timeout() bool })
	equal(t, "Timeout", ok && timeout.Timeout(), true)
}

func TestExceededErrorText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  deadline.ExceededError
		want string
	}{
		{deadline.ExceededError{Total: 30 * s, Elapsed: 28*s + 123456789}, "deadline: execution deadline exceeded (28.123s of 30s used)"},
		{deadline.ExceededError{Step: "plan", Total: 1500 * ms, Elapsed: 1500 * ms}, `deadline: step "plan" deadline exceeded (1.5s of 1.5s used)`},
		{deadline.ExceededError{Total: 900, Elapsed: 850}, "deadline: execution deadline exceeded (850ns of 900ns used)"},
		{deadline.ExceededError{}, "deadline: execution deadline exceeded (0s of 0s used)"},
	} {
		equal(t, "Error()", tt.err.Error(), tt.want)
	}
}

// TestExceededErrorJSON: the form is pinned, and what comes back is equal.
func TestExceededErrorJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  deadline.ExceededError
		want string
	}{
		{deadline.ExceededError{}, `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"0s","elapsed":"0s"}`},
		{deadline.ExceededError{Step: "plan", Total: 90 * s, Elapsed: 1500 * ms}, `{"code":"EXECUTION_DEADLINE_EXCEEDED","step":"plan","total":"1m30s","elapsed":"1.5s"}`},
		{deadline.ExceededError{Total: math.MaxInt64, Elapsed: math.MinInt64}, `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"2562047h47m16.854775807s","elapsed":"-2562047h47m16.854775808s"}`},
	} {
		for _, v := range []any{tt.err, &tt.err, error(&tt.err)} {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "JSON", string(text), tt.want)
		}
		var back deadline.ExceededError
		if err := json.Unmarshal([]byte(tt.want), &back); err != nil {
			t.Fatal(err)
		}
		equal(t, "decoded", back, tt.err)
		equal(t, "decoded is DeadlineExceeded", errors.Is(&back, context.DeadlineExceeded), true)
	}
}

func TestExceededErrorRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", `{`, "unexpected end"},
		{"no code", `{"total":"1s","elapsed":"1s"}`, "code"},
		{"another code", `{"code":"RATE_LIMITED","total":"1s","elapsed":"1s"}`, "code"},
		{"no total", `{"code":"EXECUTION_DEADLINE_EXCEEDED","elapsed":"1s"}`, "total"},
		{"no elapsed", `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"1s"}`, "elapsed"},
		{"a number", `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":1,"elapsed":"1s"}`, "total"},
		{"no unit", `{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"1s","elapsed":"1"}`, "elapsed"},
	} {
		e := deadline.ExceededError{Total: time.Hour}
		err := json.Unmarshal([]byte(tt.text), &e)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one about %s", tt.name, err, tt.want)
		}
		equal(t, tt.name+": the error before", e, deadline.ExceededError{Total: time.Hour})
	}
}
