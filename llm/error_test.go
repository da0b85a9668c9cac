package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	tries := func(limit time.Duration, names ...string) (a []llm.Attempt) {
		for i, n := range names {
			a = append(a, llm.Attempt{Target: n, Start: start.Add(time.Duration(i) * limit), Limit: limit, Took: limit})
		}
		return a
	}
	tests := []struct {
		err  llm.Error
		want string
	}{
		{llm.Error{}, "llm: unknown"},
		{llm.Error{Kind: llm.ErrCanceled, Code: "reader_left"}, "llm: canceled (reader_left)"},
		{
			llm.Error{
				Kind: llm.ErrTimeout, Operation: "triage", Target: "azure-eu", Model: gpt, Bound: llm.BoundFirstContent,
				Attempts: tries(8*time.Second, "vertex", "azure-eu"),
			},
			"llm: triage: azure-eu (azure/gpt-4o): timeout (first_content 8s), 2 targets tried",
		},
		{
			llm.Error{Kind: llm.ErrDeadlineExceeded, Operation: "triage", Bound: llm.BoundExecution, Attempts: tries(10*time.Second, "a", "b")},
			"llm: triage: deadline_exceeded (execution 20s), 2 targets tried",
		},
		{llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundTotal}, "llm: timeout (total)"},
		{llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundAttempt, Attempts: tries(0, "a", "a")}, "llm: timeout (attempt), 2 tries"},
		{
			llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundAttempt, Attempts: []llm.Attempt{
				{Target: "a", Bound: llm.BoundAttempt, Limit: 8 * time.Second}, {Target: "b", Kind: llm.ErrAuth, Limit: time.Second},
			}},
			"llm: timeout (attempt 8s), 2 targets tried",
		},
		{
			llm.Error{Kind: llm.ErrRateLimited, Target: "v", Model: llm.ModelRef{Model: "gemini"}, Status: 429, RetryAfter: 75 * time.Second},
			"llm: v (gemini): rate_limited (429, retry after 75s)",
		},
		{llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 1534 * time.Millisecond}, "llm: rate_limited (retry after 1.53s)"},
		{llm.Error{Kind: llm.ErrUnavailable, Model: gpt, Status: 503}, "llm: azure/gpt-4o: unavailable (503)"},
		{llm.Error{Kind: llm.ErrConnection}, "llm: connection (failed)"},
		{llm.Error{Kind: llm.ErrConnection, Err: errors.New(canary)}, "llm: connection (failed)"},
		{llm.Error{Kind: llm.ErrConnection, Err: syscall.ECONNREFUSED}, "llm: connection (connection refused)"},
		{llm.Error{Kind: llm.ErrConnection, Err: fmt.Errorf("x: %w", io.ErrUnexpectedEOF)}, "llm: connection (closed by the peer)"},
		{llm.Error{Kind: llm.ErrConnection, Err: net.ErrClosed}, "llm: connection (closed)"},
		{llm.Error{Kind: llm.ErrConnection, Err: &net.DNSError{Name: "nowhere.example", IsNotFound: true}}, "llm: connection (no such host nowhere.example)"},
		{llm.Error{Kind: llm.ErrConnection, Err: &net.DNSError{IsNotFound: true}}, "llm: connection (no such host)"},
		{llm.Error{Kind: llm.ErrConnection, Code: "not_tls", Err: errors.New(canary)}, "llm: connection (not_tls)"},
		{llm.Error{Kind: llm.ErrConnection, Code: "connection_refused", Err: syscall.ECONNREFUSED}, "llm: connection (connection refused)"},
		{llm.Error{Kind: llm.ErrConnection, Err: &net.DNSError{Name: "a", IsTimeout: true}}, "llm: connection (name lookup failed)"},
		{llm.Error{Kind: llm.ErrAuth, Status: 403, Code: "ExpiredTokenException"}, "llm: auth (403, ExpiredTokenException)"},
		{llm.Error{Kind: llm.ErrUnsupported, Status: 400, Code: "unsupported_value"}, "llm: unsupported (400, unsupported_value)"},
		{llm.Error{Kind: llm.ErrInvalid, Status: 400, Code: "400"}, "llm: invalid (400)"},
		{llm.Error{Kind: llm.ErrAuth, Status: 401, Code: "401", Message: canary, Err: errors.New(canary), Partial: answer(llm.Text{Text: canary})}, "llm: auth (401)"},
	}
	for _, tt := range tests {
		for how, got := range map[string]string{
			"Error": tt.err.Error(), "%v": fmt.Sprintf("%v", &tt.err), "%s": fmt.Sprintf("%s", &tt.err),
			"%#v": fmt.Sprintf("%#v", &tt.err), "%d": fmt.Sprintf("%d", &tt.err), "value": fmt.Sprint(tt.err),
		} {
			if got != tt.want {
				t.Errorf("%s: %q, want %q", how, got, tt.want)
			}
		}
		if got := fmt.Sprintf("%q", &tt.err); got != `"`+tt.want+`"` {
			t.Errorf("%%q: %s", got)
		}
	}
}

