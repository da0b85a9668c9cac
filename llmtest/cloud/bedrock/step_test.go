package bedrock

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestErrorsOfEachKind: a step that fails is the service's own exception, and llm.HTTPError reads it back.
func TestErrorsOfEachKind(t *testing.T) {
	for _, test := range []struct {
		err       llm.Error
		status    int
		exception string
		kind      llm.Kind // that llm.HTTPError makes of it; "": the same
	}{
		{llm.Error{Kind: llm.ErrInvalid}, 400, "ValidationException", ""},
		{llm.Error{Kind: llm.ErrUnsupported}, 400, "ValidationException", ""},
		{llm.Error{Kind: llm.ErrAuth}, 403, "UnrecognizedClientException", ""},
		{llm.Error{Kind: llm.ErrAuth, Code: "ExpiredTokenException"}, 403, "ExpiredTokenException", ""},
		{llm.Error{Kind: llm.ErrAuth, Code: "AccessDeniedException"}, 403, "AccessDeniedException", ""},
		{llm.Error{Kind: llm.ErrNotFound}, 404, "ResourceNotFoundException", ""},
		{llm.Error{Kind: llm.ErrContextTooLong}, 400, "ValidationException", ""},
		{llm.Error{Kind: llm.ErrRateLimited}, 429, "ThrottlingException", ""},
		{llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 2 * time.Second}, 429, "ThrottlingException", ""},
		{llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 1500 * time.Millisecond}, 429, "ThrottlingException", ""},
		{llm.Error{Kind: llm.ErrQuotaExceeded}, 429, "ThrottlingException", ""},
		{llm.Error{Kind: llm.ErrTimeout}, 408, "ModelTimeoutException", ""},
		{llm.Error{Kind: llm.ErrUnavailable}, 503, "ServiceUnavailableException", ""},
		{llm.Error{Kind: llm.ErrUnavailable, Code: "ModelNotReadyException"}, 429, "ModelNotReadyException", ""},
		{llm.Error{Kind: llm.ErrUnknown}, 500, "InternalServerException", llm.ErrUnavailable},
		{llm.Error{Code: "ModelErrorException"}, 424, "ModelErrorException", llm.ErrUnavailable},
		{llm.Error{Status: 424}, 424, "InternalServerException", llm.ErrUnavailable},
		{llm.Error{Status: 504}, 504, "ModelTimeoutException", llm.ErrTimeout},
		{llm.Error{Status: 401}, 401, "UnrecognizedClientException", llm.ErrAuth},
		{llm.Error{Status: 404}, 404, "ResourceNotFoundException", llm.ErrNotFound},
		{llm.Error{Status: 418}, 418, "ValidationException", llm.ErrUnavailable},
		{llm.Error{Status: 502}, 502, "InternalServerException", llm.ErrUnavailable},
		{llm.Error{Status: 503}, 503, "ServiceUnavailableException", llm.ErrUnavailable},
		{llm.Error{Kind: llm.ErrContentFiltered, Status: 400}, 400, "ValidationException", llm.ErrInvalid},
		{llm.Error{Kind: llm.ErrUnavailable, Status: 529, Code: "OverloadedException", Message: "busy"}, 529, "OverloadedException", ""},
	} {
		for _, path := range []string{unaryPath, streamPath} {
			s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&test.err)}}})
			resp, text, err := request{path: path}.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			if m := messageOf(t, text); resp.StatusCode != test.status || exceptionOf(resp) != test.exception || m == "" || test.err.Message != "" && m != test.err.Message {
				t.Errorf("%+v: %d %s %s", test.err, resp.StatusCode, exceptionOf(resp), text)
			}
			got := llm.HTTPError(resp.StatusCode, resp.Header, []byte(text))
			if want := cmp.Or(string(test.kind), string(test.err.Kind)); string(got.Kind) != want || got.RetryAfter != test.err.RetryAfter {
				t.Errorf("%+v is read back as %s, %s", test.err, got.Kind, got.RetryAfter)
			}
		}
	}
}

func TestErrorHeaders(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, RequestID: "req-1", NoRetry: true})}}})
	resp, _, err := request{}.to(t, s).Answer(t)
	if err != nil || resp.Header.Get("X-Amzn-Requestid") != "req-1" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %v", err, resp.Header)
	}
}

