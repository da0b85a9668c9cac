package azure_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// TestAStreamEndsAtItsEndMark: the connection is held open behind it.
func TestAStreamEndsAtItsEndMark(t *testing.T) {
	t.Parallel()
	start := time.Now()
	_, resp := streamed(t, thenHang(text("a"), stop(), counted, done))
	wantText(t, resp, "a")
	if took := time.Since(start); took > patience/2 || resp.ID != "c1" || resp.ModelVersion != "m-1" || resp.RawFinish != "stop" {
		t.Errorf("took %v: %+v", took, resp)
	}
}

func TestAFinishReasonIsAnEndMark(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"clean end":         events(text("a"), stop()),
		"abort behind it":   thenAbort(text("a"), stop()),
		"half a frame":      events(text("a"), stop(), `data: {"id":`),
		"garbage behind it": events(text("a"), stop(), "data: }\n\n", done),
	} {
		_, resp := streamed(t, handle)
		if wantText(t, resp, "a"); resp.Finish != llm.FinishStop || resp.Usage.Reported {
			t.Errorf("%s: %+v", name, resp)
		}
	}
}

func TestDoneIsAnEndMarkWithoutAFinishReason(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(text("a"), done))
	if wantText(t, resp, "a"); resp.Finish != llm.FinishStop || resp.RawFinish != "" {
		t.Errorf("%+v", resp)
	}
}

func TestAStreamWithoutAnEndMarkIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"clean cut":         events(text("a")),
		"abort":             thenAbort(text("a")),
		"cut in a frame":    events(text("a"), `data: {"id":"c1","choices":[{"index":0,"delta":{"content":"b`),
		"cut before a line": events(text("a"), `data: `),
		"role only":         events(text("a"), data(`{"role":"assistant","content":""}`, "null")),
	} {
		got, resp, err := stream(t, serve(t, handle).provider(t), hello())
		e := failed(t, err, llm.ErrInterrupted)
		if resp == nil || resp.Text() != "a" || e.Partial != resp || len(got) != 1 || e.NotSent || e.Status != 200 {
			t.Errorf("%s: %d events, %+v, partial %+v", name, len(got), e, resp)
		}
	}
	_, resp, err := stream(t, serve(t, events()).provider(t), hello())
	wantKind(t, err, llm.ErrInterrupted)
	if resp != nil {
		t.Errorf("an empty stream made %+v", resp)
	}
}

func TestOnlyTheEndMarkIsBadOutput(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"done":              events(": warming\n\n", done),
		"finish":            events(stop(), done),
		"no event at all":   reply(200, "<html>a login page</html>", "Content-Type", "text/html"),
		"data that is none": events("data: hello\n\n", done),
		"half JSON":         events("data: {\"choices\":[\n\n", done),
	} {
		_, resp, err := stream(t, serve(t, handle).provider(t), hello())
		if e := failed(t, err, llm.ErrBadOutput); resp != nil || e.Code == "" {
			t.Errorf("%s: %+v, %+v", name, e, resp)
		}
	}
}

func TestAnAnswerCutByItsLimitMayBeEmpty(t *testing.T) {
	t.Parallel()
	got, resp := streamed(t, events(data(`{"role":"assistant","content":""}`, "null"), data("{}", `"length"`), counted, done))
	if len(got) > 0 || resp.Finish != llm.FinishLength || len(resp.Message.Parts) > 0 || !resp.Usage.Reported {
		t.Errorf("%d events, %+v", len(got), resp)
	}
}

