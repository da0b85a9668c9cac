package vertex

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llmtest"
)

// fault is a fault and what a client sees of it.
type faultTest struct {
	fault  string
	status int
	stream string // digest
	err    error  // of reading it
	rpc    string // how it ends over gRPC
}

func faultTests() []faultTest {
	const whole = `"a " | "b" | "" STOP`
	hung := context.Canceled // by the client that leaves
	return []faultTest{
		{"delay=20ms", 200, whole, nil, ""},
		{"gap=5ms", 200, whole, nil, ""},
		{"hang", 0, "", hung, "Canceled"},
		{"hang=body", 200, "", hung, "Canceled"},
		{"hang=first", 200, `""`, hung, "Canceled"},
		{"hang=stream", 200, `"a "`, hung, "Canceled"},
		{"hang=end", 200, `"a " | "b"`, hung, "Canceled"},
		{"status=429,retry-after=2", 429, "error RESOURCE_EXHAUSTED", nil, "ResourceExhausted"},
		{"error=quota_exceeded", 429, "error RESOURCE_EXHAUSTED", nil, "ResourceExhausted"},
		{"error=auth", 401, "error UNAUTHENTICATED", nil, "Unauthenticated"},
		{"error=connection", 0, "", io.EOF, "Internal"},
		{"error=unavailable,at=stream", 200, `"a " | error UNAVAILABLE`, nil, "Unavailable"},
		{"error=unavailable,at=stream,code=ABORTED", 200, `"a " | error ABORTED`, nil, "Aborted"},
		{"error=content_filtered,at=end", 200, `"a " | "b" | HARM_CATEGORY_DANGEROUS_CONTENT HIGH SAFETY`, nil, ""},
		{"error=content_filtered", 200, "blocked SAFETY", nil, ""},
		{"cut=start", 0, "", io.EOF, "Internal"},
		{"cut", 200, `"a " | "b"`, io.ErrUnexpectedEOF, "Internal"},
		{"cut=end", 200, `"a " | "b"`, io.ErrUnexpectedEOF, "Internal"},
		{"reset=start", 0, "", syscall.ECONNRESET, "Unavailable"},
		{"reset", 200, `"a " | "b"`, syscall.ECONNRESET, "Unavailable"},
		{"reset=end", 200, `"a " | "b"`, syscall.ECONNRESET, "Unavailable"},
		{"drip=1/10ms", 200, "", hung, "Canceled"},
		{"trickle=200/1ms", 200, whole, nil, ""},
		{"write=3", 200, whole, nil, ""},
		{"status=201", 201, whole, nil, ""},
	}
}

// TestFaults: every fault, ordered by the script and by the client, as a client sees it.
func TestFaults(t *testing.T) {
	s := start(t, &Options{Next: func(r Request) Turn {
		return Turn{Step: llmtest.Text("a b"), Fault: r.Header.Get("X-Turn")}
	}})
	for _, test := range faultTests() {
		for _, header := range []string{cloud.FaultHeader, "X-Turn"} {
			for _, path := range []string{ssePath, arrayPath} {
				t.Run(test.fault+"/"+header, func(t *testing.T) {
					r := request{path: path, header: map[string]string{header: test.fault}}
					cloudtest.CheckFault(t, s, r.to(t, s), digests, cloudtest.Outcome{Status: test.status, Body: test.stream, Err: test.err})
				})
			}
		}
	}
}