// TestHangsAtEachPhase: what has come when nothing more comes.
func TestHangsAtEachPhase(t *testing.T) {
	for _, test := range []struct {
		phase         llmtest.Phase
		status        int
		stream, unary string // digest of the stream; beginning of the body
	}{
		{llmtest.PhaseConnect, 0, "", ""},
		{llmtest.PhaseToken, 0, "", ""},
		{llmtest.PhaseHeaders, 0, "", ""},
		{llmtest.PhaseBody, 200, "", ""},
		{llmtest.PhaseFirst, 200, `assistant`, "{"},
		{llmtest.PhaseStream, 200, `assistant | 0 a `, `{"metrics":{`},
		{llmtest.PhaseEnd, 200, `assistant | 0 a  | 0 b | 0 end`, `{"metrics":{`},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(string(test.phase), func(t *testing.T) {
				step := llmtest.Text("a b")
				step.Phase = test.phase
				s := start(t, &Options{Script: []Turn{{Step: step}}})
				got := request{path: streamPath, http2: http2}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return len(s.Requests()) == 1 && o.Status == test.status && digests(t, o.Body) == test.stream
				})
				if got.Err == nil || errors.Is(got.Err, io.EOF) || got.Status != test.status || digests(t, got.Body) != test.stream {
					t.Errorf("stream: %+v", got)
				}
				got = request{http2: http2}.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return len(s.Requests()) == 2 && o.Status == test.status && strings.HasPrefix(o.Body, test.unary)
				})
				if got.Err == nil || errors.Is(got.Err, io.EOF) || got.Status != test.status || !strings.HasPrefix(got.Body, test.unary) ||
					strings.HasSuffix(got.Body, "}}") {
					t.Errorf("unary: %+v", got)
				}
				for n := 1; n <= 2; n++ {
					if r := cloudtest.Last(t, s, n); !r.Gone || r.Status != test.status || r.Model != "us.anthropic.claude-sonnet-4-20250514-v1:0" || r.Stream != (n == 1) {
						t.Errorf("logged %+v", r)
					}
				}
			})
		}
	}
}

// TestFailsAtEachPhase: from the body on, an error is inside a 200.
func TestFailsAtEachPhase(t *testing.T) {
	const whole = `assistant | 0 a  | 0 b | 0 end | stop `
	for _, test := range []struct {
		err    llm.Error
		phase  llmtest.Phase
		status int // 0: no answer
		stream string
		cut    bool // the body has no proper end
		unary  string
	}{
		{llm.Error{Kind: llm.ErrRateLimited}, llmtest.PhaseHeaders, 429, "", false, `{"message":"Too many requests`},
		{llm.Error{Kind: llm.ErrUnavailable}, llmtest.PhaseBody, 200, "exception serviceUnavailableException", false, `{"__type":"ServiceUnavailableException"`},
		{llm.Error{Kind: llm.ErrRateLimited}, llmtest.PhaseFirst, 200, `assistant | exception throttlingException`, false, `{"__type":"ThrottlingException"`},
		{llm.Error{Kind: llm.ErrQuotaExceeded}, llmtest.PhaseStream, 200, `assistant | 0 a  | exception throttlingException`, false, `{"__type":"ThrottlingException"`},
		{llm.Error{Kind: llm.ErrInvalid}, llmtest.PhaseStream, 200, `assistant | 0 a  | exception validationException`, false, `{"__type":"ValidationException"`},
		{llm.Error{Kind: llm.ErrTimeout}, llmtest.PhaseStream, 200, `assistant | 0 a  | exception modelStreamErrorException`, false, `{"__type":"ModelTimeoutException"`},
		{llm.Error{Kind: llm.ErrUnknown}, llmtest.PhaseEnd, 200, `assistant | 0 a  | 0 b | 0 end | exception internalServerException`, false, `{"__type":"InternalServerException"`},
		{llm.Error{Kind: llm.ErrAuth}, llmtest.PhaseStream, 200, `assistant | 0 a  | error UnrecognizedClientException`, false, `{"__type":"UnrecognizedClientException"`},
		{llm.Error{Kind: llm.ErrContentFiltered}, llmtest.PhaseStream, 200, `assistant | 0 a  | stop content_filtered | metadata`, false, `{"metrics"`},
		{llm.Error{Kind: llm.ErrContentFiltered}, llmtest.PhaseEnd, 200, whole + `content_filtered | metadata`, false, `{"metrics"`},
		{llm.Error{Kind: llm.ErrBadOutput}, llmtest.PhaseEnd, 200, whole + `malformed_model_output | metadata`, false, `{"metrics"`},
		{llm.Error{Kind: llm.ErrConnection}, llmtest.PhaseHeaders, 0, "", true, ""},
		{llm.Error{Kind: llm.ErrConnection}, llmtest.PhaseStream, 200, `assistant | 0 a `, true, `{"metrics"`},
		{llm.Error{Kind: llm.ErrInterrupted}, llmtest.PhaseEnd, 200, `assistant | 0 a  | 0 b | 0 end`, true, `{"metrics"`},
		{llm.Error{Kind: llm.ErrBadOutput}, llmtest.PhaseHeaders, 200, `assistant | stop end_turn | metadata`, false, `{"metrics":{"latencyMs":1},"output":{"message":{"content":[],`},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(string(test.err.Kind)+"/"+string(test.phase), func(t *testing.T) {
				step := llmtest.Text("a b")
				step.Error, step.Phase = &test.err, test.phase
				s := start(t, &Options{Script: []Turn{{Step: step}}})
				got := request{path: streamPath, http2: http2}.to(t, s).Outcome(t)
				if got.Status != test.status || digests(t, got.Body) != test.stream || (got.Err != nil) != test.cut {
					t.Errorf("stream: %+v %s", got, digests(t, got.Body))
				}
				got = request{http2: http2}.to(t, s).Outcome(t)
				if got.Status != test.status || !strings.HasPrefix(got.Body, test.unary) || (got.Err != nil) != test.cut {
					t.Errorf("unary: %+v", got)
				}
			})
		}
	}
}

