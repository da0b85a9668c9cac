package cloud

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReplySendsExactBytes(t *testing.T) {
	chunks := []Chunk{{Data: []byte("ab")}, {At: time.Millisecond, Data: []byte("cde")}}
	tests := []struct {
		name     string
		reply    Reply
		has      []string // of the head
		body     string   // as it is on the wire
		wantsEnd error
	}{
		{"zero", Reply{}, []string{"HTTP/1.1 200 OK", "Content-Length: 0"}, "", nil},
		{
			"body",
			Reply{Status: 429, Header: http.Header{"Retry-After": {"2"}}, Body: []byte("slow")},
			[]string{"429 Too Many Requests", "Retry-After: 2", "Content-Length: 4"},
			"slow", nil,
		},
		{"chunks", Reply{Chunks: chunks}, []string{"Transfer-Encoding: chunked"}, "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", nil},
		{"chunks cut", Reply{Chunks: chunks, End: EndCut}, nil, "2\r\nab\r\n3\r\ncde\r\n", nil},
		{"chunks reset", Reply{Chunks: chunks, End: EndReset}, nil, "2\r\nab\r\n3\r\ncde\r\n", syscall.ECONNRESET},
		{"small writes", Reply{Body: []byte("abcde"), WriteSize: 2}, []string{"Content-Length: 5"}, "abcde", nil},
		{"small chunks", Reply{Chunks: chunks, WriteSize: 2}, nil, "2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n", nil},
		{
			"short body",
			Reply{Header: http.Header{"Content-Length": {"400"}}, Body: []byte("Hel"), End: EndCut},
			[]string{"Content-Length: 400"},
			"Hel", nil,
		},
		{"no status", Reply{Status: NoStatus, End: EndCut}, nil, "", nil},
		{"no status, reset", Reply{Status: NoStatus, End: EndReset}, nil, "", syscall.ECONNRESET},
		{
			"ping for a time",
			Reply{Ping: Ping{Text: "p", Every: 20 * time.Millisecond, For: 50 * time.Millisecond}},
			nil, "1\r\np\r\n1\r\np\r\n0\r\n\r\n", nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := serve(t, test.reply)
			head, body, err := raw(t, s)
			if !errors.Is(err, test.wantsEnd) {
				t.Errorf("the connection ended with %v, want %v", err, test.wantsEnd)
			}
			if body != test.body {
				t.Errorf("body %q, want %q", body, test.body)
			}
			for _, part := range test.has {
				if !strings.Contains(head, part) {
					t.Errorf("head lacks %q:\n%s", part, head)
				}
			}
			if strings.Contains(head, "Content-Type") {
				t.Errorf("a Content-Type that nobody set:\n%s", head)
			}
		})
	}
}

func TestReplyKeepsItsSchedule(t *testing.T) {
	const step = 30 * time.Millisecond
	s, l := serve(t, Reply{Wait: step, Chunks: []Chunk{{At: step, Data: []byte("a")}, {At: 3 * step, Data: []byte("b")}}})
	for i, http2 := range []bool{false, true} {
		start := time.Now()
		resp, err := post(t.Context(), t, s.URL, http2)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < step {
			t.Errorf("http2 %v: header after %v, before its time", http2, took)
		}
		body, err := io.ReadAll(resp.Body)
		if took := time.Since(start); string(body) != "ab" || err != nil || took < 4*step {
			t.Errorf("http2 %v: body %q, %v after %v", http2, body, err, took)
		}
		resp.Body.Close()
		if r := ended(t, l, i+1); r.Gone || r.Status != 200 || r.Took < 4*step || string(r.Body) != "hi" {
			t.Errorf("http2 %v: logged %+v", http2, r)
		}
	}
}

// TestReplyHangs: whatever hangs, hangs until the peer leaves, and is logged then, once.
func TestReplyHangs(t *testing.T) {
	tests := []struct {
		name   string
		reply  Reply
		status int
	}{
		{"never", Reply{Wait: Never}, 0},
		{"after the header", Reply{End: EndHang}, 200},
		{"after the body", Reply{Status: 429, Body: []byte("{}"), End: EndHang}, 429},
		{"after chunks", Reply{Chunks: []Chunk{{Data: []byte("{}")}}, End: EndHang}, 200},
		{"drip", Reply{Status: 500, Drip: Drip{Bytes: 1, Every: 5 * time.Millisecond}}, 500},
		{"pings", Reply{Ping: Ping{Text: ":\n", Every: 5 * time.Millisecond}}, 200},
	}
	for _, test := range tests {
		for _, http2 := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				s, l := serve(t, test.reply)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				resp, err := post(ctx, t, s.URL, http2)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the client got %v", err)
				}
				r := ended(t, l, 1)
				if !r.Gone || r.Open || r.Status != test.status || len(l.Requests()) != 1 {
					t.Errorf("logged %+v", r)
				}
			})
		}
	}
}

func TestReplyOverHTTP2IsCutByStream(t *testing.T) {
	for _, end := range []End{EndCut, EndReset} {
		s, l := serve(t, Reply{Chunks: []Chunk{{Data: []byte("ab")}}, End: end}, Reply{Body: []byte("next")})
		resp, err := post(t.Context(), t, s.URL, true)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "ab" || err == nil || !strings.Contains(err.Error(), "stream error") {
			t.Errorf("%s: body %q, %v", end, body, err)
		}
		if r := ended(t, l, 1); r.Proto != "HTTP/2.0" || r.Gone {
			t.Errorf("%s: logged %+v", end, r)
		}
	}
}

func TestReplyGzip(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, _ := serve(t, Reply{Body: []byte("a"), Chunks: []Chunk{{Data: []byte("bc")}}, Gzip: true})
		resp, err := post(t.Context(), t, s.URL, http2)
		if err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(resp.Body)
		if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatal(err, resp.Header)
		}
		body, err := io.ReadAll(zip)
		if string(body) != "abc" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		resp.Body.Close()
	}
}

func TestReplyGzipIsFlushedAfterEachChunk(t *testing.T) {
	s, _ := serve(t, Reply{Chunks: []Chunk{{Data: []byte("abc")}}, Gzip: true, End: EndHang})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := post(ctx, t, s.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	zip, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := io.ReadFull(zip, got); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v before the end", got, err)
	}
}

func TestCutAt(t *testing.T) {
	chunks := []Chunk{{Data: []byte("one")}, {Data: []byte("two")}, {Data: []byte("three!")}, {Data: []byte("four")}}
	tests := []struct {
		at   Place
		want string
	}{
		{CutStart, "onetwothree!four"}, // never sent: no status
		{CutHalf, "onetwo"},
		{CutFrame, "onetwothr"},
	}
	for _, test := range tests {
		r := Reply{Chunks: chunks}.CutAt(test.at, EndReset)
		var got strings.Builder
		for _, c := range r.Chunks {
			got.Write(c.Data)
		}
		if got.String() != test.want || r.End != EndReset || (r.Status == NoStatus) != (test.at == CutStart) {
			t.Errorf("%s: %q in %+v", test.at, got.String(), r)
		}
	}
	if string(chunks[2].Data) != "three!" {
		t.Error("the original changed")
	}
	r := Reply{Body: []byte("123456")}.CutAt(CutHalf, EndCut)
	if string(r.Body) != "123" || r.Header.Get("Content-Length") != "6" {
		t.Errorf("body: %+v", r)
	}
}
