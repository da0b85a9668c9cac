package cloud

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serveEarly plays replies in order, each before the request's body is read.
func serveEarly(t *testing.T, replies ...Reply) (*Server, *Log) {
	t.Helper()
	script := NewScript(Replies(replies...)...)
	l := &Log{}
	s := MustListen(l.EarlyHandler(func(*Exchange) Reply { return *script.Next().Reply }))
	t.Cleanup(func() { s.Close(); l.Drain() })
	return s, l
}

// TestAnswersBeforeTheRequestIsSent: a client that has sent nothing but the header has the whole answer.
func TestAnswersBeforeTheRequestIsSent(t *testing.T) {
	s, l := serveEarly(t, Reply{Chunks: []Chunk{{Data: []byte("one ")}, {Data: []byte("two")}}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := make([]byte, len("one two"))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "one two" {
		t.Fatalf("%v %q", err, got)
	}
	if r := l.Requests()[0]; !r.Open || len(r.Body) != 0 {
		t.Errorf("logged %+v", r)
	}
	_, _ = io.WriteString(conn, "late")
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	if r := ended(t, l, 1); string(r.Body) != "late" || r.Status != 200 || r.Gone {
		t.Errorf("logged %+v", r)
	}
}

func TestEarlyEnds(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s, l := serveEarly(
			t,
			Reply{Body: []byte("plain")},
			Reply{Wait: 5 * time.Millisecond, Body: []byte("late")},
			Reply{Chunks: []Chunk{{Data: []byte("half")}}, End: EndCut},
			Reply{Chunks: []Chunk{{Data: []byte("half")}}, End: EndReset},
			Reply{Status: NoStatus, End: EndCut},
		)
		for n, want := range []string{"plain", "late", "cut", "cut", "cut"} {
			got := "cut"
			if resp, err := post(t.Context(), t, s.URL, http2); err == nil {
				if body, err := io.ReadAll(resp.Body); err == nil {
					got = string(body)
				}
				resp.Body.Close()
			}
			if r := ended(t, l, n+1); got != want || want != "cut" && string(r.Body) != "hi" {
				t.Errorf("HTTP/2 %t, %d: %q, logged %+v", http2, n, got, r)
			}
		}
	}
}

// TestEarlyHang: a peer that leaves is noticed although the answer never comes, or never ends.
func TestEarlyHang(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, reply := range []Reply{{Wait: Never}, {Chunks: []Chunk{{Data: []byte("half")}}, End: EndHang}} {
			s, l := serveEarly(t, reply)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if resp, err := post(ctx, t, s.URL, http2); err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil {
					t.Error("an answer that hangs has an end")
				}
			}
			cancel()
			if r := ended(t, l, 1); !r.Gone {
				t.Errorf("HTTP/2 %t: logged %+v", http2, r)
			}
		}
	}
}
