package cloud

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestParseFault(t *testing.T) {
	body := `{"a":1,"b":2}`
	tests := []struct {
		text string
		want Fault
	}{
		{"", Fault{}},
		{"hang", Fault{Hang: llmtest.PhaseHeaders}},
		{" hang=stream , ping=50ms ", Fault{Hang: llmtest.PhaseStream, Ping: Ping{Every: 50 * time.Millisecond}}},
		{"status=429,retry-after=2", Fault{Status: 429, RetryAfter: 2 * time.Second}},
		{"error=rate_limited,retry-after=0.4,at=stream,code=x", Fault{
			Kind: llm.ErrRateLimited, RetryAfter: 400 * time.Millisecond, At: llmtest.PhaseStream, Code: "x",
		}},
		{"retry-after=150ms", Fault{RetryAfter: 150 * time.Millisecond}},
		{"cut", Fault{Cut: CutHalf, End: EndCut}},
		{"reset=start", Fault{Cut: CutStart, End: EndReset}},
		{"cut=frame", Fault{Cut: CutFrame, End: EndCut}},
		{"reset=end", Fault{CutEnd: true, End: EndReset}},
		{"delay=500ms,gap=1s", Fault{Delay: 500 * time.Millisecond, Gap: time.Second}},
		{"drip=1/50ms", Fault{Drip: Drip{Bytes: 1, Every: 50 * time.Millisecond}}},
		{"trickle=8/5ms,gzip", Fault{WriteSize: 8, WriteEvery: 5 * time.Millisecond, Gzip: true}},
		{"write=3", Fault{WriteSize: 3}},
		{"ping=10ms/1s", Fault{Ping: Ping{Every: 10 * time.Millisecond, For: time.Second}}},
		{"status=200,body=%7B%22a%22:1%2C%22b%22:2%7D", Fault{Status: 200, Body: &body}},
		{"header=x-a:%201,header=x-a:2", Fault{Header: http.Header{"X-A": {"1", "2"}}}},
	}
	for _, test := range tests {
		got, err := ParseFault(test.text)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
}

func TestParseFaultRefuses(t *testing.T) {
	for _, text := range []string{
		"hung", "hang=connect", "status=99", "status=x", "error=invalid_request", "retry-after=soon", "cut=middle", "delay",
		"delay=-1s", "drip=1", "drip=0/1s", "trickle=8/x", "write=0", "gzip=1", "ping=50ms", "ping=1ns/1h", "header=x", "body=%zz", "hang,,cut",
	} {
		if f, err := ParseFault(text); err == nil || !reflect.DeepEqual(f, Fault{}) {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

// TestFaultReply: what the bytes and times of an answer become.
func TestFaultReply(t *testing.T) {
	const ms = time.Millisecond
	stream := Reply{Wait: ms, Chunks: []Chunk{{At: 0, Data: []byte("one")}, {At: 5 * ms, Data: []byte("two")}}}
	tests := []struct {
		fault string
		want  Reply
	}{
		{"", stream},
		{"delay=2ms", Reply{Wait: 3 * ms, Chunks: stream.Chunks}},
		{"ping=10ms/20ms", Reply{Wait: ms, Chunks: []Chunk{
			{0, []byte("p")}, {10 * ms, []byte("p")}, {20 * ms, []byte("one")}, {25 * ms, []byte("two")},
		}}},
		{"ping=10ms,hang", Reply{Wait: ms, Chunks: stream.Chunks, Ping: Ping{Text: "p", Every: 10 * ms}}},
		{"drip=2/10ms", Reply{Wait: ms, Drip: Drip{Bytes: 2, Every: 10 * ms}, End: EndHang}},
		{"reset", Reply{Wait: ms, Chunks: stream.Chunks[:1], End: EndReset}},
		{"trickle=3/10ms,gzip", Reply{Wait: ms, Chunks: stream.Chunks, WriteSize: 3, WriteEvery: 10 * ms, Gzip: true}},
		{"status=502,body=x", Reply{Wait: ms, Status: 502, Body: []byte("x"), End: EndEOF, Header: http.Header{"Content-Type": {"application/json"}}}},
	}
	for _, test := range tests {
		f, err := ParseFault(test.fault)
		if got := f.Reply(stream, "p"); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", test.fault, err, got, test.want)
		}
	}
	never := Reply{Wait: Never}
	if f, _ := ParseFault("delay=2ms"); f.Reply(never, "p").Wait != Never {
		t.Error("a delay ends a hang")
	}
}

func ExampleParseFault() {
	_, err := ParseFault("status=429,retry-after=soon")
	fmt.Println(err)
	// Output: fault "retry-after=soon" needs seconds such as 2 or 0.5
}

func FuzzParseFault(f *testing.F) {
	for _, seed := range []string{"hang=stream,ping=50ms", "status=429,retry-after=2", "body=%7B%7D,header=a:b", "cut=end,gzip"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil && !strings.HasPrefix(err.Error(), "fault ") {
			t.Errorf("unclear error %v", err)
		}
		step := fault.Step(llmtest.Text("a b"))
		_ = step.Answer()
		fault.Reply(Reply{Chunks: []Chunk{{Data: []byte("ab")}, {Data: []byte("cd")}}}, ":\n")
		fault.Reply(Reply{Body: []byte("ab")}, ":\n")
	})
}
