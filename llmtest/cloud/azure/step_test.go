package azure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestErrorsOfEachKind: a step that fails is the service's own error, in the form of the path that was asked,
// and llm.HTTPError reads it back.
func TestErrorsOfEachKind(t *testing.T) {
	tests := []struct {
		err          llm.Error
		status       int
		azure, their string   // codes: of Azure, and of OpenAI itself
		kind         llm.Kind // that llm.HTTPError makes of it; "": the same
	}{
		{llm.Error{Kind: llm.ErrInvalid}, 400, "", "", ""},
		{llm.Error{Kind: llm.ErrUnsupported}, 400, "unsupported_parameter", "unsupported_parameter", ""},
		{llm.Error{Kind: llm.ErrAuth}, 401, "401", "invalid_api_key", ""},
		{llm.Error{Kind: llm.ErrNotFound}, 404, "DeploymentNotFound", "model_not_found", ""},
		{llm.Error{Kind: llm.ErrContextTooLong}, 400, "context_length_exceeded", "context_length_exceeded", ""},
		{llm.Error{Kind: llm.ErrContentFiltered}, 400, "content_filter", "content_policy_violation", ""},
		{llm.Error{Kind: llm.ErrRateLimited}, 429, "429", "rate_limit_exceeded", ""},
		{llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 1500 * time.Millisecond}, 429, "429", "rate_limit_exceeded", ""},
		{llm.Error{Kind: llm.ErrQuotaExceeded}, 429, "insufficient_quota", "insufficient_quota", ""},
		{llm.Error{Kind: llm.ErrTimeout}, 408, "Timeout", "timeout", ""},
		{llm.Error{Kind: llm.ErrUnavailable}, 503, "ServiceUnavailable", "", ""},
		{llm.Error{Kind: llm.ErrUnknown}, 500, "", "", llm.ErrUnavailable},
		{llm.Error{Status: 504}, 504, "Timeout", "timeout", llm.ErrTimeout},
		{llm.Error{Status: 502}, 502, "", "", llm.ErrUnavailable},
		{llm.Error{Kind: llm.ErrUnavailable, Status: 529, Code: "overloaded", Message: "busy"}, 529, "overloaded", "overloaded", ""},
	}
	for _, test := range tests {
		for _, path := range []string{deploymentPath, azureV1Path, modelsPath, openAIPath, compatiblePat} {
			for _, body := range []string{hello, helloStream} {
				s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&test.err)}}})
				resp, text, err := request{path: path, body: body}.to(t, s).Answer(t)
				if err != nil {
					t.Fatal(err)
				}
				code := test.azure
				if path == openAIPath || path == compatiblePat {
					code = test.their
					checkOpenAIForm(t, resp, text)
				}
				if e := errorOf(t, text); resp.StatusCode != test.status || e.Code != code || test.err.Message != "" && e.Message != test.err.Message {
					t.Errorf("%s: %+v: %d %s", path, test.err, resp.StatusCode, text)
				}
				got := llm.HTTPError(resp.StatusCode, resp.Header, []byte(text))
				if want := cmpOr(test.kind, test.err.Kind); got.Kind != want || got.RetryAfter != test.err.RetryAfter {
					t.Errorf("%s: %+v is read back as %s, %s", path, test.err, got.Kind, got.RetryAfter)
				}
			}
		}
	}
}

