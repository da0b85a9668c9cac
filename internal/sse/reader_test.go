package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A rewriteCase is one stream and what a parser behind the Reader gets.
type rewriteCase struct {
	name    string
	in      string
	events  []string // text of each data line
	payload string
	err     error // nil is io.EOF
}

func rewriteCases() []rewriteCase {
	const hi = `{"choices":[{"delta":{"content":"hi"}}]}`
	const yo = `{"choices":[{"delta":{"content":"yo"}}]}`
	const boom = `{"error":{"code":"server_error","message":"boom"}}`
	both := []string{hi, yo, "[DONE]"}
	stream := "data: " + hi + "\n\ndata: " + yo + "\n\ndata: [DONE]\n\n"
	one := func(s string) []string { return []string{s} }
	return []rewriteCase{
		{name: "healthy stream", in: stream, events: both},
		{name: "empty stream"},
		{name: "byte-order mark", in: "\ufeff" + stream, events: both},
		{name: "second byte-order mark is no mark", in: "\ufeff\ufeffdata: 1\n\ndata: 2\n\n", events: one("2")},
		{name: "CRLF", in: strings.ReplaceAll(stream, "\n", "\r\n"), events: both},
		{name: "CR", in: strings.ReplaceAll(stream, "\n", "\r"), events: both},
		{name: "mixed line ends", in: "data: 1\r\r\ndata: 2\n\rdata: 3\r\n\n", events: []string{"1", "2", "3"}},
		{name: "no blank after the colon", in: "data:" + hi + "\n\n", events: one(hi)},
		{name: "blanks before and after the data", in: "data: \t  " + hi + " \t\n\n", events: one(hi)},
		{name: "blanks before the field", in: "  data: " + hi + "\n\n", events: one(hi)},
		{name: "no empty lines at all", in: "data: " + hi + "\ndata: " + yo + "\ndata: [DONE]\n", events: both},
		{name: "blanks around the end mark", in: "data:   [DONE]  \n\n", events: one("[DONE]")},
		{name: "blanks inside the JSON", in: "data: { \"a\" : [ 1 , \"b c\" ] }\n\n", events: one(`{"a":[1,"b c"]}`)},

		{name: "comment", in: ": ping\n\n" + stream, events: both},
		{name: "comment inside an event", in: "data: {\"a\":\n: ping\ndata: 1}\n\n", events: one(`{"a":1}`)},
		{name: "400 comments in a row", in: strings.Repeat(": keep-alive\n\n", 400) + stream, events: both},
		{name: "400 empty events in a row", in: strings.Repeat("data:\n\n", 400) + stream, events: both},
		{name: "empty data with a blank", in: "data: \n\ndata\n\n" + stream, events: both},
		{name: "event id and retry lines", in: "event: message\nid: 7\nretry: 10\n" + stream, events: both},
		{name: "event without data", in: "event: ping\n\n" + stream, events: both},
		{name: "id with NUL", in: "id: a\x00b\ndata: 1\n\n", events: one("1")},
		{name: "unknown fields", in: "foo: bar\nfoo\ndatax: 1\n" + stream, events: both},
		{name: "ping with text", in: "event: ping\ndata: 2026-11-30 10:00\n\n" + stream, events: both},
		{name: "ping with JSON", in: "event: ping\ndata: {\"type\":\"ping\"}\n\n", events: one(`{"type":"ping"}`)},
		{name: "ping ends at the empty line", in: "event: ping\n\ndata: text\n\n", events: one("text")},

		{name: "JSON over several data lines", in: "data: {\ndata:   \"a\": [\ndata:     1,\ndata:     2\ndata:   ]\ndata: }\n\n", events: one(`{"a":[1,2]}`)},
		{name: "JSON with only its first line marked", in: "data: {\n  \"a\": {\n    \"b\": 1\n  }\n}\n\n", events: one(`{"a":{"b":1}}`)},
		{name: "JSON without data", in: hi + "\n" + yo + "\n[DONE]\n", events: both},
		{name: "pretty JSON without data", in: "{\n  \"a\": \"x: y\",\n  \"b\": [\n    true\n  ]\n}\n", events: one(`{"a":"x: y","b":[true]}`)},
		{name: "brackets and quotes inside strings", in: "data: {\"a\":\ndata: \"}]\\\"{\\\\\"\ndata: }\n\n", events: one(`{"a":"}]\"{\\"}`)},
		{name: "scalars", in: "data: null\n\ndata: \"s\"\n\ndata: -1.5e+3\n\n", events: []string{"null", `"s"`, "-1.5e+3"}},

		{name: "error", in: "data: " + boom + "\n\n", events: one(boom), payload: boom},
		{name: "error with blanks", in: `data: { "error" : {"code": "server_error", "message": "boom"} }` + "\n\n", events: one(boom), payload: boom},
		{name: "error behind other members", in: `data: {"id":"x","error":{"message":"boom"},"n":1}` + "\n\n", events: one(`{"error":{"message":"boom"},"id":"x","n":1}`), payload: `{"error":{"message":"boom"},"id":"x","n":1}`},
		{name: "error as the last member", in: `data: {"id":"x","error":"boom"}` + "\n\n", events: one(`{"error":"boom","id":"x"}`), payload: `{"error":"boom","id":"x"}`},
		{name: "error spelled large", in: `data: {"Error":{"message":"boom"}}` + "\n\n", events: one(`{"error":{"message":"boom"}}`), payload: `{"error":{"message":"boom"}}`},
		{name: "error without data", in: boom + "\n", events: one(boom), payload: boom},
		{name: "pretty error without data", in: "{\n  \"error\": {\n    \"code\": 429\n  }\n}\n", events: one(`{"error":{"code":429}}`), payload: `{"error":{"code":429}}`},
		{name: "error after comments", in: ": x\n\n: y\n\ndata: " + boom + "\n\n", events: one(boom), payload: boom},
		{name: "error after an event line", in: "event: error\ndata: " + boom + "\n\n", events: one(boom), payload: boom},
		{name: "error told by the event line", in: "event: error\ndata: {\"message\":\"boom\"}\n\n", events: one(`{"error":{"message":"boom"}}`), payload: `{"error":{"message":"boom"}}`},
		{name: "error text told by the event line", in: "event: error\ndata: over\ndata: loaded\n\n", events: one(`{"error":{"message":"over\nloaded"}}`), payload: `{"error":{"message":"over\nloaded"}}`},
		{name: "error string told by the event line", in: "event: error\ndata: \"boom\"\n\n", events: one(`{"error":{"message":"boom"}}`), payload: `{"error":{"message":"boom"}}`},
		{name: "error number told by the event line", in: "event: error\ndata: 500\n\n", events: one(`{"error":{"message":"500"}}`), payload: `{"error":{"message":"500"}}`},
		{name: "event line counts for one event", in: "event: error\n\ndata: {\"a\":1}\n\n", events: one(`{"a":1}`)},
		{name: "the first of two errors is kept", in: "data: {\"error\":1}\n\ndata: {\"error\":2}\n\n", events: []string{`{"error":1}`, `{"error":2}`}, payload: `{"error":1}`},
		{name: "null error behind", in: "data: {\"choices\":[],\"error\":null}\n\n", events: one(`{"choices":[],"error":null}`)},
		{name: "null error in front", in: "data: {\"error\":null,\"choices\":[]}\n\n", events: one(`{"choices":[]}`)},
		{name: "null error alone", in: "data: {\"error\": null}\n\n", events: one(`{}`)},
		{name: "empty errors in front", in: "data: {\"error\":\"\",\"error\":false,\"a\":1}\n\n", events: one(`{"a":1}`)},
		{name: "null error before an error", in: "data: {\"error\":null,\"a\":1,\"error\":2}\n\n", events: one(`{"error":2,"a":1}`), payload: `{"error":2,"a":1}`},
		{name: "error deeper down", in: "data: {\"a\":{\"error\":1}}\n\ndata: [{\"error\":1}]\n\n", events: []string{`{"a":{"error":1}}`, `[{"error":1}]`}},
		{name: "error inside the text", in: `data: {"delta":"{\"error\": 1}"}` + "\n\n", events: one(`{"delta":"{\"error\": 1}"}`)},

		{name: "text", in: "data: upstream\ndata: timed out\n\n" + stream, events: append(one("upstream\ttimed out"), both...)},
		{name: "two values on one line", in: "data: {} {}\n\n", events: one("{} {}")},
		{name: "string broken over two lines", in: "data: {\"a\":\"x\ndata: y\"}\n\n", events: one("{\"a\":\"x\ty\"}")},
		{name: "closed but no JSON", in: "data: {a}\ndata: {}\n\n", events: one("{a}\t{}")},
		{name: "JSON given up at the empty line", in: "data: {\"a\":\n\ndata: {}\n\n", events: []string{`{"a":`, "{}"}},

		{name: "end without a line end", in: "data: " + hi, events: one(hi)},
		{name: "end mark without a line end", in: "data: [DONE]", events: one("[DONE]")},
		{name: "half a frame", in: "data: {\"cho", events: one(`{"cho`), err: ErrUnfinished},
		{name: "half a frame with its line end", in: "data: {\"a\":\n", events: one(`{"a":`), err: ErrUnfinished},
		{name: "half an end mark", in: "data: [DON", events: one("[DON"), err: ErrUnfinished},
		{name: "half a field name", in: "data: 1\n\ndat", events: []string{"1", "dat"}, err: ErrUnfinished},
		{name: "half a field name after the mark", in: "\ufeffd", events: one("d"), err: ErrUnfinished},
		{name: "data line without its data", in: "data: ", events: one("data:"), err: ErrUnfinished},
		{name: "half a comment", in: "data: 1\n\n: pi", events: one("1")},
	}
}

