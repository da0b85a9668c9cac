package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// maxMessage bounds [Error.Message]; maxErrorText bounds what Error() returns, in bytes.
const (
	maxMessage   = 512
	maxErrorText = 200
)

// Error is the one error type of the SDK: what went wrong, where, what was tried, and what to do next.
// The zero Error is of kind [ErrUnknown]. An Error is not changed after it was returned, so it may be read
// from several goroutines.
type Error struct {
	Kind      Kind
	Operation Operation
	Target    string   // configured name of the target that failed last; "" when no target was asked
	Model     ModelRef // the model asked there
	Status    int      // HTTP status, 0 if there was none
	Code      string   // the provider's own code, or a fixed word of ours; never free text
	RequestID string   // the provider's id of the request, to quote in a support ticket
	// Message is the provider's own words, at most 512 bytes. They may echo the prompt, so they appear only in
	// %+v and [Error.Detail], never in Error(), and never in JSON.
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
	Skipped  []Skip    // the targets of the plan that were not asked, and why
	// Partial is exactly what the sink accepted before a stream failed, without tool calls that had not ended
	// (nobody may run half a call). Nil if nothing had arrived. It is not part of the JSON form.
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

// Is reports whether target is the Kind of e, or the context error that belongs to its Kind, or an error
// that e.Err is. A limit of ours that makes an SDK return context.Canceled is not context.Canceled: only
// [ErrCanceled] is, as only [ErrDeadlineExceeded] is context.DeadlineExceeded.
func (e *Error) Is(target error) bool {
	if k, ok := target.(Kind); ok {
		return k != "" && k == KindOf(e)
	}
	switch target { //nolint:errorlint // the two sentinels themselves are meant, not what wraps them
	case context.Canceled:
		return e.Kind == ErrCanceled
	case context.DeadlineExceeded:
		return e.Kind == ErrDeadlineExceeded
	}
	return errors.Is(e.Err, target)
}

// As finds target in the chain of e.Err, so that errors.As reaches the SDK's own error. Error has no
// Unwrap, because our own limits make SDKs return context.Canceled although nobody canceled.
func (e *Error) As(target any) bool { return e.Err != nil && errors.As(e.Err, target) }

// Timeout reports whether time ended the call: [ErrTimeout] or [ErrDeadlineExceeded]. With Temporary it
// makes an Error a net.Error.
func (e *Error) Timeout() bool { return e.Kind == ErrTimeout || e.Kind == ErrDeadlineExceeded }

// Temporary is [Kind.Transient].
func (e *Error) Temporary() bool { return e.Kind.Transient() }

// Error returns one line of at most 200 bytes that is safe to log, for example
// "llm: triage: azure-eu (azure/gpt-4o): timeout (first_content 8s), 2 targets tried".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("llm: ")
	if e.Operation != "" {
		b.WriteString(clean(string(e.Operation), 40) + ": ")
	}
	b.WriteString(e.where())
	b.WriteString(string(KindOf(e)))
	if w := e.why(); w != "" {
		b.WriteString(" (" + w + ")")
	}
	if field := e.field(); field != nil {
		b.WriteString(": " + field.Error())
	}
	b.WriteString(e.tried())
	return clean(b.String(), maxErrorText)
}

// field returns the FieldError among the causes, nil if there is none.
func (e *Error) field() *FieldError {
	f, _ := errors.AsType[*FieldError](e.Err)
	return f
}

func (e *Error) where() string {
	model := clean(e.Model.String(), 60)
	switch target := clean(e.Target, 40); {
	case target != "" && model != "":
		return target + " (" + model + "): "
	case target != "" || model != "":
		return target + model + ": "
	default:
		return ""
	}
}

// why is what stands in brackets after the Kind: the bound, or the status, and the wait.
func (e *Error) why() string {
	var parts []string
	switch {
	case e.Bound != "":
		parts = append(parts, strings.TrimSpace(string(e.Bound)+" "+e.boundLength()))
	case e.Status != 0:
		parts = append(parts, strconv.Itoa(e.Status))
	case e.Kind == ErrConnection:
		parts = append(parts, connectionCause(e.Err))
	case e.Code != "":
		parts = append(parts, clean(e.Code, 40))
	}
	if e.RetryAfter > 0 {
		parts = append(parts, "retry after "+shortDuration(e.RetryAfter))
	}
	return strings.Join(parts, ", ")
}

