package llm

import (
	"context"
	"errors"
)

// Kind says what went wrong with a call. A Kind is itself an error, so that
// errors.Is(err, llm.ErrRateLimited) holds for every [*Error] of that Kind. The zero Kind means that
// nothing went wrong. The set is open: a switch over it needs a default case.
type Kind string

// The kinds of failure. What a chain does about each of them is the decision table of package policy.
const (
	// ErrInvalid: the request is wrong for every target; nothing but another request will help.
	ErrInvalid Kind = "invalid"
	// ErrUnsupported: this target cannot carry the request, another may. Either nothing was sent (Error.NotSent), or
	// the model refused a setting.
	ErrUnsupported Kind = "unsupported"
	// ErrAuth: the credential was refused, or none could be had.
	ErrAuth Kind = "auth"
	// ErrNotFound: there is no such model, deployment, region or path.
	ErrNotFound Kind = "not_found"
	// ErrContextTooLong: the request is longer than the model's window.
	ErrContextTooLong Kind = "context_too_long"
	// ErrContentFiltered: the provider filtered the prompt or the answer.
	ErrContentFiltered Kind = "content_filtered"
	// ErrRateLimited: too many requests or tokens for now; Error.RetryAfter says until when, if known.
	ErrRateLimited Kind = "rate_limited"
	// ErrQuotaExceeded: an allowance is used up; waiting a little does not help.
	ErrQuotaExceeded Kind = "quota_exceeded"
	// ErrUnavailable: the provider failed or is overloaded.
	ErrUnavailable Kind = "unavailable"
	// ErrConnection: the network between us and the provider failed.
	ErrConnection Kind = "connection"
	// ErrTimeout: one of our own limits fell (Error.Bound names it), or the provider reports its own.
	ErrTimeout Kind = "timeout"
	// ErrDeadlineExceeded: the caller's context or the execution deadline ended the call.
	ErrDeadlineExceeded Kind = "deadline_exceeded"
	// ErrCanceled: the caller canceled the call or left the loop over a stream.
	ErrCanceled Kind = "canceled"
	// ErrCircuitOpen: every target was refused by its circuit breaker; nothing was sent.
	ErrCircuitOpen Kind = "circuit_open"
	// ErrBadOutput: an answer came but cannot be used (empty, malformed, or refused by Request.Accept).
	ErrBadOutput Kind = "bad_output"
	// ErrInterrupted: a stream stopped before the provider's own end mark.
	ErrInterrupted Kind = "interrupted"
	// ErrUnknown: an error that none of the other kinds describes.
	ErrUnknown Kind = "unknown"
)

// Error returns the Kind's word, for example "rate_limited".
func (k Kind) Error() string { return string(k) }

// Transient reports whether the same call may succeed later without anybody mending anything.
func (k Kind) Transient() bool {
	switch k {
	case ErrRateLimited, ErrUnavailable, ErrConnection, ErrTimeout, ErrDeadlineExceeded,
		ErrCircuitOpen, ErrBadOutput, ErrInterrupted:
		return true
	default:
		return false
	}
}

// KindOf returns the Kind of any error: "" for nil, the Kind of an [*Error] or a bare Kind anywhere in the
// chain of err (the first found, an Error before a bare Kind), [ErrCanceled] and [ErrDeadlineExceeded] for
// the two context errors, else [ErrUnknown]. A nil *Error in a non-nil error is ErrUnknown too.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.kind()
	}
	if k, ok := errors.AsType[Kind](err); ok && k != "" {
		return k
	}
	switch {
	case errors.Is(err, context.Canceled):
		return ErrCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return ErrDeadlineExceeded
	default:
		return ErrUnknown
	}
}

// Bound names the limit that ended a call or an attempt. The zero Bound means that no limit did.
type Bound string

// The limits of a call, from the widest to the narrowest.
const (
	// BoundCaller is the deadline of the caller's context.
	BoundCaller Bound = "caller"
	// BoundExecution is the execution deadline (package deadline).
	BoundExecution Bound = "execution"
	// BoundTotal is Limits.Total: the whole call over all targets.
	BoundTotal Bound = "total"
	// BoundEnd is the end of a stream that no deadline bounds: 10 minutes after the start of the call, or
	// Limits.Total where that is longer.
	BoundEnd Bound = "end"
	// BoundAttempt is Limits.Attempt: one try on one target.
	BoundAttempt Bound = "attempt"
	// BoundConnect is Limits.Connect: the connection, TLS included.
	BoundConnect Bound = "connect"
	// BoundFirstContent is Limits.FirstContent: the wait for the first content of a stream.
	BoundFirstContent Bound = "first_content"
	// BoundIdle is Limits.Idle: the pause between two pieces of content of a stream.
	BoundIdle Bound = "idle"
)

// StopReason says why nothing more was tried after the last failure.
type StopReason string

// The reasons to stop.
const (
	// StopFinal: no other attempt could have ended differently.
	StopFinal StopReason = "final"
	// StopDeadline: the time left until the caller's or the execution deadline was too short.
	StopDeadline StopReason = "deadline"
	// StopTotal: the time left of Limits.Total was too short.
	StopTotal StopReason = "total"
	// StopTries: every allowed try was spent.
	StopTries StopReason = "tries"
	// StopRetryTokens: the target's bucket of retry tokens was empty.
	StopRetryTokens StopReason = "retry_tokens"
	// StopTargets: no target was left that could be asked.
	StopTargets StopReason = "targets"
	// StopContent: content had already reached the caller, so nothing may be sent again.
	StopContent StopReason = "content"
	// StopEmergency: emergency mode switches retries off.
	StopEmergency StopReason = "emergency"
)

// SkipReason says why a target of the plan was passed over.
type SkipReason string

// The reasons to pass a target over.
const (
	// SkipOpen: its circuit breaker is open.
	SkipOpen SkipReason = "open"
	// SkipCooling: it asked for a rest that is not over.
	SkipCooling SkipReason = "cooling"
	// SkipUnsupported: it cannot carry the request.
	SkipUnsupported SkipReason = "unsupported"
	// SkipNoTime: the call ended before its turn came.
	SkipNoTime SkipReason = "no_time"
	// SkipNoTokens: its bucket of retry tokens was empty.
	SkipNoTokens SkipReason = "no_tokens"
	// SkipRoute: the request's Route leaves it out.
	SkipRoute SkipReason = "route"
)