// checkOpenAIForm: an error of OpenAI's own has four members, two of which may be null, and says nothing of Azure.
func checkOpenAIForm(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	var outer map[string]map[string]*string
	if err := json.Unmarshal([]byte(body), &outer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	e := outer["error"]
	_, param := e["param"]
	_, code := e["code"]
	if len(outer) != 1 || len(e) != 4 || e["message"] == nil || e["type"] == nil || !param || !code {
		t.Errorf("not of OpenAI's form: %s", body)
	}
	if strings.Contains(strings.ToLower(body), "azure") || resp.Header.Get("Apim-Request-Id") != "" {
		t.Errorf("it speaks of Azure: %v %s", resp.Header, body)
	}
}

// TestErrorsInsideAnAnswerHaveTheFormOfThePath: in the middle of a stream, and in place of a body.
func TestErrorsInsideAnAnswerHaveTheFormOfThePath(t *testing.T) {
	s := start(t, nil)
	for path, code := range map[string]string{deploymentPath: "429", azureV1Path: "429", openAIPath: "rate_limit_exceeded", compatiblePat: "rate_limit_exceeded"} {
		for body, want := range map[string]string{hello: "", helloStream: "error " + code} {
			r := ordered("error=rate_limited,at=stream")
			r.path, r.body = path, body
			resp, text, err := r.to(t, s).Answer(t)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v %d", path, err, resp.StatusCode)
			}
			if want == "" && errorOf(t, text).Code != code || want != "" && !strings.HasSuffix(digests(t, text), want) {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

func cmpOr(k, otherwise llm.Kind) llm.Kind {
	if k != "" {
		return k
	}
	return otherwise
}

func TestFilteredPromptNamesItsCategories(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&llm.Error{
		Kind: llm.ErrContentFiltered, Filtered: []string{"hate (high)"}, RequestID: "req-1", NoRetry: true,
	})}}})
	resp, body, err := request{}.to(t, s).Answer(t)
	if err != nil {
		t.Fatal(err)
	}
	e := errorOf(t, body)
	hate := e.InnerError.ContentFilterResult["hate"]
	if e.Param != "prompt" || e.InnerError.Code != "ResponsibleAIPolicyViolation" || !hate.Filtered || hate.Severity != "high" ||
		e.InnerError.ContentFilterResult["violence"].Filtered {
		t.Errorf("%s", body)
	}
	if resp.Header.Get("X-Request-Id") != "req-1" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v", resp.Header)
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
		{llmtest.PhaseFirst, 200, `filter | assistant ""`, "{"},
		{llmtest.PhaseStream, 200, `filter | assistant "" | "a "`, `{"choices":[{`},
		{llmtest.PhaseEnd, 200, `filter | assistant "" | "a " | "b"`, `{"choices":[{`},
	}
	for _, test := range tests {
		for _, http2 := range []bool{false, true} {
			t.Run(string(test.phase), func(t *testing.T) {
				step := llmtest.Text("a b")
				step.Phase = test.phase
				s := start(t, &Options{Script: []Turn{{Step: step}}})
				got := request{body: helloStream, http2: http2}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return len(s.Requests()) == 1 && o.Status == test.status && digests(t, o.Body) == test.stream
				})
				if !errors.Is(got.Err, context.Canceled) || got.Status != test.status || digests(t, got.Body) != test.stream {
					t.Errorf("stream: %+v", got)
				}
				got = request{http2: http2}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return len(s.Requests()) == 2 && o.Status == test.status && strings.HasPrefix(o.Body, test.unary)
				})
				if !errors.Is(got.Err, context.Canceled) || got.Status != test.status || !strings.HasPrefix(got.Body, test.unary) ||
					strings.HasSuffix(got.Body, "}}") {
					t.Errorf("unary: %+v", got)
				}
				for n := 1; n <= 2; n++ {
					if r := cloudtest.Last(t, s, n); !r.Gone || r.Status != test.status || r.Model != "gpt-4o" || r.Stream != (n == 1) {
						t.Errorf("logged %+v", r)
					}
				}
			})
		}
	}
}

func TestHangWithoutContentOfItsOwn(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Hang(llmtest.PhaseStream)}}})
	const want = `filter | assistant "" | "partial "`
	got := request{body: helloStream}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool { return digests(t, o.Body) == want })
	if digests(t, got.Body) != want {
		t.Errorf("%+v", got)
	}
}

