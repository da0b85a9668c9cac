package llm

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds [Error.Message] and maxErrorText what Error() returns, in bytes. Of that a [FieldError] keeps
// minFieldText at the least: its words are ours and say what to do.
const (
	maxMessage   = 512
	maxErrorText = 200
	minFieldText = 80
)

// Error returns one line of at most 200 bytes that is safe to log, for example
// "llm: triage: azure-eu (azure/gpt-4o): timeout (first_content 8s), 2 targets tried". What is too long is cut between
// words: names first, then the words of a [FieldError], which are whole in %+v, in [Error.Detail] and by errors.As.
func (e *Error) Error() string {
	if e == nil {
		return "llm: " + string(ErrUnknown)
	}
	hint, tried := e.hint(), e.tried()
	if hint != "" {
		hint = ": " + hint
	}
	room := maxErrorText - len(tried)
	head := e.head(40, 60)
	if len(head)+len(hint) > room {
		head = clean(e.head(16, 32), room-min(len(hint), minFieldText))
	}
	return head + cutEnd(hint, room-len(head)) + tried
}

// head is what stands in front of a hint, with names of at most so many bytes.
func (e *Error) head(name, model int) string {
	var b strings.Builder
	b.WriteString("llm: ")
	if e.Operation != "" {
		b.WriteString(clean(string(e.Operation), name) + ": ")
	}
	if w := targetName(e.Target, e.Model, name, model); w != "" {
		b.WriteString(w + ": ")
	}
	b.WriteString(clean(string(e.kind()), 40))
	if w := e.why(); w != "" {
		b.WriteString(" (" + w + ")")
	}
	return b.String()
}

// hint is the whole text of the FieldError on one line, "" if there is none.
func (e *Error) hint() string {
	f := e.field()
	if f == nil {
		return ""
	}
	return clean(f.Error(), maxMessage)
}

// cutHint is the hint if Error() has no room for all of it.
func (e *Error) cutHint() string {
	if hint := e.hint(); !strings.Contains(e.Error(), hint) {
		return hint
	}
	return ""
}

// targetName is "azure-eu (azure/gpt-4o)", or as much of it as is known.
func targetName(target string, ref ModelRef, maxName, maxModel int) string {
	target = clean(target, maxName)
	model := clean(ref.String(), maxModel)
	if target == "" || model == "" {
		return target + model
	}
	return target + " (" + model + ")"
}

// why is what stands in brackets after the Kind: the bound, or the status, and the wait.
func (e *Error) why() string {
	var parts []string
	switch {
	case e.Bound != "":
		parts = append(parts, strings.TrimSpace(clean(string(e.Bound), 20)+" "+e.boundLength()))
	case e.Status != 0:
		parts = append(parts, strconv.Itoa(e.Status))
		if e.codeTells() {
			parts = append(parts, clean(e.Code, 40))
		}
	case e.Kind == ErrConnection:
		parts = append(parts, connectionCause(e.Err, e.Code))
	case e.Code != "":
		parts = append(parts, clean(e.Code, 40))
	}
	if e.RetryAfter > 0 {
		parts = append(parts, "retry after "+shortDuration(e.RetryAfter))
	}
	return strings.Join(parts, ", ")
}

// codeTells reports whether the code says what to mend; other kinds say enough, and so does a status that is repeated.
func (e *Error) codeTells() bool {
	switch e.Kind {
	case ErrInvalid, ErrUnsupported, ErrAuth:
		return e.Code != "" && e.Code != strconv.Itoa(e.Status)
	default:
		return false
	}
}

// boundLength is the length of the limit that fell, as far as the trail tells it.
func (e *Error) boundLength() string {
	if len(e.Attempts) == 0 {
		return ""
	}
	first, last := &e.Attempts[0], &e.Attempts[len(e.Attempts)-1]
	var length time.Duration
	switch e.Bound {
	case BoundCaller, BoundExecution, BoundTotal:
		length = last.Start.Add(last.Took).Sub(first.Start.Add(-first.Wait))
	default:
		length = last.Limit
		for i := range e.Attempts { // the last attempt need not be the one the error is about
			if a := &e.Attempts[i]; a.Bound == e.Bound {
				length = a.Limit
			}
		}
	}
	if length <= 0 {
		return ""
	}
	return shortDuration(length)
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

// Detail returns the provider's side of the story on one line: Code, Message and what was filtered, and in front of
// them the words of a [FieldError] for which Error() has no room. It may echo the prompt: show it to the person who
// asks, do not log it.
func (e *Error) Detail() string {
	if e == nil {
		return ""
	}
	var parts []string
	if hint := e.cutHint(); hint != "" {
		parts = append(parts, hint)
	}
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

// Format prints Error() for every verb but %+v, which adds a hint that was cut, the trail, the targets passed over,
// why nothing more was tried, the code and what was filtered, one a line. The provider's own words are in [Error.Detail]
// alone: loggers such as zap print %+v unasked. The receiver is a value, so that an Error held by value
// prints no more than that.
func (e Error) Format(s fmt.State, verb rune) {
	text := e.Error()
	switch {
	case verb == 'q':
		text = strconv.Quote(text)
	case verb == 'v' && s.Flag('+'):
		text += e.trail()
	}
	_, _ = io.WriteString(s, text)
}

// LogValue makes log/slog write the parts of an error that are safe to log: without it slog's text handler
// would print %+v, on several lines.
func (e *Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("text", e.Error()), slog.String("kind", string(e.kind()))}
	if e == nil {
		return slog.GroupValue(attrs...)
	}
	for _, a := range []slog.Attr{
		slog.String("operation", string(e.Operation)), slog.String("target", e.Target),
		slog.String("model", e.Model.String()), slog.String("code", e.Code),
		slog.String("request_id", e.RequestID), slog.String("bound", string(e.Bound)),
		slog.String("stopped", string(e.Stopped)),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, slog.String(a.Key, clean(a.Value.String(), 128)))
		}
	}
	if e.Status != 0 {
		attrs = append(attrs, slog.Int("status", e.Status))
	}
	if e.RetryAfter > 0 {
		attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
	}
	if hint := e.cutHint(); hint != "" {
		attrs = append(attrs, slog.String("hint", hint))
	}
	return slog.GroupValue(append(attrs, slog.Int("attempts", len(e.Attempts)))...)
}