// TestFaultsOverRPC: the same faults, and what is logged of them. The last message before a reset of the connection may
// be lost with it.
func TestFaultsOverRPC(t *testing.T) {
	s := start(t, &Options{Next: func(r Request) Turn {
		return Turn{Step: llmtest.Text("a b"), Fault: r.Header.Get("X-Turn")}
	}})
	for _, test := range faultTests() {
		for _, header := range []string{"x-punctual-fault", "x-turn"} {
			t.Run(test.fault+"/"+header, func(t *testing.T) {
				want, _, _ := strings.Cut(test.stream, "error")
				want = strings.TrimSuffix(want, " | ")
				before := len(s.Requests())
				got, err := rpcRequest{stream: true, header: map[string]string{header: test.fault}}.leaving(t, s, func(got string) bool {
					return test.rpc == "Canceled" && len(s.Requests()) > before && got == want
				})
				reset := strings.HasPrefix(test.fault, "reset") && strings.HasPrefix(want, got)
				if ending(err) != test.rpc || got != want && !reset {
					t.Errorf("%q, %v", got, err)
				}
				logged := test.status
				if logged == 201 {
					logged = 200
				}
				if r := cloudtest.Last(t, s, before+1); r.Status != logged || r.Gone != (test.rpc == "Canceled") || !strings.HasPrefix(string(r.Body), `{"model":"projects/p/`) {
					t.Errorf("logged %+v", r)
				}
			})
		}
	}
}

func ordered(path, fault string) request {
	return request{path: path, header: map[string]string{cloud.FaultHeader: fault}}
}

func orderedRPC(stream bool, fault string) rpcRequest {
	return rpcRequest{stream: stream, header: map[string]string{"x-punctual-fault": fault}}
}

func TestFaultCutInsideAFrame(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b")}}})
	got := ordered(ssePath, "cut=frame").to(t, s).Outcome(t)
	frames := strings.Split(got.Body, "\r\n\r\n")
	torn := frames[len(frames)-1]
	if !errors.Is(got.Err, io.ErrUnexpectedEOF) || len(frames) != 3 || !strings.HasPrefix(torn, `data: {"candidates": [{`) || strings.HasSuffix(torn, "}") {
		t.Errorf("%v after %q", got.Err, torn)
	}
	if got, err := orderedRPC(true, "cut=frame").answer(t, s); got != `"a " | "b"` || err == nil {
		t.Errorf("over gRPC: %q, %v", got, err)
	}
}

func TestFaultPings(t *testing.T) {
	s := start(t, nil)
	got := ordered(ssePath, "ping=5ms/20ms").to(t, s).Outcome(t)
	if n := strings.Count(got.Body, ": ping\r\n\r\n"); n != 4 || !strings.HasPrefix(got.Body, ": ping") || digests(t, got.Body) != `"ok" | "" STOP` {
		t.Errorf("%d pings in %q", n, got.Body)
	}
	got = ordered(arrayPath, "ping=5ms/20ms").to(t, s).Outcome(t)
	if !strings.HasPrefix(got.Body, " \n \n \n \n[{") || digests(t, strings.TrimSpace(got.Body)) != `"ok" | "" STOP` {
		t.Errorf("%q", got.Body)
	}
	got = ordered(unaryPath, "ping=5ms/20ms").to(t, s).Outcome(t)
	if digests(t, got.Body) != `"ok" STOP` {
		t.Errorf("%q", got.Body)
	}
	got = ordered(ssePath, "ping=5ms,hang=stream").to(t, s).Leave(t, func(o cloudtest.Outcome) bool { return strings.HasSuffix(o.Body, ": ping\r\n\r\n: ping\r\n\r\n") })
	if digests(t, got.Body) != `"partial "` {
		t.Errorf("%q", got.Body)
	}
	for stream, want := range map[bool]string{true: `nothing | nothing | nothing | nothing | "ok" | "" STOP`, false: `"ok" STOP`} {
		if got, err := orderedRPC(stream, "ping=5ms/20ms").answer(t, s); got != want || err != nil {
			t.Errorf("over gRPC: %q, %v", got, err)
		}
	}
}

func TestFaultRetryAfter(t *testing.T) {
	s := start(t, nil)
	got := ordered(ssePath, "status=429,retry-after=1.5").to(t, s).Outcome(t)
	if !strings.Contains(got.Body, `"@type": "type.googleapis.com/google.rpc.RetryInfo",`+"\n        "+`"retryDelay": "1.5s"`) {
		t.Errorf("%+v", got)
	}
	_, err := orderedRPC(false, "status=429,retry-after=1.5,code=x").answer(t, s)
	if d := detailsOf(err); d.retry.Seconds() != 1.5 || d.reason != "x" {
		t.Errorf("over gRPC: %v, %+v", err, d)
	}
}

