package azure

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
)

// The two recorded answers of the tests below.
const (
	recordedBody   = `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"42"}}]}`
	recordedStream = "data: {\"choices\":[{\"delta\":{\"content\":\"4\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"2\"},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: [DONE]\n\n"
)

func recorded(contentType, body string) *Reply {
	return &Reply{Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
}

// TestFaultsOfExactBytes: a fault bends exact bytes, too, or is refused; it is never passed over.
func TestFaultsOfExactBytes(t *testing.T) {
	body, stream := recorded("application/json", recordedBody), recorded("text/event-stream", recordedStream)
	events := strings.SplitAfter(recordedStream, "\n\n")
	tests := []struct {
		fault  string
		reply  *Reply
		status int    // 0: none
		body   string // that has come; "error CODE": an error body
		end    string // "whole", "hangs" or "cut"
	}{
		{"status=429", body, 429, "error 429", "whole"},
		{"status=429,retry-after=2", stream, 429, "error 429", "whole"},
		{"error=unavailable,code=busy", body, 503, "error busy", "whole"},
		{"error=connection", body, 0, "", "cut"},
		{"status=201", body, 201, recordedBody, "whole"},
		{"hang", body, 0, "", "hangs"},
		{"hang=body", stream, 200, "", "hangs"},
		{"hang=first", stream, 200, events[0], "hangs"},
		{"hang=stream", body, 200, recordedBody[:(len(recordedBody)+1)/2], "hangs"},
		{"hang=end", stream, 200, events[0] + events[1], "hangs"},
		{"gap=5ms", stream, 200, recordedStream, "whole"},
		{"gap=5ms", body, 400, "error bad_fault", "whole"},
		{"status=429,at=stream", stream, 400, "error bad_fault", "whole"},
		{"retry-after=2", stream, 400, "error bad_fault", "whole"},
		{"cut=end", stream, 200, events[0] + events[1], "cut"},
		{"cut=half", body, 200, recordedBody[:len(recordedBody)/2], "cut"},
		{"ping=5ms/12ms", body, 200, "   " + recordedBody, "whole"},
		{"ping=5ms/12ms", stream, 200, ping + ping + ping + recordedStream, "whole"},
		{"trickle=20/1ms", body, 200, recordedBody, "whole"},
	}
	for _, test := range tests {
		t.Run(test.fault, func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Reply: test.reply}}})
			r := ordered(test.fault)
			var got cloudtest.Outcome
			begin := time.Now()
			if test.end == "hangs" {
				got = r.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return len(s.Requests()) == 1 && o.Status == test.status && o.Body == test.body
				})
			} else {
				got = r.to(t, s).Outcome(t)
			}
			if code, ok := strings.CutPrefix(test.body, "error "); ok {
				if e := errorOf(t, got.Body); e.Code != code {
					t.Errorf("%s", got.Body)
				}
			} else if got.Body != test.body {
				t.Errorf("%q, want %q", got.Body, test.body)
			}
			if got.Status != test.status || (got.Err != nil) != (test.end != "whole") {
				t.Errorf("%d, %v", got.Status, got.Err)
			}
			if test.fault == "gap=5ms" && test.status == 200 && time.Since(begin) < 10*time.Millisecond {
				t.Error("the events came without a gap")
			}
		})
	}
}

// TestPingsKeepABodyValid: with pings, whatever is answered as one body is JSON, with its blanks in front.
func TestPingsKeepABodyValid(t *testing.T) {
	s := start(t, nil)
	for _, test := range []struct {
		fault, body string
		status      int
	}{
		{"ping=5ms/12ms", hello, 200},
		{"ping=5ms/12ms,status=503", hello, 503},
		{"ping=5ms/12ms,status=503", helloStream, 503},
		{"ping=5ms/12ms,error=unavailable,at=body", hello, 200},
		{"ping=5ms/12ms,body=%7B%7D", hello, 200},
		{"ping=5ms/12ms,gap=1ms,trickle=50/1ms", hello, 200},
	} {
		for _, http2 := range []bool{false, true} {
			r := request{body: test.body, http2: http2, header: map[string]string{cloud.FaultHeader: test.fault}}
			got := r.to(t, s).Outcome(t)
			if got.Err != nil || got.Status != test.status || !strings.HasPrefix(got.Body, "   {") || !json.Valid([]byte(got.Body)) {
				t.Errorf("%s: %+v", test.fault, got)
			}
		}
	}
	r := request{header: map[string]string{cloud.FaultHeader: "ping=5ms,hang=body"}}
	got := r.to(t, s).Leave(t, func(o cloudtest.Outcome) bool { return len(o.Body) > 2 })
	if strings.Trim(got.Body, " ") != "" || errors.Is(got.Err, http.ErrContentLength) {
		t.Errorf("%+v", got)
	}
}