// TestFailsAtEachPhase: from the body on, an error is inside a 200.
func TestFailsAtEachPhase(t *testing.T) {
	tests := []struct {
		kind   llm.Kind
		phase  llmtest.Phase
		status int // 0: no answer
		stream string
		cut    bool // the body has no proper end
		unary  string
	}{
		{llm.ErrRateLimited, llmtest.PhaseHeaders, 429, "", false, `{"error":{"code":"429"`},
		{llm.ErrUnavailable, llmtest.PhaseBody, 200, "error ServiceUnavailable", false, `{"error":{"code":"ServiceUnavailable"`},
		{llm.ErrUnavailable, llmtest.PhaseFirst, 200, `filter | assistant "" | error ServiceUnavailable`, false, `{"error":{"code":"ServiceUnavailable"`},
		{llm.ErrUnavailable, llmtest.PhaseStream, 200, `filter | assistant "" | "a " | error ServiceUnavailable`, false, `{"error":{"code":"ServiceUnavailable"`},
		{llm.ErrUnavailable, llmtest.PhaseEnd, 200, `filter | assistant "" | "a " | "b" | error ServiceUnavailable`, false, `{"error":{"code":"ServiceUnavailable"`},
		{llm.ErrContentFiltered, llmtest.PhaseStream, 200, `filter | assistant "" | "a " | finish content_filter | usage | [DONE]`, false, `{"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"medium"}},"finish_reason":"content_filter"`},
		{llm.ErrConnection, llmtest.PhaseHeaders, 0, "", true, ""},
		{llm.ErrConnection, llmtest.PhaseStream, 200, `filter | assistant "" | "a "`, true, `{"choices":[{`},
		{llm.ErrInterrupted, llmtest.PhaseEnd, 200, `filter | assistant "" | "a " | "b"`, true, `{"choices":[{`},
		{llm.ErrBadOutput, llmtest.PhaseHeaders, 200, `[DONE]`, false, `{"choices":[],`},
	}
	for _, test := range tests {
		for _, http2 := range []bool{false, true} {
			t.Run(string(test.kind)+"/"+string(test.phase), func(t *testing.T) {
				step := llmtest.Text("a b")
				step.Error, step.Phase = &llm.Error{Kind: test.kind}, test.phase
				s := start(t, &Options{Script: []Turn{{Step: step}}})
				got := request{body: helloStream, http2: http2}.to(t, s).Outcome(t)
				if got.Status != test.status || digests(t, got.Body) != test.stream || (got.Err != nil) != test.cut {
					t.Errorf("stream: %+v", got)
				}
				got = request{http2: http2}.to(t, s).Outcome(t)
				if got.Status != test.status || !strings.HasPrefix(got.Body, test.unary) || (got.Err != nil) != test.cut {
					t.Errorf("unary: %+v", got)
				}
			})
		}
	}
}

func TestCut(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := start(t, &Options{Script: []Turn{{Step: llmtest.Cut("a b")}}})
		got := request{body: helloStream, http2: http2}.to(t, s).Outcome(t)
		if got.Err == nil || digests(t, got.Body) != `filter | assistant "" | "a " | "b"` {
			t.Errorf("stream: %+v", got)
		}
		resp, body, err := request{http2: http2}.to(t, s).Answer(t)
		if err == nil || resp.ContentLength <= int64(len(body)) || body == "" {
			t.Errorf("unary: %v, %d of %d bytes", err, len(body), resp.ContentLength)
		}
		if !http2 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("unary: %v", err)
		}
	}
}

// TestPauses: Delay is before the first content, Gap between two events.
func TestPauses(t *testing.T) {
	const pause = 40 * time.Millisecond
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b").After(pause).Every(pause)}}})
	begin := time.Now()
	resp, err := request{body: helloStream}.to(t, s).Send(t)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	seen := ""
	times := map[string]time.Duration{}
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = resp.Body.Read(buf)
		seen += string(buf[:n])
		for _, mark := range []string{`"a "`, `"b"`, `[DONE]`} {
			if strings.Contains(seen, mark) && times[mark] == 0 {
				times[mark] = time.Since(begin)
			}
		}
	}
	if !errors.Is(err, io.EOF) || times[`"a "`] < pause || times[`"b"`] < 2*pause || times["[DONE]"] < 5*pause {
		t.Errorf("%v, %v", err, times)
	}
	begin = time.Now()
	if got := (request{}).to(t, s).Outcome(t); got.Status != http.StatusOK || time.Since(begin) < pause {
		t.Errorf("unary: %+v", got)
	}
}
