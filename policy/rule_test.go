package policy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

const (
	no      = false
	yes     = true
	neutral = policy.Neutral
)

// table is the decision table as the design has it. After content nothing is sent again, and but for a caller
// who left the weight is the same.
var table = map[llm.Kind]struct {
	same, next, once, reserve bool
	weight                    float64
	cool                      time.Duration
	after                     float64 // weight after content
}{
	llm.ErrInvalid:          {no, no, no, no, 0, 0, 0},
	llm.ErrUnsupported:      {no, yes, no, no, neutral, 0, neutral},
	llm.ErrAuth:             {no, yes, no, no, neutral, 60 * s, neutral},
	llm.ErrNotFound:         {no, yes, no, no, neutral, 60 * s, neutral},
	llm.ErrContextTooLong:   {no, yes, no, no, 0, 0, 0},
	llm.ErrContentFiltered:  {no, no, no, no, 0, 0, 0},
	llm.ErrRateLimited:      {yes, yes, no, yes, neutral, 0, neutral},
	llm.ErrQuotaExceeded:    {no, yes, no, no, neutral, 600 * s, neutral},
	llm.ErrUnavailable:      {yes, yes, no, no, 1, 0, 1},
	llm.ErrConnection:       {yes, yes, no, no, 1, 0, 1},
	llm.ErrTimeout:          {yes, yes, no, yes, 0.5, 0, 0.5},
	llm.ErrInterrupted:      {yes, yes, yes, no, 1, 0, 1},
	llm.ErrBadOutput:        {yes, yes, yes, no, 0, 0, 0},
	llm.ErrDeadlineExceeded: {no, no, no, no, 0.5, 0, 0.5},
	llm.ErrCanceled:         {no, no, no, no, neutral, 0, 0},
	llm.ErrCircuitOpen:      {no, yes, no, no, neutral, 0, neutral},
	llm.ErrUnknown:          {no, yes, no, no, 1, 0, 1},
}

// TestDecisionTable is over every Kind there is, before and after content, and with FallbackOn.
func TestDecisionTable(t *testing.T) {
	t.Parallel()
	kinds := allKinds(t)
	if len(kinds) != len(table) {
		t.Errorf("%d kinds in package llm, %d rows", len(kinds), len(table))
	}
	for _, k := range kinds {
		row, ok := table[k]
		if !ok {
			t.Errorf("%s has no row", k)
			continue
		}
		before := policy.Rule{Same: row.same, Next: row.next, Once: row.once, Reserve: row.reserve, Weight: row.weight, Cool: row.cool}
		if got := policy.RuleFor(k, false, policy.Plan{}); got != before {
			t.Errorf("%s:\n got %+v\nwant %+v", k, got, before)
		}
		after := before
		after.Same, after.Next, after.Weight = false, false, row.after
		listed := policy.Plan{FallbackOn: []llm.Kind{llm.ErrAuth, k}}
		for _, p := range []policy.Plan{{}, listed} {
			if got := policy.RuleFor(k, true, p); got != after {
				t.Errorf("%s after content, FallbackOn %q:\n got %+v\nwant %+v", k, p.FallbackOn, got, after)
			}
		}
		before.Next = k != llm.ErrCanceled && k != llm.ErrDeadlineExceeded // then the call itself is over
		if got := policy.RuleFor(k, false, listed); got != before {
			t.Errorf("%s with FallbackOn:\n got %+v\nwant %+v", k, got, before)
		}
	}
}

// TestDecisionTableOfLaterKinds: a Kind that this version does not know is like ErrUnknown.
func TestDecisionTableOfLaterKinds(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		want := policy.RuleFor(llm.ErrUnknown, content, policy.Plan{})
		for _, k := range []llm.Kind{"", "of_later"} {
			if got := policy.RuleFor(k, content, policy.Plan{}); got != want {
				t.Errorf("%q, content %v: %+v, want %+v", string(k), content, got, want)
			}
		}
	}
}

// allKinds reads the kinds from the source of package llm, so that none can be forgotten.
func allKinds(t *testing.T) []llm.Kind {
	t.Helper()
	files, err := filepath.Glob("../llm/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package llm: %v", err)
	}
	var kinds []llm.Kind
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name != "llm" {
			continue
		}
		for _, decl := range file.Decls {
			kinds = append(kinds, kindsOf(t, decl)...)
		}
	}
	return kinds
}

func kindsOf(t *testing.T, decl ast.Decl) (kinds []llm.Kind) {
	t.Helper()
	general, ok := decl.(*ast.GenDecl)
	if !ok || general.Tok != token.CONST {
		return nil
	}
	for _, spec := range general.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if typ, ok := value.Type.(*ast.Ident); !ok || typ.Name != "Kind" {
			continue
		}
		for _, v := range value.Values {
			word, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, llm.Kind(word))
		}
	}
	return kinds
}

