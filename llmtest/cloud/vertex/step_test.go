package vertex

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestErrorsOfEachKind: a step that fails is the service's own error, llm.HTTPError reads it back, and over gRPC it is
// the same status.
func TestErrorsOfEachKind(t *testing.T) {
	tests := []struct {
		err    llm.Error
		code   int
		status string
		reason string
		kind   llm.Kind // that llm.HTTPError makes of it; "": the same
	}{
		{err: llm.Error{Kind: llm.ErrInvalid}, code: 400, status: "INVALID_ARGUMENT"},
		{err: llm.Error{Kind: llm.ErrUnsupported}, code: 400, status: "INVALID_ARGUMENT"},
		{err: llm.Error{Kind: llm.ErrAuth}, code: 401, status: "UNAUTHENTICATED", reason: "ACCESS_TOKEN_EXPIRED"},
		{err: llm.Error{Kind: llm.ErrAuth, Status: 403}, code: 403, status: "PERMISSION_DENIED", reason: "IAM_PERMISSION_DENIED"},
		{err: llm.Error{Kind: llm.ErrNotFound}, code: 404, status: "NOT_FOUND"},
		{err: llm.Error{Kind: llm.ErrContextTooLong}, code: 400, status: "INVALID_ARGUMENT"},
		{err: llm.Error{Kind: llm.ErrContentFiltered, Status: 400, Code: "content_filter"}, code: 400, status: "INVALID_ARGUMENT", reason: "content_filter"},
		{err: llm.Error{Kind: llm.ErrContentFiltered, Status: 400}, code: 400, status: "INVALID_ARGUMENT", reason: "CONTENT_FILTER"},
		{err: llm.Error{Kind: llm.ErrRateLimited}, code: 429, status: "RESOURCE_EXHAUSTED"},
		{err: llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 1500 * time.Millisecond}, code: 429, status: "RESOURCE_EXHAUSTED"},
		{err: llm.Error{Kind: llm.ErrQuotaExceeded}, code: 429, status: "RESOURCE_EXHAUSTED"},
		{err: llm.Error{Kind: llm.ErrTimeout}, code: 504, status: "DEADLINE_EXCEEDED"},
		{err: llm.Error{Kind: llm.ErrUnavailable}, code: 503, status: "UNAVAILABLE"},
		{err: llm.Error{Kind: llm.ErrUnavailable, Status: 500}, code: 500, status: "INTERNAL"},
		{err: llm.Error{Kind: llm.ErrUnknown}, code: 500, status: "INTERNAL", kind: llm.ErrUnavailable},
		{err: llm.Error{Status: 401}, code: 401, status: "UNAUTHENTICATED", reason: "ACCESS_TOKEN_EXPIRED", kind: llm.ErrAuth},
		{err: llm.Error{Status: 404}, code: 404, status: "NOT_FOUND", kind: llm.ErrNotFound},
		{err: llm.Error{Status: 408}, code: 408, status: "DEADLINE_EXCEEDED", kind: llm.ErrTimeout},
		{err: llm.Error{Status: 413}, code: 413, status: "INVALID_ARGUMENT", kind: llm.ErrContextTooLong},
		{err: llm.Error{Status: 429}, code: 429, status: "RESOURCE_EXHAUSTED", kind: llm.ErrRateLimited},
		{err: llm.Error{Status: 503}, code: 503, status: "UNAVAILABLE", kind: llm.ErrUnavailable},
		{err: llm.Error{Status: 504}, code: 504, status: "DEADLINE_EXCEEDED", kind: llm.ErrTimeout},
		{err: llm.Error{Status: 502}, code: 502, status: "UNAVAILABLE", kind: llm.ErrUnavailable},
		{err: llm.Error{Kind: llm.ErrInvalid, Code: "FAILED_PRECONDITION"}, code: 400, status: "FAILED_PRECONDITION"},
		{err: llm.Error{Kind: llm.ErrUnavailable, Status: 529, Code: "overloaded", Message: "busy"}, code: 529, status: "UNAVAILABLE", reason: "overloaded"},
	}
	for _, test := range tests {
		s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&test.err)}}})
		for _, path := range []string{unaryPath, ssePath, arrayPath, geminiPath} {
			resp, text, err := request{path: path}.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			e := errorOf(t, text)
			if resp.StatusCode != test.code || e.Code != test.code || e.Status != test.status || test.err.Message != "" && e.Message != test.err.Message ||
				path != geminiPath && reasonOf(e) != test.reason {
				t.Errorf("%+v: %d %s", test.err, resp.StatusCode, text)
			}
			got := llm.HTTPError(resp.StatusCode, resp.Header, []byte(text))
			kind := test.kind
			if kind == "" {
				kind = test.err.Kind
			}
			if got.RetryAfter != test.err.RetryAfter || got.Kind != kind && test.reason != "CONTENT_FILTER" {
				t.Errorf("%+v is read back as %s, %s", test.err, got.Kind, got.RetryAfter)
			}
		}
		client := rpcClient(t, s)
		for _, stream := range []bool{false, true} {
			_, err := rpcRequest{stream: stream}.digest(t, client)
			if e := statusOf(err); e.Status != test.status || detailsOf(err) != (rpcDetails{test.reason, test.err.RetryAfter, ""}) {
				t.Errorf("%+v: over gRPC %v, %+v", test.err, err, detailsOf(err))
			}
		}
		if r := cloudtest.Last(t, s, 6); r.Status != test.code {
			t.Errorf("%+v is logged as %d", test.err, r.Status)
		}
	}
}