// boundLength is the length of the limit that fell, as far as the trail tells it.
func (e *Error) boundLength() string {
	if len(e.Attempts) == 0 {
		return ""
	}
	first, last := &e.Attempts[0], &e.Attempts[len(e.Attempts)-1]
	switch e.Bound {
	case BoundCaller, BoundExecution, BoundTotal:
		return shortDuration(last.Start.Add(last.Took).Sub(first.Start.Add(-first.Wait)))
	default:
		return shortDuration(last.Limit)
	}
}

func (e *Error) tried() string {
	targets := 0
	for i := range e.Attempts {
		seen := false
		for j := range i {
			seen = seen || e.Attempts[j].Target == e.Attempts[i].Target
		}
		if !seen {
			targets++
		}
	}
	switch {
	case targets > 1:
		return fmt.Sprintf(", %d targets tried", targets)
	case len(e.Attempts) > 1:
		return fmt.Sprintf(", %d tries", len(e.Attempts))
	default:
		return ""
	}
}

// Detail returns the provider's side of the story on one line: Code, Message and what was filtered. It may
// echo the prompt: show it to the person who asks, do not log it.
func (e *Error) Detail() string {
	var parts []string
	if e.Code != "" {
		parts = append(parts, e.Code)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	if len(e.Filtered) > 0 {
		parts = append(parts, "filtered: "+strings.Join(e.Filtered, ", "))
	}
	return clean(strings.Join(parts, ": "), 2*maxMessage)
}

// Format prints Error() for %v and %s. %+v adds the trail, the targets passed over and Detail, one a line;
// it may echo the prompt.
func (e *Error) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+'):
		_, _ = io.WriteString(s, e.Error()+e.trail())
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

func (e *Error) trail() string {
	var b strings.Builder
	for i := range e.Attempts {
		a := &e.Attempts[i]
		kind := a.Kind
		if kind == "" {
			kind = "answered"
		}
		fmt.Fprintf(&b, "\n  %s (%s): %s after %s of %s", clean(a.Target, 40), clean(a.Model.String(), 60),
			string(kind), shortDuration(a.Took), shortDuration(a.Limit))
		if a.Status != 0 {
			fmt.Fprintf(&b, ", status %d", a.Status)
		}
		if a.RequestID != "" {
			fmt.Fprintf(&b, ", request %s", clean(a.RequestID, 80))
		}
	}
	for _, s := range e.Skipped {
		fmt.Fprintf(&b, "\n  %s: skipped: %s", clean(s.Target, 40), string(s.Why))
		if s.For > 0 {
			fmt.Fprintf(&b, ", %s more", shortDuration(s.For))
		}
	}
	if d := e.Detail(); d != "" {
		b.WriteString("\n  the provider said: " + d)
	}
	return b.String()
}

// connectionCause names the causes of a failed connection that are worth a word and hold no secret. The
// text of other errors is left out: SDKs put URLs into it, and a URL may carry a key.
func connectionCause(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host " + clean(dns.Name, 80)
		}
		return "name lookup failed"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "closed by the peer"
	case errors.Is(err, net.ErrClosed):
		return "closed"
	default:
		return "failed"
	}
}

// shortDuration prints a duration with three digits that count: "8s", "1.53s", "420ms", "75s", "3m0s".
func shortDuration(d time.Duration) string {
	if d >= time.Minute && d < 100*time.Second {
		return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	}
	for unit := time.Nanosecond; unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Minute).String()
}

// clean makes s one line of at most n bytes: control characters become blanks and what is too long loses
// its middle, never half a rune.
func clean(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if len(s) <= n {
		return s
	}
	head, tail := n*2/3, len(s)-(n-n*2/3-len("…"))
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}

// cut shortens s to at most n bytes at a rune boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
