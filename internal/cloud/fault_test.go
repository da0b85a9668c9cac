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
		{"status=503,retry-after=150ms", Fault{Status: 503, RetryAfter: 150 * time.Millisecond}},
		{"at=body,error=timeout", Fault{Kind: llm.ErrTimeout, At: llmtest.PhaseBody}},
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

// TestParseFaultSaysWhatIsNeeded: an item that could not do what it says is refused, and the error tells how to
// mend that.
func TestParseFaultSaysWhatIsNeeded(t *testing.T) {
	const needsError = "goes with an error only; add status=429 or error=rate_limited"
	for text, want := range map[string]string{
		"retry-after=2":            `fault "retry-after=2" ` + needsError,
		"code=busy":                `fault "code=busy" ` + needsError,
		"at=stream":                `fault "at=stream" ` + needsError,
		"at":                       `fault "at" ` + needsError,
		"delay=1s, retry-after=2":  `fault "retry-after=2" ` + needsError,
		"status=200,retry-after=2": `fault "retry-after=2" ` + needsError,
		"body=x,retry-after=2":     `fault "retry-after=2" does not go with body, which is the whole answer; its status is set by status, its header by header=NAME:VALUE`,
		"error=auth,body=x":        `fault "error=auth" does not go with body`,
		"hang=body,body=x":         `fault "hang=body" does not go with body`,
		"status=503,status=429":    `fault "status=429" is the second status; give it once`,
		"hang,delay=1s,hang=body":  `fault "hang=body" is the second hang; give it once`,
		"gzip,GZIP":                `fault "GZIP" is the second gzip; give it once`,
		"body=a,body=b":            `fault "body=b" is the second body; give it once`,
		"cut,reset":                `fault "reset" does not go with cut; a connection ends in one way`,
		"status=500,hang":          `fault "hang" does not go with an error; let the one or the other happen`,
		"cut=end,error=auth":       `fault "cut=end" needs an answer that comes to its end; cut at start or half, or leave the error or the body out`,
		"reset=end,body=x":         `fault "reset=end" needs an answer that comes to its end`,
		"drip=1/1s,cut":            `fault "drip=1/1s" is an answer without an end, so it does not go with body, hang, ping, cut and reset`,
		"ping=50ms":                `fault "ping=50ms" needs a length (ping=50ms/1s) or a hang (hang=first,ping=50ms)`,
		"ping=50ms/1s,hang":        `fault "ping=50ms/1s" comes after the header; let it hang later (hang=body,ping=50ms)`,
	} {
		if _, err := ParseFault(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"status=429,at", "header=a:b,header=a:c", "status=500,drip=1/1s", "status=502,body=x", "cut=start,status=429"} {
		if _, err := ParseFault(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFaultReply: what the bytes and times of an answer become.
func TestFaultReply(t *testing.T) {
	const ms = time.Millisecond
	events := http.Header{"Content-Type": {"text/event-stream"}}
	stream := Reply{Wait: ms, Header: events, Chunks: []Chunk{{At: 0, Data: []byte("one")}, {At: 5 * ms, Data: []byte("two")}}}
	tests := []struct {
		fault string
		want  Reply
	}{
		{"", stream},
		{"delay=2ms", Reply{Wait: 3 * ms, Header: events, Chunks: stream.Chunks}},
		{"ping=10ms/20ms", Reply{Wait: ms, Header: events, Chunks: []Chunk{
			{0, []byte("p")}, {10 * ms, []byte("p")}, {20 * ms, []byte("one")}, {25 * ms, []byte("two")},
		}}},
		{"ping=10ms,hang=body", Reply{Wait: ms, Header: events, Chunks: stream.Chunks, Ping: Ping{Text: "p", Every: 10 * ms}}},
		{"drip=2/10ms", Reply{Wait: ms, Header: events, Drip: Drip{Bytes: 2, Every: 10 * ms}, End: EndHang}},
		{"reset", Reply{Wait: ms, Header: events, Chunks: stream.Chunks[:1], End: EndReset}},
		{"trickle=3/10ms,gzip", Reply{Wait: ms, Header: events, Chunks: stream.Chunks, WriteSize: 3, WriteEvery: 10 * ms, Gzip: true}},
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

// TestPingsOfABody: where no events come, pings are blanks in front of the body, and its length counts them.
func TestPingsOfABody(t *testing.T) {
	const ms = time.Millisecond
	blank := func(n int) []Chunk {
		chunks := make([]Chunk, n)
		for i := range chunks {
			chunks[i] = Chunk{At: time.Duration(i) * 10 * ms, Data: []byte(" ")}
		}
		return chunks
	}
	tests := []struct {
		fault string
		of    Reply
		want  Reply
	}{
		{"ping=10ms/20ms", Reply{Body: []byte("{}")}, Reply{Chunks: append(blank(2), Chunk{20 * ms, []byte("{}")})}},
		{
			"ping=10ms/20ms",
			Reply{Header: http.Header{"Content-Length": {"2"}}, Body: []byte("{}")},
			Reply{Header: http.Header{"Content-Length": {"4"}}, Chunks: append(blank(2), Chunk{20 * ms, []byte("{}")})},
		},
		{
			"ping=10ms/20ms,cut",
			Reply{Body: []byte("[1,2]")},
			Reply{Header: http.Header{"Content-Length": {"7"}}, Chunks: append(blank(2), Chunk{20 * ms, []byte("[1")}), End: EndCut},
		},
		{"ping=10ms,hang=first", Reply{Body: []byte("{}"), End: EndHang}.longer(0), Reply{Body: []byte("{}"), End: EndHang, Ping: Ping{Text: " ", Every: 10 * ms}}},
		{
			"ping=10ms,hang=first",
			Reply{Header: http.Header{"Content-Length": {"9"}}, Body: []byte("{"), End: EndHang},
			Reply{Header: http.Header{}, Body: []byte("{"), End: EndHang, Ping: Ping{Text: " ", Every: 10 * ms}},
		},
	}
	for _, test := range tests {
		f, err := ParseFault(test.fault)
		if got := f.Reply(test.of, "p"); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", test.fault, err, got, test.want)
		}
	}
}

// TestExact: what becomes of exact bytes, as "|" between chunks, and how they end.
func TestExact(t *testing.T) {
	const ms = time.Millisecond
	of := func(contentType, body string) Reply {
		return Reply{Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
	}
	stream := of("text/event-stream; charset=utf-8", "data: a\n\n: x\r\n\r\ndata: b\ndata: c\n\n\ndata: [DONE]\n\n")
	whole := of("application/json", `{"a":1}`)
	chunks := Reply{Chunks: []Chunk{{0, []byte("1")}, {ms, []byte("2")}, {ms, []byte("3")}}}
	tests := []struct {
		fault   string
		of      Reply
		want    string
		end     End
		last    time.Duration // of the last chunk
		refused string
	}{
		{"", stream, "data: a\n\n: x\r\n\r\ndata: b\ndata: c\n\n\ndata: [DONE]\n\n", "", 0, ""},
		{"delay=1s", whole, `{"a":1}`, "", 0, ""},
		{"hang", stream, "never", "", 0, ""},
		{"hang", whole, "never", "", 0, ""},
		{"hang=body", stream, "", EndHang, 0, ""},
		{"hang=body", whole, "", EndHang, 0, ""},
		{"hang=first", stream, "data: a\n\n", EndHang, 0, ""},
		{"hang=first", whole, "{", EndHang, 0, ""},
		{"hang=stream", stream, "data: a\n\n|: x\r\n\r\n", EndHang, 0, ""},
		{"hang=stream", whole, `{"a"`, EndHang, 0, ""},
		{"hang=stream", chunks, "1|2", EndHang, ms, ""},
		{"hang=end", stream, "data: a\n\n|: x\r\n\r\n|data: b\ndata: c\n\n", EndHang, 0, ""},
		{"hang=end", whole, `{"a":1`, EndHang, 0, ""},
		{"hang=end", Reply{}, "", EndHang, 0, ""},
		{"gap=5ms", stream, "data: a\n\n|: x\r\n\r\n|data: b\ndata: c\n\n|\ndata: [DONE]\n\n", "", 15 * ms, ""},
		{"gap=5ms", chunks, "1|2|3", "", 11 * ms, ""},
		{"gap=5ms", whole, "", "", 0, `fault "gap=5ms" needs a stream of events, and this answer is none; use delay or trickle`},
		{"gap=5ms", of("text/event-stream", ""), "", "", 0, `fault "gap=5ms" needs a stream of events`},
		{"cut=end", stream, "data: a\n\n|: x\r\n\r\n|data: b\ndata: c\n\n", EndCut, 0, ""},
		{"reset=end", whole, `{"a":1`, EndReset, 0, ""},
		{"cut=frame", stream, "data: a\n\n|: x\r\n\r\n|data: b\n", EndCut, 0, ""},
		{"cut=frame", whole, `{"a`, EndCut, 0, ""},
		{"status=429,at=stream", stream, "", "", 0, `fault "at=stream" cannot put an error inside an answer of exact bytes`},
		{"error=auth,at=body", whole, "", "", 0, `fault "at=body" cannot`},
	}
	for _, test := range tests {
		f, err := ParseFault(test.fault)
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%+v", test.of)
		if err := f.Suits(&test.of); (err != nil) != (test.refused != "") || err != nil && !strings.HasPrefix(err.Error(), test.refused) {
			t.Errorf("%s: %v, want %s", test.fault, err, test.refused)
		}
		if test.refused != "" {
			continue
		}
		r := f.Reply(f.Exact(test.of), "p")
		got, last := string(r.Body), time.Duration(0)
		for i, c := range r.Chunks {
			if i > 0 {
				got += "|"
			}
			got, last = got+string(c.Data), c.At
		}
		if r.Wait == Never {
			got = "never"
		}
		if got != test.want || r.End != test.end || last != test.last {
			t.Errorf("%s: %q, %q, %s, want %q, %q, %s", test.fault, got, r.End, last, test.want, test.end, test.last)
		}
		if after := fmt.Sprintf("%+v", test.of); after != before {
			t.Errorf("%s changed the original:\n%s\n%s", test.fault, before, after)
		}
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
		for _, r := range []Reply{{Chunks: []Chunk{{Data: []byte("ab")}}}, {Body: []byte("data: a\n\ndata: b\n\n"), Header: http.Header{"Content-Type": {"text/event-stream"}}}, {}} {
			if fault.Suits(&r) == nil {
				fault.Reply(fault.Exact(r), ":\n")
			}
		}
		step := fault.Step(llmtest.Text("a b"))
		_ = step.Answer()
		fault.Reply(Reply{Chunks: []Chunk{{Data: []byte("ab")}, {Data: []byte("cd")}}}, ":\n")
		fault.Reply(Reply{Body: []byte("ab")}, ":\n")
	})
}