func output(events []string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

func TestStreamIsRewrittenWhateverItsReads(t *testing.T) {
	t.Parallel()
	splits := map[string]func(io.Reader) io.Reader{
		"whole":         func(r io.Reader) io.Reader { return r },
		"single bytes":  iotest.OneByteReader,
		"halves":        iotest.HalfReader,
		"end with data": iotest.DataErrReader,
	}
	for _, c := range rewriteCases() {
		for how, split := range splits {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				r := NewReader(io.NopCloser(split(strings.NewReader(c.in))))
				got, err := io.ReadAll(r)
				if !errors.Is(err, c.err) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if want := output(c.events); string(got) != want {
					t.Errorf("got  %q\nwant %q", got, want)
				}
				if string(r.ErrorPayload()) != c.payload {
					t.Errorf("payload %q, want %q", r.ErrorPayload(), c.payload)
				}
				if r.Unfinished() != (c.err != nil) {
					t.Errorf("Unfinished() = %v", r.Unfinished())
				}
			})
		}
	}
}

// script is a body that hands out its pieces one Read each and, after the last
// one, lets the test fail: nobody may wait there.
type script struct {
	t      *testing.T
	pieces []string
	closed bool
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		s.t.Error("read of the body while an event was ready")
		return 0, io.EOF
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func (s *script) Close() error {
	s.closed = true
	return nil
}

func TestEventLeavesAtTheEndOfItsLine(t *testing.T) {
	t.Parallel()
	const want = "data: {\"error\":1}\n\n"
	tests := map[string][]string{
		"LF":                     {"data: {\"error\":1}\n"},
		"CR":                     {"data: {\"error\":1}\r"},
		"bare":                   {"{\"error\":1}\n"},
		"several lines":          {"data: {\ndata: \"error\":1\ndata: }\n"},
		"several reads":          {"da", "ta: {\"error\"", ":1}", "\n"},
		"a second event is here": {"data: {\"error\":1}\n\ndata: {\"a\":"},
	}
	for name, pieces := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(&script{t: t, pieces: pieces})
			buf := make([]byte, 100)
			n, err := r.Read(buf)
			if string(buf[:n]) != want || err != nil {
				t.Errorf("Read = %q, %v; want %q", buf[:n], err, want)
			}
			if r.ErrorPayload() == nil {
				t.Error("payload not known with the event")
			}
		})
	}
}