func (e *Error) trail() string {
	var b strings.Builder
	if hint := e.cutHint(); hint != "" {
		b.WriteString("\n  " + hint)
	}
	for i := range e.Attempts {
		b.WriteString("\n  " + e.Attempts[i].String())
	}
	for _, s := range e.Skipped {
		fmt.Fprintf(&b, "\n  %s: skipped: %s", clean(s.Target, 40), clean(string(s.Why), 40))
		if s.For > 0 {
			fmt.Fprintf(&b, ", %s more", shortDuration(s.For))
		}
	}
	if e.Stopped != "" {
		b.WriteString("\n  stopped: " + clean(string(e.Stopped), 40))
	}
	if e.Code != "" {
		b.WriteString("\n  code: " + clean(e.Code, 64))
	}
	if len(e.Filtered) > 0 {
		b.WriteString("\n  filtered: " + clean(strings.Join(e.Filtered, ", "), maxMessage))
	}
	return b.String()
}

// String is a line of the trail as %+v of an [Error] prints it, safe to log:
// "azure (azure/gpt-4o): timeout (attempt) after 8s of 8s, request r-1".
func (a Attempt) String() string {
	var b strings.Builder
	if name := targetName(a.Target, a.Model, 40, 60); name != "" {
		b.WriteString(name + ": ")
	}
	switch {
	case a.Kind == "":
		b.WriteString("answered")
	case a.Bound != "":
		b.WriteString(clean(string(a.Kind), 40) + " (" + clean(string(a.Bound), 20) + ")")
	case a.Status != 0:
		b.WriteString(clean(string(a.Kind), 40) + " (" + strconv.Itoa(a.Status) + ")")
	default:
		b.WriteString(clean(string(a.Kind), 40))
	}
	b.WriteString(" after " + shortDuration(a.Took))
	if a.Limit > 0 {
		b.WriteString(" of " + shortDuration(a.Limit))
	}
	if a.NotSent {
		b.WriteString(", nothing was sent")
	}
	if a.RequestID != "" {
		b.WriteString(", request " + clean(a.RequestID, 80))
	}
	return b.String()
}

// connectionCause names the causes of a failed connection that are worth a word and hold no secret. The
// text of other errors is left out: SDKs put URLs into it, and a URL may carry a key; their code tells them apart.
func connectionCause(err error, code string) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return strings.TrimSpace("no such host " + clean(dns.Name, 80))
		}
		return "name lookup failed"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	switch {
	case code != "":
		return clean(code, 40)
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

// clean makes s one line of at most n bytes that shows what it holds: what cannot be printed (line ends,
// escape codes, marks that turn the direction of writing) becomes a blank, and what is too long loses its
// middle, never half a rune, and half a word only if that is very long. n is at least 16.
func clean(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
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
	if i := strings.LastIndexByte(s[:head], ' '); i > head/2 {
		head = i + 1
	}
	if i := strings.IndexByte(s[tail:], ' '); i >= 0 && i < (len(s)-tail)/2 {
		tail += i
	}
	return s[:head] + "…" + s[tail:]
}

// cutEnd shortens s to at most n bytes that end between words with an ellipsis.
func cutEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n - len("…")
	if end <= 0 {
		return ""
	}
	if i := strings.LastIndexByte(s[:end+1], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(cut(s, end), " ,;:(") + "…"
}

// cut shortens s to at most n bytes of whole runes.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
			if r := s[len(s)-i:]; utf8.RuneStart(r[0]) {
				if !utf8.FullRuneInString(r) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	return strings.ToValidUTF8(s, " ")
}