func TestFaultBodyAndHeader(t *testing.T) {
	s := start(t, nil)
	const fault = "status=502,body=%3Chtml%3E,header=content-type:text/html,header=x-request-id:r-1"
	resp, body, err := ordered(unaryPath, fault).to(t, s).Answer(t)
	if err != nil || resp.StatusCode != 502 || body != "<html>" || resp.Header.Get("Content-Type") != "text/html" || resp.Header.Get("X-Request-Id") != "r-1" {
		t.Errorf("%v %d %v %q", err, resp.StatusCode, resp.Header, body)
	}
	_, err = orderedRPC(false, fault).answer(t, s)
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "502") {
		t.Errorf("over gRPC: %v", err)
	}
	if r := cloudtest.Last(t, s, 2); r.Status != 502 {
		t.Errorf("logged %+v", r)
	}
	var header metadata.MD
	client := rpcClient(t, s)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer t", "x-punctual-fault", "header=x-a:b")
	if _, err := client.GenerateContent(ctx, rpcRequest{}.message(), grpc.Header(&header)); err != nil || header.Get("x-a")[0] != "b" {
		t.Errorf("over gRPC: %v %v", err, header)
	}
}

func TestFaultGzip(t *testing.T) {
	s := start(t, nil)
	for _, path := range []string{ssePath, unaryPath} {
		resp, err := ordered(path, "gzip").to(t, s).Send(t)
		if err != nil {
			t.Fatal(err)
		}
		if body := cloudtest.Unzip(t, resp); !strings.Contains(body, `"ok"`) {
			t.Error(body)
		}
	}
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer t", "x-punctual-fault", "gzip")
	resp, err := rpcClient(t, s).GenerateContent(ctx, rpcRequest{}.message(), grpc.Header(&header), grpc.UseCompressor(grpcgzip.Name))
	if err != nil || rpcDigest(t, resp) != `"ok" STOP` {
		t.Errorf("over gRPC: %v %v", resp, err)
	}
	if r := cloudtest.Last(t, s, 3); !strings.Contains(string(r.Body), `"text":"hi"`) || r.Header.Get("Grpc-Encoding") != "gzip" {
		t.Errorf("logged %+v", r)
	}
}

func TestFaultsOfAWholeBody(t *testing.T) {
	s := start(t, nil)
	for fault, want := range map[string]error{"cut": io.ErrUnexpectedEOF, "reset": syscall.ECONNRESET, "trickle=100/1ms": nil} {
		got := ordered(unaryPath, fault).to(t, s).Outcome(t)
		if !errors.Is(got.Err, want) || got.Status != 200 || (want == nil) != strings.HasSuffix(got.Body, "\n}\n") {
			t.Errorf("%s: %+v", fault, got)
		}
	}
	for fault, want := range map[string]string{"cut": "Internal", "reset": "Unavailable", "trickle=10/1ms": ""} {
		if _, err := orderedRPC(false, fault).answer(t, s); ending(err) != want {
			t.Errorf("%s over gRPC: %v", fault, err)
		}
	}
}

func TestBadFaultIsA400(t *testing.T) {
	s := start(t, nil)
	got := ordered(unaryPath, "hang,trickle=fast").to(t, s).Outcome(t)
	const want = `fault "trickle=fast" needs bytes and a pause such as 8/50ms`
	if e := errorOf(t, got.Body); got.Status != 400 || reasonOf(e) != "BAD_FAULT" || e.Message != want {
		t.Errorf("%+v", got)
	}
	if _, err := orderedRPC(false, "hang,trickle=fast").answer(t, s); statusOf(err).Message != want {
		t.Errorf("over gRPC: %v", err)
	}
}