// rpcDetails are what clients read of a status.
type rpcDetails struct {
	reason  string
	retry   time.Duration
	request string
}

func detailsOf(err error) (d rpcDetails) {
	for _, one := range status.Convert(err).Details() {
		switch one := one.(type) {
		case *errdetails.ErrorInfo:
			d.reason = one.GetReason()
		case *errdetails.RetryInfo:
			d.retry = one.GetRetryDelay().AsDuration()
		case *errdetails.RequestInfo:
			d.request = one.GetRequestId()
		}
	}
	return d
}

func TestErrorsSayWhatTheScriptSays(t *testing.T) {
	e := &llm.Error{Kind: llm.ErrQuotaExceeded, RequestID: "req-1", NoRetry: true, RetryAfter: 48 * time.Second}
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(e)}}})
	resp, body, err := request{}.to(t, s).Answer(t)
	if err != nil || resp.Header.Get("X-Request-Id") != "req-1" || resp.Header.Get("X-Should-Retry") != "false" ||
		!strings.Contains(body, `"retryDelay": "48s"`) || !strings.Contains(body, `"requestId": "req-1"`) || !strings.Contains(body, "QuotaFailure") {
		t.Errorf("%v %v %s", err, resp.Header, body)
	}
	_, err = rpcRequest{}.answer(t, s)
	if got := detailsOf(err); got != (rpcDetails{"", 48 * time.Second, "req-1"}) {
		t.Errorf("%+v of %v", got, err)
	}
}

// TestHangsAtEachPhase: what has come when nothing more comes.
func TestHangsAtEachPhase(t *testing.T) {
	tests := []struct {
		phase         llmtest.Phase
		status        int
		stream, unary string // digest of the stream; "start", "middle" or "all but the end" of the body
	}{
		{llmtest.PhaseConnect, 0, "", ""},
		{llmtest.PhaseToken, 0, "", ""},
		{llmtest.PhaseHeaders, 0, "", ""},
		{llmtest.PhaseBody, 200, "", ""},
		{llmtest.PhaseFirst, 200, `""`, "{"},
		{llmtest.PhaseStream, 200, `"a "`, "{\n  \"candidates\": [\n"},
		{llmtest.PhaseEnd, 200, `"a " | "b"`, "{\n  \"candidates\": [\n"},
	}
	for _, test := range tests {
		step := llmtest.Text("a b")
		step.Phase = test.phase
		for _, http2 := range []bool{false, true} {
			t.Run(string(test.phase), func(t *testing.T) {
				s := start(t, &Options{Script: []Turn{{Step: step}}})
				for i, path := range []string{ssePath, arrayPath, unaryPath} {
					enough := func(body string) bool { return digests(t, body) == test.stream }
					if path == unaryPath {
						enough = func(body string) bool {
							return strings.HasPrefix(body, test.unary) && !strings.HasSuffix(body, "\n}\n")
						}
					}
					got := request{path: path, http2: http2}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
						return len(s.Requests()) == i+1 && o.Status == test.status && enough(o.Body)
					})
					if !errors.Is(got.Err, context.Canceled) || got.Status != test.status || !enough(got.Body) || strings.HasSuffix(got.Body, "]") {
						t.Errorf("%s: %+v", path, got)
					}
					if r := cloudtest.Last(t, s, i+1); !r.Gone || r.Status != test.status || r.Model != "gemini-2.5-flash" || r.Stream != (path != unaryPath) {
						t.Errorf("logged %+v", r)
					}
				}
			})
		}
		t.Run(string(test.phase)+"/gRPC", func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Step: step}}})
			for i, r := range []rpcRequest{{stream: true}, {}} {
				want := test.stream
				if !r.stream {
					want = ""
				}
				got, err := r.leaving(t, s, func(got string) bool { return len(s.Requests()) == i+1 && got == want })
				if got != want || ending(err) != "Canceled" {
					t.Errorf("%q, %v", got, err)
				}
				if r := cloudtest.Last(t, s, i+1); !r.Gone || r.Status != test.status || r.Model != "gemini-2.5-flash" || r.Stream != (i == 0) {
					t.Errorf("logged %+v", r)
				}
			}
		})
	}
}