func TestLineFeedOfTheNextReadBelongsToTheCarriageReturn(t *testing.T) {
	t.Parallel()
	body := &script{t: t, pieces: []string{"data: {\"a\":\r", "\ndata: 1}\r", "\n\r", "\ndata: 2\r"}}
	r := NewReader(body)
	want := output([]string{`{"a":1}`, "2"})
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestReadIntoSmallBufferLosesNothing(t *testing.T) {
	t.Parallel()
	r := NewReader(io.NopCloser(strings.NewReader("data: {\"a\": 1}\n\ndata: [DONE]\n\n")))
	got, err := io.ReadAll(iotest.OneByteReader(r))
	if want := output([]string{`{"a":1}`, "[DONE]"}); string(got) != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("empty Read = %d, %v", n, err)
	}
}

func TestOtherErrorComesAfterWholeEventsAndHidesBrokenOnes(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	tests := []struct{ name, in, want string }{
		{"between events", "data: 1\n\n", output([]string{"1"})},
		{"after a whole line without its end", "data: 1\n\ndata: {}", output([]string{"1", "{}"})},
		{"inside an event", "data: 1\n\ndata: {\"a\":", output([]string{"1"})},
		{"inside an event after its line", "data: 1\n\ndata: {\"a\":\n", output([]string{"1"})},
		{"inside a field name", "data: 1\n\nda", output([]string{"1"})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			body := io.MultiReader(strings.NewReader(test.in), iotest.ErrReader(cut))
			r := NewReader(io.NopCloser(body))
			got, err := io.ReadAll(r)
			if string(got) != test.want || !errors.Is(err, cut) {
				t.Errorf("got %q, %v; want %q, %v", got, err, test.want, cut)
			}
			if _, again := r.Read(make([]byte, 1)); !errors.Is(again, cut) {
				t.Errorf("second error %v", again)
			}
			if r.Unfinished() {
				t.Error("Unfinished() is for streams with a clean end")
			}
		})
	}
}

