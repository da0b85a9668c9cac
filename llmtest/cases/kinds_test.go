package cases_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// kinds are the words of the cases for what a caller can test for.
var kinds = map[string][]llm.Kind{
	"ok":           {""},
	"timeout":      {llm.ErrTimeout},
	"budget":       {llm.ErrDeadlineExceeded},
	"canceled":     {llm.ErrCanceled},
	"rate_limited": {llm.ErrRateLimited},
	"quota":        {llm.ErrQuotaExceeded},
	"unavailable":  {llm.ErrUnavailable},
	"auth":         {llm.ErrAuth},
	"bad_request":  {llm.ErrInvalid, llm.ErrContextTooLong, llm.ErrUnsupported},
	"not_found":    {llm.ErrNotFound},
	"blocked":      {llm.ErrContentFiltered},
	"bad_output":   {llm.ErrBadOutput},
	"truncated":    {llm.ErrInterrupted},
	"connection":   {llm.ErrConnection},
	"circuit_open": {llm.ErrCircuitOpen},
	"caller_error": {llm.ErrCanceled}, // of an attempt
}

// isKind says whether an attempt ended as a word says.
func isKind(word string, k llm.Kind) error {
	all, ok := kinds[word]
	switch {
	case !ok:
		return fmt.Errorf("the kind %q is unknown", word)
	case !slices.Contains(all, k):
		return fmt.Errorf("got %s, want %s", kindWord(k), word)
	default:
		return nil
	}
}

// ended says whether a call ended as a word says.
func (r *result) ended(word string) error {
	if word == "caller_error" {
		if r.err == nil {
			return errors.New("got an answer, want the caller's own error")
		}
		if !errors.Is(r.err, errCaller) {
			return fmt.Errorf("want the caller's own error, got %w", r.err)
		}
		return nil
	}
	if errors.Is(r.err, errCaller) {
		return fmt.Errorf("got the caller's own error, want %s", word)
	}
	if err := isKind(word, llm.KindOf(r.err)); err != nil {
		return fmt.Errorf("%w: %s", err, fmt.Sprintf("%+v", r.err))
	}
	return nil
}

func kindWord(k llm.Kind) string {
	if k == "" {
		return "ok"
	}
	return string(k)
}

// finishes are the words of the cases for why an answer ended.
var finishes = map[string]llm.FinishReason{
	"stop": llm.FinishStop, "length": llm.FinishLength, "tool_calls": llm.FinishToolCall, "tool_call": llm.FinishToolCall, "other": llm.FinishOther,
}