// Three digits that count.
func TestErrorDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1: "1ns", 1234: "1.23µs", 420 * time.Millisecond: "420ms", 999_600 * time.Microsecond: "1s",
		1534 * time.Millisecond: "1.53s", 8 * time.Second: "8s", 12_800 * time.Millisecond: "12.8s",
		75 * time.Second: "75s", 75_440 * time.Millisecond: "75.4s", 3 * time.Minute: "3m0s",
		2 * time.Hour: "2h0m0s", 412000 * time.Second: "114h26m40s", 365 * 24 * time.Hour: "8760h0m0s",
	} {
		e := &llm.Error{Kind: llm.ErrRateLimited, RetryAfter: d}
		if got := e.Error(); got != "llm: rate_limited (retry after "+want+")" {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{
		"a", "é", "漢字", "🙂", "\n", "\x1b[31m", "\u2028", "\u202e", "\u0085", "\xff", "a\r\nWARN x", "e\u0301",
	} {
		for _, n := range []int{1, 7, 50, 200, 4000} {
			s := strings.Repeat(piece, n)
			e := &llm.Error{
				Kind: llm.Kind(s), Operation: llm.Operation(s), Target: s, Model: llm.ModelRef{Provider: s, Model: s},
				Code: s, Bound: llm.Bound(s), Stopped: llm.StopReason(s), RequestID: s, Message: s, RetryAfter: time.Minute,
				Attempts: []llm.Attempt{{Target: s, Kind: llm.Kind(s), Bound: llm.Bound(s), RequestID: s}, {Target: "b"}},
				Skipped:  []llm.Skip{{Target: s, Why: llm.SkipReason(s)}},
				Err:      &llm.FieldError{Field: s, Problem: s, Next: s},
			}
			bare, named := *e, llm.Error{Kind: llm.ErrInvalid, Operation: llm.Triage, Err: e.Err}
			bare.Err = nil
			for _, e := range []*llm.Error{e, &bare, &named} {
				if got := e.Error(); len(got) > 200 || !utf8.ValidString(got) {
					t.Fatalf("%q ×%d: %d bytes: %q", piece, n, len(got), got)
				}
			}
			if got := e.Detail(); len(got) > 1024 {
				t.Fatalf("%q ×%d: a detail of %d bytes", piece, n, len(got))
			}
			for what, text := range map[string]string{"Error": e.Error(), "Detail": e.Detail(), "%+v": fmt.Sprintf("%+v", e)} {
				for i, r := range text {
					if !unicode.IsPrint(r) && (what != "%+v" || r != '\n') {
						t.Fatalf("%s of %q ×%d has %q at %d", what, piece, n, r, i)
					}
				}
				if lines := strings.Count(text, "\n"); what == "%+v" && lines != 5 && lines != 6 { // 6 with a hint that was cut
					t.Fatalf("%%+v of %q ×%d has %d line ends: %q", piece, n, lines, text)
				}
			}
		}
	}
}

// What says how to mend something outlasts long names, and what has no room is cut between words and is whole in
// %+v, in Detail and for slog.
func TestAHintIsCutLastAndKeptWhole(t *testing.T) {
	t.Parallel()
	hint := &llm.FieldError{
		Field: "messages[12].parts[3].content.schema", Problem: "has a keyword that is not taken",
		Next: "leave it out, or route to a model that takes it",
	}
	e := &llm.Error{
		Kind: llm.ErrUnsupported, Operation: "orchestration", Target: "bedrock-us-east-1-with-a-long-name",
		Model: llm.ModelRef{Provider: "bedrock", Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, Err: hint,
		Attempts: []llm.Attempt{{Target: "a"}, {Target: "b"}}, Code: "no_credentials",
	}
	if got := e.Error(); strings.Contains(got, hint.Error()) || !strings.HasPrefix(got, "llm: orchestration: ") ||
		!strings.Contains(got, "unsupported (no_credentials): messages[12].parts[3].content.schema: has a keyword that is") ||
		!strings.HasSuffix(got, "…, 2 targets tried") {
		t.Errorf("too long: %s", got)
	}
	for how, text := range map[string]string{
		"%+v": fmt.Sprintf("%+v", e), "Detail": e.Detail(), "slog": e.LogValue().String(),
	} {
		if !strings.Contains(text, hint.Error()) {
			t.Errorf("%s has not the whole hint: %s", how, text)
		}
	}
	hint.Field, hint.Next = "seed", "leave it out"
	if got := e.Error(); !strings.Contains(got, "unsupported (no_credentials): "+hint.Error()+", 2 targets tried") {
		t.Errorf("it has room: %s", got)
	}
	if got := fmt.Sprintf("%+v", e); strings.Count(got, hint.Error()) != 1 || strings.Contains(e.Detail(), hint.Error()) {
		t.Errorf("a whole hint is repeated: %s, %s", got, e.Detail())
	}
	for n := 20; n < 360; n++ { // whatever the length, no half of a name is left
		hint.Next = (strings.Repeat("!", n%22) + strings.Repeat(" AWS_SECRET_ACCESS_KEY", 1+n/22))
		for word := range strings.FieldsSeq(strings.NewReplacer("!", " ", "(", " ", ")", " ", ",", " ", "…", " ").Replace(e.Error())) {
			if strings.Contains(word, "AWS") && word != "AWS_SECRET_ACCESS_KEY" || strings.HasPrefix("SECRET_ACCESS_KEY", word) {
				t.Fatalf("%q in %s", word, e.Error())
			}
		}
	}
}

func TestErrorIsAndAs(t *testing.T) {
	t.Parallel()
	opErr := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	limit := &llm.Error{Kind: llm.ErrTimeout, Err: fmt.Errorf("sdk: %w", context.Canceled)}
	late := &llm.Error{Kind: llm.ErrTimeout, Err: context.DeadlineExceeded}
	tests := []struct {
		name   string
		err    error
		target error
		want   bool
	}{
		{"kind", limit, llm.ErrTimeout, true},
		{"another kind", limit, llm.ErrCanceled, false},
		{"no kind", limit, llm.Kind(""), false},
		{"zero error is unknown", &llm.Error{}, llm.ErrUnknown, true},
		{"our limit is not canceled", limit, context.Canceled, false},
		{"nor when wrapped", fmt.Errorf("x: %w", limit), context.Canceled, false},
		{"nor when joined", errors.Join(io.EOF, limit), context.Canceled, false},
		{"nor a deadline", late, context.DeadlineExceeded, false},
		{"canceled by kind", &llm.Error{Kind: llm.ErrCanceled}, context.Canceled, true},
		{"deadline by kind", &llm.Error{Kind: llm.ErrDeadlineExceeded}, context.DeadlineExceeded, true},
		{"canceled is no deadline", &llm.Error{Kind: llm.ErrCanceled}, context.DeadlineExceeded, false},
		{"the cause", &llm.Error{Kind: llm.ErrConnection, Err: opErr}, syscall.ECONNREFUSED, true},
		{"not a cause", &llm.Error{Kind: llm.ErrConnection, Err: opErr}, io.EOF, false},
		{"no cause", &llm.Error{Kind: llm.ErrConnection}, io.EOF, false},
		{"itself", limit, limit, true},
		{"an inner kind is hidden", &llm.Error{Kind: llm.ErrTimeout, Err: llm.ErrAuth}, llm.ErrAuth, false},
		{"nil error", (*llm.Error)(nil), llm.ErrUnknown, true},
		{"nil error has no cause", (*llm.Error)(nil), io.EOF, false},
	}
	for _, tt := range tests {
		if got := errors.Is(tt.err, tt.target); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}

	wrapped := fmt.Errorf("call: %w", &llm.Error{Kind: llm.ErrTimeout, Err: fmt.Errorf("sdk: %w", opErr)})
	if got, ok := errors.AsType[*net.OpError](wrapped); !ok || got != opErr {
		t.Errorf("the SDK's error is out of reach: %v", got)
	}
	if ne, ok := errors.AsType[net.Error](wrapped); !ok || !ne.Timeout() || llm.KindOf(ne.(error)) != llm.ErrTimeout {
		t.Errorf("no net.Error: %v", ne)
	}
	if k, ok := errors.AsType[llm.Kind](&llm.Error{Kind: llm.ErrTimeout, Err: llm.ErrAuth}); !ok || k != llm.ErrTimeout {
		t.Errorf("errors.As gives the kind %q", k)
	}
	if _, ok := errors.AsType[*net.OpError](&llm.Error{}); ok {
		t.Error("found in nothing")
	}
	if _, ok := any(limit).(interface{ Unwrap() error }); ok {
		t.Error("Error has an Unwrap: our own limits would be context.Canceled")
	}
	if _, ok := any(limit).(interface{ Unwrap() []error }); ok {
		t.Error("Error has an Unwrap")
	}
}

func TestNilErrorIsSafe(t *testing.T) {
	t.Parallel()
	var e *llm.Error
	if e.Error() != "llm: unknown" || e.Detail() != "" || e.Timeout() || e.Temporary() || e.As(new(*net.OpError)) {
		t.Errorf("got %q %q", e.Error(), e.Detail())
	}
	if got := fmt.Sprintf("%v %+v", e, e); got != "<nil> <nil>" {
		t.Errorf("got %q", got)
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Error("x", "err", e)
	slog.New(slog.NewJSONHandler(&b, nil)).Error("x", "err", e)
	if strings.Contains(b.String(), "panic") || strings.Count(b.String(), "llm: unknown") != 2 {
		t.Errorf("got %s", b.String())
	}
}

func TestErrorTrail(t *testing.T) {
	t.Parallel()
	e := &llm.Error{
		Kind: llm.ErrTimeout, Operation: "triage", Target: "azure", Model: gpt, Bound: llm.BoundAttempt, Stopped: llm.StopTotal,
		Code: "Timeout", Message: "The operation\nwas timed out.", Filtered: []string{"hate (low)", "violence"},
		Attempts: []llm.Attempt{
			{Target: "azure", Model: gpt, Kind: llm.ErrTimeout, Bound: llm.BoundAttempt, Took: 8 * time.Second, Limit: 8 * time.Second, RequestID: "r-1"},
			{Target: "bedrock", Kind: llm.ErrRateLimited, Status: 429, Took: 12 * time.Millisecond},
			{Target: "vertex", Kind: llm.ErrConnection, NotSent: true, Took: time.Second, Limit: 8 * time.Second},
			{Target: "mini", Took: time.Second},
		},
		Skipped: []llm.Skip{{Target: "a", Why: llm.SkipOpen, For: 290 * time.Second}, {Target: "b", Why: llm.SkipRoute}},
	}
	want := `llm: triage: azure (azure/gpt-4o): timeout (attempt 8s), 4 targets tried
  azure (azure/gpt-4o): timeout (attempt) after 8s of 8s, request r-1
  bedrock: rate_limited (429) after 12ms
  vertex: connection after 1s of 8s, nothing was sent
  mini: answered after 1s
  a: skipped: open, 4m50s more
  b: skipped: route
  stopped: total
  code: Timeout
  filtered: hate (low), violence`
	if got := fmt.Sprintf("%+v", e); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := e.Detail(); got != "Timeout: The operation was timed out.: filtered: hate (low), violence" {
		t.Errorf("got %q", got)
	}
}

// What a logger prints must be safe, however the error reaches it.
func TestErrorIsSafeToLog(t *testing.T) {
	t.Parallel()
	e := failure
	e.Message, e.Err, e.Partial = canary, errors.New(canary), answer(llm.Text{Text: canary})
	for what, v := range map[string]any{
		"error": &e, "wrapped": fmt.Errorf("call: %w", &e), "joined": errors.Join(&e, io.EOF), "kind": e.Kind,
	} {
		for _, verb := range []string{"%v", "%s", "%q", "%+v", "%#v", "%d"} {
			if _, kind := v.(llm.Kind); !kind {
				noCanary(t, what+" "+verb, fmt.Sprintf(verb, v))
			}
		}
		for _, handler := range []func(io.Writer, *slog.HandlerOptions) slog.Handler{
			func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) },
			func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) },
		} {
			var b bytes.Buffer
			log := slog.New(handler(&b, nil))
			log.Error("failed", "err", v)
			log.With("err", v).WithGroup("g").Info("x", slog.Any("inner", v))
			noCanary(t, what, b.String())
			if !strings.Contains(b.String(), "timeout") {
				t.Errorf("%s: the log does not say what happened: %s", what, b.String())
			}
		}
	}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Error("failed", "err", &e)
	var line struct {
		Err struct {
			Text, Kind, Target, Bound string
			Status, Attempts          int
			RequestID                 string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line.Err.Kind != "timeout" || line.Err.Status != 504 ||
		line.Err.RequestID != "req-1" || line.Err.Attempts != 1 || line.Err.Text != e.Error() {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestFieldErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		kind llm.Kind
		want string
	}{
		{llm.Invalid("seed", "is odd", "use 2"), llm.ErrInvalid, "llm: invalid: seed: is odd (use 2)"},
		{llm.Unsupported("seed", "is unknown here", ""), llm.ErrUnsupported, "llm: unsupported: seed: is unknown here"},
	} {
		e, ok := errors.AsType[*llm.Error](tt.err)
		if !ok || e.Kind != tt.kind || !e.NotSent || e.Error() != tt.want {
			t.Errorf("got %v", tt.err)
		}
		if f, ok := errors.AsType[*llm.FieldError](tt.err); !ok || f.Field != "seed" {
			t.Errorf("no FieldError in %v", tt.err)
		}
	}
}
