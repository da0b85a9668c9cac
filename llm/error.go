package llm

import (
	"context"
	"errors"
	"time"
)

// Error is the one error type of the SDK: what went wrong, where, what was tried, and what to do next.
// The zero Error is of kind [ErrUnknown]. An Error is not changed after it was returned, so it may be read
// from several goroutines. The methods hold for a nil Error too.
type Error struct {
	Kind      Kind
	Operation Operation
	Target    string   // configured name of the target that failed last; "" when no target was asked
	Model     ModelRef // the model asked there
	Status    int      // HTTP status, 0 if there was none
	Code      string   // the provider's own code, or a fixed word of ours; never free text
	RequestID string   // the provider's id of the request, to quote in a support ticket
	// Message is the provider's own words, at most 512 bytes. They may echo the prompt, so they appear in
	// [Error.Detail] alone, never in Error(), %+v, JSON or the output of log/slog.
	Message string
	// Filtered names what the provider says it filtered, for example "violence (medium)".
	Filtered []string
	Bound    Bound      // which limit ended it; "" none
	Stopped  StopReason // why nothing more was tried
	// RetryAfter is the earliest useful retry over all targets, counted from the end of the call; 0: unknown.
	RetryAfter time.Duration
	// NoRetry: the provider said that this target must not be asked again with this request
	// (x-should-retry: false). Another target may be.
	NoRetry  bool
	Attempts []Attempt // the whole trail of the call, in order
	Skipped  []Skip    // the targets of the plan that were passed over, and why
	// Partial is exactly what the sink accepted before a stream failed, without tool calls that had not ended
	// (nobody may run half a call). Nil if nothing had arrived, and for a call without a sink, however a chain
	// has made it. With ErrContentFiltered it is what there is of the answer, without a sink, too. It is not part
	// of the JSON form.
	Partial *Response
	// NotSent: surely nothing of the request left this process. When false it may have been billed.
	NotSent bool
	// Err is the cause: the SDK's own error, or a [*FieldError]. errors.As and errors.Is reach it.
	Err error
}

// FieldError says which field of a request or of an options struct cannot be used and why. It holds the
// shape of the value at most, never the value, and is the Err of errors of kind [ErrInvalid] and
// [ErrUnsupported].
type FieldError struct {
	Field   string // path of the field, for example "messages[2].parts[0].media_type"
	Problem string // what is wrong with it, for example "is empty"
	Next    string // what to do, for example "give a MIME type such as image/png"; may be empty
}

// Error returns "field: problem (next)".
func (f *FieldError) Error() string {
	if f.Next == "" {
		return f.Field + ": " + f.Problem
	}
	return f.Field + ": " + f.Problem + " (" + f.Next + ")"
}

// Invalid returns an [*Error] of kind [ErrInvalid] about one field. Problem and next must not quote the
// value of the field: they end up in logs.
func Invalid(field, problem, next string) error { return fieldError(ErrInvalid, field, problem, next) }

// Unsupported returns an [*Error] of kind [ErrUnsupported] about one field, for a target that cannot carry
// it. Nothing was sent.
func Unsupported(field, problem, next string) error {
	return fieldError(ErrUnsupported, field, problem, next)
}

func fieldError(kind Kind, field, problem, next string) *Error {
	return &Error{Kind: kind, NotSent: true, Err: &FieldError{Field: field, Problem: problem, Next: next}}
}

// kind is the Kind, ErrUnknown for the zero Error and for a nil one.
func (e *Error) kind() Kind {
	if e == nil || e.Kind == "" {
		return ErrUnknown
	}
	return e.Kind
}

// Is reports whether target is the Kind of e, or the context error that belongs to its Kind, or an error
// that e.Err is. A limit of ours that makes an SDK return context.Canceled is not context.Canceled: only
// [ErrCanceled] is, as only [ErrDeadlineExceeded] is context.DeadlineExceeded.
func (e *Error) Is(target error) bool {
	if k, ok := target.(Kind); ok {
		return k == e.kind()
	}
	switch target { // the two sentinels themselves, not what wraps them
	case context.Canceled:
		return e.kind() == ErrCanceled
	case context.DeadlineExceeded:
		return e.kind() == ErrDeadlineExceeded
	}
	return e != nil && errors.Is(e.Err, target)
}

// As finds target in the chain of e.Err, so that errors.As reaches the SDK's own error; a *Kind gets the
// Kind of e. Error has no Unwrap, because our own limits make SDKs return context.Canceled although nobody
// canceled.
func (e *Error) As(target any) bool {
	if k, ok := target.(*Kind); ok {
		*k = e.kind()
		return true
	}
	return e != nil && e.Err != nil && errors.As(e.Err, target)
}

// Timeout reports whether time ended the call: [ErrTimeout] or [ErrDeadlineExceeded]. With Temporary it
// makes an Error a net.Error.
func (e *Error) Timeout() bool { return e.kind() == ErrTimeout || e.kind() == ErrDeadlineExceeded }

// Temporary is [Kind.Transient].
func (e *Error) Temporary() bool { return e.kind().Transient() }

// field returns the FieldError among the causes, nil if there is none.
func (e *Error) field() *FieldError {
	f, _ := errors.AsType[*FieldError](e.Err)
	return f
}