func TestExceptionsInStreams(t *testing.T) {
	step := llmtest.Text("a")
	step.Error, step.Phase = &llm.Error{Kind: llm.ErrTimeout}, llmtest.PhaseStream
	s := start(t, &Options{Script: []Turn{{Step: step}}})
	frames, _ := decodeFrames(t, request{path: streamPath}.to(t, s).Outcome(t).Body)
	const want = `{"message":"Model has timed out in processing the request. Try your request again.",` +
		`"originalMessage":"Model has timed out in processing the request. Try your request again.","originalStatusCode":408}`
	if got := frames[len(frames)-1].payload; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFiltered: a filter is no error of this service.
func TestFiltered(t *testing.T) {
	call := llmtest.Calls(llm.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`})
	call.Error, call.Phase = &llm.Error{Kind: llm.ErrBadOutput}, llmtest.PhaseEnd
	s := start(t, &Options{Script: []Turn{
		{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered}), Count: 4},
		{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered, Partial: llmtest.Text("a b").Response})},
		{Step: call},
	}})
	guarded := strings.TrimSuffix(hello, "}") + `,"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"DRAFT","trace":"enabled"}}`
	for i, test := range []struct {
		r    request
		want string
	}{
		{request{path: streamPath}, `assistant | 0 The  | 0 generated  | 0 text  | 0 has  | 0 been  | 0 blocked  | 0 by  | 0 our  | 0 content  | 0 filters. | 0 end | stop content_filtered | metadata`},
		{request{path: streamPath, body: guarded}, `assistant | 0 Sorry,  | 0 the  | 0 model  | 0 cannot  | 0 answer  | 0 this  | 0 question. | 0 end | stop guardrail_intervened | metadata`},
		{request{}, `"text":"The generated text has been blocked by our content filters."}],"role":"assistant"}},"stopReason":"content_filtered"`},
		{request{body: guarded}, `"stopReason":"guardrail_intervened","trace":{"guardrail":{"actionReason":"Guardrail blocked."}}`},
		{request{path: streamPath}, `assistant | 0 a  | 0 b | 0 end | stop content_filtered | metadata`},
		{request{path: streamPath}, `assistant | 0 call a f | 0 <{"x":1}> | 0 end | stop malformed_tool_use | metadata`},
	} {
		got := test.r.to(t, s).Outcome(t)
		if got.Status != 200 || got.Err != nil || test.r.path != "" && digests(t, got.Body) != test.want || test.r.path == "" && !strings.Contains(got.Body, test.want) {
			t.Errorf("%d: %d %v %s", i, got.Status, got.Err, got.Body)
		}
	}
}

func TestCut(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := start(t, &Options{Script: []Turn{{Step: llmtest.Cut("a b")}}})
		got := request{path: streamPath, http2: http2}.to(t, s).Outcome(t)
		if got.Err == nil || digests(t, got.Body) != `assistant | 0 a  | 0 b | 0 end` {
			t.Errorf("stream: %+v", got)
		}
		resp, body, err := request{http2: http2}.to(t, s).Answer(t)
		if err == nil || resp.ContentLength <= int64(len(body)) || body == "" || !http2 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("unary: %v, %d of %d bytes", err, len(body), resp.ContentLength)
		}
	}
}

// TestPauses: Delay is before the first content, Gap between two events.
func TestPauses(t *testing.T) {
	const pause = 40 * time.Millisecond
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b").After(pause).Every(pause)}}})
	begin := time.Now()
	resp, err := request{path: streamPath}.to(t, s).Send(t)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	times := map[string]time.Duration{}
	for {
		m, err := eventstream.NewDecoder().Decode(resp.Body, nil)
		if err != nil {
			break
		}
		d := decoded{kind: "event", name: m.Headers.Get(":event-type").String(), payload: string(bytes.Clone(m.Payload))}
		times[d.digest(t)] = time.Since(begin)
	}
	if times["0 a "] < pause || times["0 b"] < 2*pause || times["stop end_turn"] < 3*pause || times["metadata"] < 4*pause {
		t.Errorf("%v", times)
	}
	begin = time.Now()
	if got := (request{}).to(t, s).Outcome(t); got.Status != http.StatusOK || time.Since(begin) < pause || !strings.Contains(got.Body, `"latencyMs":41`) {
		t.Errorf("unary: %+v", got)
	}
}