func TestAfterTheFinishReasonNothingIsWaitedForLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behind string
		limit  time.Duration // 0: no deadline
		cancel time.Duration // when the context is canceled
		took   time.Duration
	}{
		"nothing comes":               {"", time.Minute, time.Minute, time.Second},
		"usage comes":                 {counted, time.Minute, time.Minute, time.Second},
		"usage and [DONE] come":       {counted + done, time.Minute, time.Minute, 10 * time.Millisecond},
		"the deadline is near":        {"", 300 * time.Millisecond, time.Minute, 75 * time.Millisecond},
		"the deadline is within 4 s":  {counted, 2 * time.Second, time.Minute, 500 * time.Millisecond},
		"the context ends first":      {"", 0, 300 * time.Millisecond, 300 * time.Millisecond},
		"the context ends with usage": {counted, 0, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := keep(t)(azure.Compatible(&azure.CompatibleOptions{
					BaseURL: "http://localhost", Model: "m",
					HTTP: adaptertest.Paced(200, "text/event-stream", 0, text("a")+stop()+c.behind),
				}))
				ctx, cancel := context.WithCancel(t.Context())
				if c.limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.limit)
				}
				defer cancel()
				defer time.AfterFunc(c.cancel, cancel).Stop()
				start := time.Now()
				resp, err := p.Generate(ctx, hello(), func(llm.Event) error { return nil })
				if err != nil || resp.Text() != "a" || resp.Usage.Reported != (c.behind != "") {
					t.Errorf("%+v, %v", resp, err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// paced opens a provider whose stream comes in virtual time: each piece after a pause, and at the end nothing.
func paced(t *testing.T, pause time.Duration, pieces ...string) *azure.Provider {
	t.Helper()
	return keep(t)(azure.Compatible(&azure.CompatibleOptions{
		BaseURL: "http://localhost", Model: "m", HTTP: adaptertest.Paced(200, "text/event-stream", pause, pieces...),
	}))
}

// TestAFinishReasonInEveryChunkEndsNothing: some servers repeat it, and the answer goes on for longer than the
// grace of a finished stream.
func TestAFinishReasonInEveryChunkEndsNothing(t *testing.T) {
	t.Parallel()
	chunk := func(s string) string { return data(`{"content":"`+s+`"}`, `"stop"`) }
	for name, c := range map[string]struct {
		pieces []string
		slow   time.Duration // of the sink
		want   string
		took   time.Duration
		kind   llm.Kind
	}{
		"until [DONE]":             {[]string{chunk("a"), chunk("b"), chunk("c"), chunk("d"), done}, 0, "abcd", 4010 * time.Millisecond, ""},
		"until nothing comes":      {[]string{chunk("a"), chunk("b"), chunk("c")}, 0, "abc", 3400 * time.Millisecond, ""},
		"usage moves nothing":      {[]string{chunk("a"), counted, counted}, 0, "a", 1800 * time.Millisecond, ""},
		"a slow sink":              {[]string{chunk("a"), chunk("b"), done}, 3 * time.Second, "ab", 6810 * time.Millisecond, ""},
		"content after the last":   {[]string{chunk("a"), text("b")}, 0, "ab", time.Minute, llm.ErrDeadlineExceeded},
		"content, then a finish":   {[]string{chunk("a"), text("b"), text("c"), stop()}, 0, "abc", 4200 * time.Millisecond, ""},
		"content, then its [DONE]": {[]string{chunk("a"), text("b"), done}, 0, "ab", 2410 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := paced(t, 800*time.Millisecond, c.pieces...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				resp, err := p.Generate(ctx, hello(), func(llm.Event) error {
					if c.slow > 0 {
						<-time.NewTimer(c.slow).C
					}
					return nil
				})
				if resp.Text() != c.want || llm.KindOf(err) != c.kind || err == nil && resp.RawFinish != "stop" {
					t.Errorf("%+v, %v", resp, err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestContentBehindAFinishReasonThatBreaksOffIsInterrupted(t *testing.T) {
	t.Parallel()
	_, resp, err := stream(t, serve(t, thenAbort(text("a"), stop(), text("b"))).provider(t), hello())
	wantKind(t, err, llm.ErrInterrupted)
	wantText(t, resp, "ab")
}

// TestAfterTheContextEndsAFinishedStreamTakesNoContent: the answer is complete only if nothing more came.
func TestAfterTheContextEndsAFinishedStreamTakesNoContent(t *testing.T) {
	t.Parallel()
	for behind, want := range map[string]llm.Kind{counted: "", data(`{"content":"b"}`, `"stop"`): llm.ErrCanceled, data(`{"refusal":"b"}`, "null"): llm.ErrCanceled} {
		ctx, cancel := context.WithCancel(t.Context())
		p := canned(t, 200, "text/event-stream", []byte(data(`{"content":"a"}`, `"stop"`)+behind+done))
		resp, err := p.Generate(ctx, hello(), func(llm.Event) error { cancel(); return nil })
		if llm.KindOf(err) != want || resp.Text() != "a" {
			t.Errorf("%s: %+v, %v", behind, resp, err)
		}
	}
}

// TestAStreamsConnectionIsUsedAgain: the end of the body comes a moment after the end mark, as it does over any
// network.
func TestAStreamsConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	connections := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		events(text("a"), stop(), counted, done)(w, r)
		<-time.NewTimer(time.Millisecond).C
	})
	p := s.provider(t)
	for range 20 {
		if _, _, err := stream(t, p, hello()); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(connections) > 10 { // a busy machine may lose one now and then
		t.Errorf("20 streams took %d connections", len(connections))
	}
}

func TestAnEventWithoutEndIsBadOutput(t *testing.T) {
	t.Parallel()
	_, _, err := stream(t, serve(t, events(text("a"), "data: "+strings.Repeat("x", 17<<20))).provider(t), hello())
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "event_too_large" {
		t.Errorf("%+v", e)
	}
}
