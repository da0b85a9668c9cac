package bedrock

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llmtest"
)

// TestFaults: every fault, ordered by the script and by the client, as a client sees it.
func TestFaults(t *testing.T) {
	const whole = `assistant | 0 a  | 0 b | 0 end | stop end_turn | metadata`
	hung := context.Canceled // by the client that leaves
	s := start(t, &Options{Next: func(r Request) Turn {
		return Turn{Step: llmtest.Text("a b"), Fault: r.Header.Get("X-Turn")}
	}})
	for _, test := range []struct {
		fault  string
		status int
		stream string // digest
		err    error  // of reading it
	}{
		{"delay=20ms", 200, whole, nil},
		{"gap=5ms", 200, whole, nil},
		{"hang", 0, "", hung},
		{"hang=body", 200, "", hung},
		{"hang=first,ping=10ms", 200, `assistant`, hung},
		{"hang=stream", 200, `assistant | 0 a `, hung},
		{"hang=end", 200, `assistant | 0 a  | 0 b | 0 end`, hung},
		{"status=429,retry-after=2", 429, "", nil},
		{"error=quota_exceeded", 429, "", nil},
		{"error=connection", 0, "", io.EOF},
		{"error=unavailable,at=stream", 200, `assistant | 0 a  | exception serviceUnavailableException`, nil},
		{"error=unavailable,at=stream,code=ModelErrorException", 200, `assistant | 0 a  | exception modelStreamErrorException`, nil},
		{"error=unavailable,at=first,code=Boom", 200, `assistant | error Boom`, nil},
		{"error=content_filtered,at=end", 200, `assistant | 0 a  | 0 b | 0 end | stop content_filtered | metadata`, nil},
		{"cut=start", 0, "", io.EOF},
		{"cut", 200, `assistant | 0 a  | 0 b`, io.ErrUnexpectedEOF},
		{"cut=end", 200, `assistant | 0 a  | 0 b | 0 end`, io.ErrUnexpectedEOF},
		{"reset=start", 0, "", syscall.ECONNRESET},
		{"reset", 200, `assistant | 0 a  | 0 b`, syscall.ECONNRESET},
		{"reset=end", 200, `assistant | 0 a  | 0 b | 0 end`, syscall.ECONNRESET},
		{"drip=1/10ms", 200, "", hung},
		{"drip=1/10ms,status=500", 500, "", hung},
		{"trickle=200/1ms", 200, whole, nil},
		{"write=3", 200, whole, nil},
		{"ping=5ms/20ms", 200, whole, nil},
		{"status=201", 201, whole, nil},
	} {
		for _, header := range []string{cloud.FaultHeader, "X-Turn"} {
			t.Run(test.fault+"/"+header, func(t *testing.T) {
				r := request{path: streamPath, header: map[string]string{header: test.fault}}
				digest := digests
				if test.status >= http.StatusBadRequest { // a body of JSON
					digest = func(*testing.T, string) string { return "" }
				}
				cloudtest.CheckFault(t, s, r.to(t, s), digest, cloudtest.Outcome{Status: test.status, Body: test.stream, Err: test.err})
			})
		}
	}
}

func TestFaultCutInsideAFrame(t *testing.T) {
	s := start(t, nil)
	got := ordered("cut=frame").to(t, s).Outcome(t)
	frames, rest := decodeFrames(t, got.Body)
	if !errors.Is(got.Err, io.ErrUnexpectedEOF) || len(frames) != 3 || rest == "" || !strings.Contains(rest, ":event-type") {
		t.Errorf("%v, %d frames and %q", got.Err, len(frames), rest)
	}
}

func TestFaultPings(t *testing.T) {
	s := start(t, nil)
	got := ordered("ping=5ms/20ms").to(t, s).Outcome(t)
	if n := strings.Count(got.Body, ping()); n != 4 || !strings.HasPrefix(got.Body, ping()) {
		t.Errorf("%d pings in %q", n, got.Body)
	}
	got = ordered("ping=5ms,hang=stream").to(t, s).Leave(t, func(o cloudtest.Outcome) bool { return strings.HasSuffix(o.Body, ping()+ping()) })
	if !strings.HasSuffix(got.Body, ping()+ping()) || digests(t, got.Body) != "assistant | 0 partial " && digests(t, got.Body) != "assistant | 0 ok" {
		t.Errorf("%s", digests(t, got.Body))
	}
}

func TestFaultRetryAfter(t *testing.T) {
	s := start(t, nil)
	resp, _, err := ordered("status=429,retry-after=2").to(t, s).Answer(t)
	if err != nil || resp.Header.Get("Retry-After") != "2" || resp.Header.Get("X-Amz-Retry-After") != "" {
		t.Errorf("%v %v", err, resp.Header)
	}
	resp, _, err = ordered("status=429,retry-after=1.5").to(t, s).Answer(t)
	if err != nil || resp.Header.Get("X-Amz-Retry-After") != "1500" || resp.Header.Get("Retry-After") != "" {
		t.Errorf("%v %v", err, resp.Header)
	}
}

func TestFaultBodyAndHeader(t *testing.T) {
	s := start(t, nil)
	resp, body, err := ordered("status=502,body=%3Chtml%3E,header=content-type:text/html,header=x-amzn-requestid:r-1").to(t, s).Answer(t)
	if err != nil || resp.StatusCode != 502 || body != "<html>" || resp.Header.Get("Content-Type") != "text/html" || resp.Header.Get("X-Amzn-Requestid") != "r-1" {
		t.Errorf("%v %d %v %q", err, resp.StatusCode, resp.Header, body)
	}
}

func TestFaultGzip(t *testing.T) {
	s := start(t, nil)
	for _, r := range []request{ordered("gzip"), {header: map[string]string{cloud.FaultHeader: "gzip"}}} {
		resp, err := r.to(t, s).Send(t)
		if err != nil {
			t.Fatal(err)
		}
		if body := cloudtest.Unzip(t, resp); !strings.Contains(body, `"ok"`) {
			t.Error(body)
		}
	}
}

func TestFaultsOfAWholeBody(t *testing.T) {
	s := start(t, nil)
	for fault, want := range map[string]error{"cut": io.ErrUnexpectedEOF, "reset": syscall.ECONNRESET, "trickle=100/1ms": nil} {
		got := request{header: map[string]string{cloud.FaultHeader: fault}}.to(t, s).Outcome(t)
		if !errors.Is(got.Err, want) || got.Status != 200 || (want == nil) != strings.HasSuffix(got.Body, "}}") {
			t.Errorf("%s: %+v", fault, got)
		}
	}
}

func TestBadFaultIsA400(t *testing.T) {
	s := start(t, nil)
	resp, body, err := ordered("hang,trickle=fast").to(t, s).Answer(t)
	if err != nil {
		t.Fatal(err)
	}
	if m := messageOf(t, body); resp.StatusCode != 400 || exceptionOf(resp) != "BadFault" || m != `X-Punctual-Fault: fault "trickle=fast" needs bytes and a pause such as 8/50ms` {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