func TestHangWithoutContentOfItsOwn(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Hang(llmtest.PhaseStream)}}})
	got := request{path: ssePath}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool { return digests(t, o.Body) == `"partial "` })
	if digests(t, got.Body) != `"partial "` {
		t.Errorf("%+v", got)
	}
}

// TestFailsAtEachPhase: from the body on, an error is inside a 200.
func TestFailsAtEachPhase(t *testing.T) {
	const safety = "HARM_CATEGORY_HARASSMENT HIGH SAFETY"
	tests := []struct {
		kind   llm.Kind
		phase  llmtest.Phase
		status int // 0: no answer
		stream string
		cut    bool // the body has no proper end
		unary  string
		rpc    string // how it ends over gRPC
	}{
		{llm.ErrRateLimited, llmtest.PhaseHeaders, 429, "error RESOURCE_EXHAUSTED", false, "error RESOURCE_EXHAUSTED", "ResourceExhausted"},
		{llm.ErrUnavailable, llmtest.PhaseBody, 200, "error UNAVAILABLE", false, "error UNAVAILABLE", "Unavailable"},
		{llm.ErrUnavailable, llmtest.PhaseFirst, 200, `"" | error UNAVAILABLE`, false, "error UNAVAILABLE", "Unavailable"},
		{llm.ErrUnavailable, llmtest.PhaseStream, 200, `"a " | error UNAVAILABLE`, false, "error UNAVAILABLE", "Unavailable"},
		{llm.ErrRateLimited, llmtest.PhaseEnd, 200, `"a " | "b" | error RESOURCE_EXHAUSTED`, false, "error RESOURCE_EXHAUSTED", "ResourceExhausted"},
		{llm.ErrContentFiltered, llmtest.PhaseHeaders, 200, "blocked SAFETY", false, "blocked SAFETY", ""},
		{llm.ErrContentFiltered, llmtest.PhaseStream, 200, `"a " | ` + safety, false, safety, ""},
		{llm.ErrContentFiltered, llmtest.PhaseEnd, 200, `"a " | "b" | ` + safety, false, safety, ""},
		{llm.ErrBadOutput, llmtest.PhaseHeaders, 200, "MALFORMED_FUNCTION_CALL", false, "MALFORMED_FUNCTION_CALL", ""},
		{llm.ErrBadOutput, llmtest.PhaseStream, 200, `"a " | MALFORMED_FUNCTION_CALL`, false, "MALFORMED_FUNCTION_CALL", ""},
		{llm.ErrConnection, llmtest.PhaseHeaders, 0, "", true, "", "Internal"},
		{llm.ErrConnection, llmtest.PhaseStream, 200, `"a "`, true, "", "Internal"},
		{llm.ErrInterrupted, llmtest.PhaseEnd, 200, `"a " | "b"`, true, "", "Internal"},
	}
	for _, test := range tests {
		step := llmtest.Text("a b")
		step.Error, step.Phase = &llm.Error{Kind: test.kind, Filtered: []string{"harassment (high)"}}, test.phase
		t.Run(string(test.kind)+"/"+string(test.phase), func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Step: step}}})
			for _, http2 := range []bool{false, true} {
				for path, want := range map[string]string{ssePath: test.stream, arrayPath: test.stream, unaryPath: test.unary} {
					got := request{path: path, http2: http2}.to(t, s).Outcome(t)
					if got.Status != test.status || digests(t, got.Body) != want || (got.Err != nil) != test.cut {
						t.Errorf("%s: %+v", path, got)
					}
				}
			}
			for _, r := range []rpcRequest{{stream: true}, {}} {
				want, _, _ := strings.Cut(strings.Replace(test.stream, "error", "| error", 1), "| error")
				if !r.stream && test.rpc != "" {
					want = ""
				} else if !r.stream {
					want = test.unary
				}
				got, err := r.answer(t, s)
				if got != strings.TrimSuffix(strings.TrimSpace(want), " |") || ending(err) != test.rpc {
					t.Errorf("over gRPC: %q, %v", got, err)
				}
			}
		})
	}
}

func TestBlockedPrompt(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered, Code: "PROHIBITED_CONTENT", Message: "no"})}}})
	got := request{}.to(t, s).Outcome(t)
	if got.Status != 200 || !strings.Contains(got.Body, `"blockReason": "PROHIBITED_CONTENT"`) || !strings.Contains(got.Body, `"blockReasonMessage": "no"`) || strings.Contains(got.Body, "candidates") {
		t.Errorf("%+v", got)
	}
}