func TestEventOverTheLimitIsAnError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"event within", "data: \"" + long[:50] + "\"\n\n", true},
		{"line", "data: \"" + long + "\"\n\n", false},
		{"comment", ":" + long + long + "\n\n", false},
		{"line without an end", "data: \"" + long, false},
		{"many lines", "data: [\n" + strings.Repeat("data: 1,\n", 50) + "\ndata: 1]\n\n", false},
		{"many lines of text", strings.Repeat("data: text\n", 50) + "\n", false},
	}
	for _, test := range tests {
		for _, split := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				r := NewReader(io.NopCloser(split(strings.NewReader(test.in))))
				r.in.limit = 64
				got, err := io.ReadAll(r)
				if errors.Is(err, ErrTooLarge) == test.ok || (len(got) > 0) != test.ok {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}

func TestHugeEventsPassAndEndlessOnesDoNot(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 4<<20)
	r := NewReader(io.NopCloser(strings.NewReader("data: {\"a\":\"" + big + "\"}\n\n")))
	if got, err := io.ReadAll(r); err != nil || len(got) < len(big) {
		t.Errorf("4 MiB on one line: %d bytes, %v", len(got), err)
	}
	// A quadratic reader would not come back from this one.
	lines := "data: [\n" + strings.Repeat("data:  1,\n", 400_000) + "data: 1]\n\n"
	r = NewReader(io.NopCloser(strings.NewReader(lines)))
	if got, err := io.ReadAll(r); err != nil || len(got) < 800_000 {
		t.Errorf("400,000 lines: %d bytes, %v", len(got), err)
	}
	r = NewReader(io.NopCloser(endless{}))
	if _, err := io.ReadAll(r); !errors.Is(err, ErrTooLarge) {
		t.Errorf("endless line: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDepthBombIsTextAndNoCrash(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{maxDepth, maxDepth + 1, 1 << 20} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		r := NewReader(io.NopCloser(strings.NewReader("data: " + deep + "\n\n")))
		got, err := io.ReadAll(r)
		if string(got) != output([]string{deep}) || err != nil {
			t.Errorf("depth %d: %d bytes, %v", depth, len(got), err)
		}
	}
}

func TestSourceThatNeverReadsIsNoProgress(t *testing.T) {
	t.Parallel()
	r := NewReader(io.NopCloser(emptyReader{}))
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v, want io.ErrNoProgress", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestCloseClosesTheBody(t *testing.T) {
	t.Parallel()
	body := &script{t: t}
	if err := NewReader(body).Close(); err != nil || !body.closed {
		t.Errorf("Close() = %v, body closed %v", err, body.closed)
	}
}

func TestRunningStreamAllocatesNothing(t *testing.T) {
	event := []byte("event: message\r\ndata: {\"choices\": [{\"delta\": {\"content\": \"hi\"}}], \"error\": null}\r\n\r\n: ping\n\n")
	r := NewReader(io.NopCloser(&loop{data: event}))
	buf := make([]byte, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

// loop repeats data for ever.
type loop struct {
	data []byte
	off  int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.data[l.off:])
	l.off = (l.off + n) % len(l.data)
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	chunk := []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"finish_reason":null,"delta":{"content":"some words of an answer"},"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}` + "\n\n")
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	r := NewReader(io.NopCloser(&loop{data: chunk}))
	buf := make([]byte, 4096)
	for b.Loop() {
		if _, err := r.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBigEvent(b *testing.B) {
	line := []byte("data:   {\"key\": \"value\", \"n\": 12345},\n")
	event := append([]byte("data: [\n"), bytes.Repeat(line, 8<<20/len(line))...)
	event = append(event, "data: 1]\n\n"...)
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, NewReader(io.NopCloser(bytes.NewReader(event)))); err != nil {
			b.Fatal(err)
		}
	}
}