// TestWeigh is what the breaker hears of a failure, beyond its Kind.
func TestWeigh(t *testing.T) {
	t.Parallel()
	const evidence = 7500 * ms
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	tests := []struct {
		name string
		e    llm.Error
		ran  time.Duration
		want float64
		wire bool
	}{
		{"a timeout that ran long enough", llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundAttempt}, evidence, 0.5, false},
		{"a timeout that did not", llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundAttempt}, evidence - 1, neutral, false},
		{"an idle stream that ran long enough", llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundIdle}, 30 * s, 0.5, false},
		{"the provider's own 504", llm.Error{Kind: llm.ErrTimeout, Status: 504}, ms, 0.5, false},
		{"the provider's own 408", llm.Error{Kind: llm.ErrTimeout, Status: 408}, 0, 0.5, false},
		{"the caller's deadline after long enough", llm.Error{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller}, evidence, 0.5, false},
		{"the caller's deadline before", llm.Error{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller}, evidence - 1, neutral, false},
		{"a 503", llm.Error{Kind: llm.ErrUnavailable, Status: 503}, 0, 1, false},
		{"a model that is not ready", llm.Error{Kind: llm.ErrUnavailable, Status: 429, Code: "ModelNotReadyException"}, 0, 0.5, false},
		{"a conflict", llm.Error{Kind: llm.ErrUnavailable, Status: 409}, 0, neutral, false},
		{"ABORTED of gRPC over HTTP", llm.Error{Kind: llm.ErrUnavailable, Code: "ABORTED"}, 0, neutral, false},
		{"Aborted of gRPC", llm.Error{Kind: llm.ErrUnavailable, Code: "Aborted"}, 0, neutral, false},
		{"no connection", llm.Error{Kind: llm.ErrConnection}, 0, 1, true},
		{"an empty answer", llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"}, 0, 1, false},
		{"bytes that are no answer", llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer"}, 0, 1, false},
		{"bytes that are no event", llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_event"}, 0, 1, false},
		{"an event too large", llm.Error{Kind: llm.ErrBadOutput, Code: "event_too_large"}, 0, 1, false},
		{"an answer too large", llm.Error{Kind: llm.ErrBadOutput, Code: "answer_too_large"}, 0, 1, false},
		{"no stream at all", llm.Error{Kind: llm.ErrBadOutput, Code: "no_event_stream"}, 0, 1, false},
		{"no response", llm.Error{Kind: llm.ErrBadOutput, Code: "no_response"}, 0, 1, false},
		{"an SDK that panics", llm.Error{Kind: llm.ErrBadOutput, Code: "sdk_panic"}, 0, 1, false},
		{"a malformed call of the model", llm.Error{Kind: llm.ErrBadOutput, Code: "MALFORMED_FUNCTION_CALL"}, 0, 0, false},
		{"output that is no JSON", llm.Error{Kind: llm.ErrBadOutput, Code: "output_is_no_json"}, 0, 0, false},
		{"output that the caller does not accept", llm.Error{Kind: llm.ErrBadOutput, Code: "not_accepted"}, 0, 0, false},
		{"a stream that the network broke", llm.Error{Kind: llm.ErrInterrupted, Err: fmt.Errorf("read: %w", reset)}, 0, 1, true},
		{"a stream that the kernel broke", llm.Error{Kind: llm.ErrInterrupted, Err: syscall.EPIPE}, 0, 1, true},
		{"a stream that stops in the middle", llm.Error{Kind: llm.ErrInterrupted, Err: fmt.Errorf("x: %w", io.ErrUnexpectedEOF)}, 0, 1, true},
		{"a stream that the provider ends without a mark", llm.Error{Kind: llm.ErrInterrupted, Code: "no_end_mark"}, 0, 1, false},
		{"a stream that ends in an error of the provider", llm.Error{Kind: llm.ErrInterrupted, Err: errors.New("overloaded")}, 0, 1, false},
		{"a throttled call", llm.Error{Kind: llm.ErrRateLimited, Status: 429}, 0, neutral, false},
		{"an invalid request", llm.Error{Kind: llm.ErrInvalid, Status: 400}, 0, 0, false},
		{"a conflict is only one where the Kind says so", llm.Error{Kind: llm.ErrUnknown, Status: 409}, 0, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			weight, wire := policy.Weigh(policy.RuleFor(tt.e.Kind, false, policy.Plan{}), &tt.e, tt.ran, evidence)
			if weight != tt.want || wire != tt.wire {
				t.Errorf("got %v, wire %v; want %v, wire %v", weight, wire, tt.want, tt.wire)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[time.Duration]time.Duration{
		30 * s: 7500 * ms, 40 * s: 10 * s, 90 * s: 10 * s, s: 250 * ms, forever: 10 * s,
	} {
		if got := policy.Evidence(attempt); got != want {
			t.Errorf("Evidence(%v) = %v, want %v", attempt, got, want)
		}
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    llm.Error
		want bool
	}{
		{"nothing is said", llm.Error{Kind: llm.ErrUnavailable}, true},
		{"x-should-retry: false", llm.Error{Kind: llm.ErrUnavailable, NoRetry: true}, false},
		{"no such host", llm.Error{Kind: llm.ErrConnection, Err: fmt.Errorf("dial: %w", &net.DNSError{IsNotFound: true})}, false},
		{"a name server that does not answer", llm.Error{Kind: llm.ErrConnection, Err: &net.DNSError{IsTimeout: true}}, true},
		{"no such host, of an adapter", llm.Error{Kind: llm.ErrConnection, Code: "host_not_found"}, false},
		{"a certificate of nobody we know", llm.Error{Kind: llm.ErrConnection, Code: "certificate_not_trusted"}, false},
		{"a certificate of another host", llm.Error{Kind: llm.ErrConnection, Code: "certificate_of_another_host"}, false},
		{"a certificate that is over", llm.Error{Kind: llm.ErrConnection, Code: "certificate_expired"}, false},
		{"a server that speaks no TLS", llm.Error{Kind: llm.ErrConnection, Code: "not_tls"}, false},
		{"a certificate, of foreign code", llm.Error{Kind: llm.ErrConnection, Err: &url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}}, false},
		{"no TLS, of foreign code", llm.Error{Kind: llm.ErrConnection, Err: &url.Error{Op: "Post", Err: tls.RecordHeaderError{}}}, false},
		{"a name server that does not answer, of an adapter", llm.Error{Kind: llm.ErrConnection, Code: "name_lookup_failed"}, true},
		{"a refused connection", llm.Error{Kind: llm.ErrConnection, Err: syscall.ECONNREFUSED}, true},
		{"the same, of an adapter", llm.Error{Kind: llm.ErrConnection, Code: "connection_refused"}, true},
		{"a reset", llm.Error{Kind: llm.ErrConnection, Code: "connection_reset"}, true},
		{"no way there", llm.Error{Kind: llm.ErrConnection, Code: "network_unreachable"}, true},
		{"an alert of the peer", llm.Error{Kind: llm.ErrConnection, Code: "tls_refused"}, true},
		{"that word as a code of something else", llm.Error{Kind: llm.ErrUnavailable, Code: "not_tls"}, true},
	}
	for _, tt := range tests {
		if got := policy.Again(&tt.e); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestJudgeBareEndOfInput: net/http returns a bare io.EOF when a server hangs up before it answers.
func TestJudgeBareEndOfInput(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, fmt.Errorf("post: %w", io.EOF), io.ErrUnexpectedEOF} {
		if got := policy.Judge(nil, false, "", err); got != (policy.Verdict{Kind: llm.ErrConnection}) {
			t.Errorf("%v: %+v", err, got)
		}
	}
	if got := policy.Judge(nil, false, "", &llm.Error{Kind: llm.ErrBadOutput, Err: io.EOF}); got.Kind != llm.ErrBadOutput {
		t.Errorf("an error that says what it is: %+v", got)
	}
	if got := policy.Judge(nil, false, "", context.Canceled); got.Kind != llm.ErrConnection {
		t.Errorf("canceled, though nobody did: %+v", got)
	}
}

// A provider is throttled, the next one is asked at once, and this one only when no other can be. A timeout of
// a caller who had two seconds left says nothing of the provider.
func ExampleRuleFor() {
	limited := policy.RuleFor(llm.ErrRateLimited, false, policy.Plan{})
	fmt.Println(limited.Next, limited.Reserve, limited.Weight == policy.Neutral)

	e := &llm.Error{Kind: llm.ErrTimeout, Bound: llm.BoundAttempt}
	timeout := policy.RuleFor(e.Kind, false, policy.Plan{})
	evidence := policy.Evidence(30 * time.Second)
	for _, ran := range []time.Duration{2 * time.Second, 30 * time.Second} {
		weight, _ := policy.Weigh(timeout, e, ran, evidence)
		fmt.Println(ran, weight)
	}
	// Output:
	// true true true
	// 2s -1
	// 30s 0.5
}
