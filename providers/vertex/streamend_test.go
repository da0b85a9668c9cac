package vertex_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// paced is a provider whose stream comes one piece after each gap, and is then held open, in virtual time.
func paced(t *testing.T, gap time.Duration, all ...string) *vertex.Provider {
	t.Helper()
	client := adaptertest.Paced(200, eventStream, gap, all...)
	return keep(t)(vertex.New(&vertex.Options{Project: "p", Model: "gemini-2.5-flash", APIKey: "key-test", HTTP: client}))
}

func TestBehindAFinishReasonNothingIsWaitedForLong(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	bare := data(chunk("", "STOP"))
	empty := data(`{"modelVersion":"m-1"}`)
	both := data(counted(chunk(text("b"), "STOP")))
	for name, c := range map[string]struct {
		pieces []string // 100 ms apart
		limit  time.Duration
		cancel time.Duration
		want   string
		took   time.Duration
		kind   llm.Kind
	}{
		"nothing comes":               {[]string{said("a"), bare}, time.Minute, time.Minute, "a", 1200 * ms, ""},
		"a count comes":               {[]string{said("a"), bare, data(`{"usageMetadata":{"promptTokenCount":5}}`)}, time.Minute, time.Minute, "a", 310 * ms, ""},
		"the count is there":          {[]string{said("a"), stop()}, time.Minute, time.Minute, "a", 210 * ms, ""},
		"all in the last event":       {[]string{said("a"), both}, time.Minute, time.Minute, "ab", 1200 * ms, ""},
		"all in every event":          {[]string{both, both, both}, time.Minute, time.Minute, "bbb", 1300 * ms, ""},
		"the deadline is near":        {[]string{said("a"), bare}, 600 * ms, time.Minute, "a", 300 * ms, ""},
		"the deadline is within 4 s":  {[]string{said("a"), bare}, 2200 * ms, time.Minute, "a", 700 * ms, ""},
		"the context ends first":      {[]string{said("a"), bare}, time.Minute, 500 * ms, "a", 500 * ms, ""},
		"events do not prolong it":    {[]string{said("a"), bare, empty, empty, empty, empty, empty, empty, empty, empty, empty, empty, empty, empty}, time.Minute, time.Minute, "a", 1200 * ms, ""},
		"content, then the end again": {[]string{said("a"), bare, said("b"), stop()}, time.Minute, time.Minute, "ab", 410 * ms, ""},
		"content, and no end":         {[]string{said("a"), bare, said("b")}, 5 * time.Second, time.Minute, "ab", 5 * time.Second, llm.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				defer time.AfterFunc(c.cancel, cancel).Stop()
				p := paced(t, 100*ms, c.pieces...)
				start := time.Now()
				resp, err := p.Generate(ctx, hello(), func(llm.Event) error { return nil })
				if resp.Text() != c.want || llm.KindOf(err) != c.kind {
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
	for name, all := range map[string][]string{"text": {said("a"), stop(), said("b")}, "a call": {said("ab"), stop(), data(chunk(`{"functionCall":{"name":"f"}}`, ""))}} {
		for _, handle := range []http.HandlerFunc{events(all...), thenAbort(all...)} {
			_, resp, err := stream(t, serve(t, handle).provider(t), hello())
			if e := failed(t, err, llm.ErrInterrupted); e.Partial != resp || resp.Text() != "ab" {
				t.Errorf("%s: %+v", name, resp)
			}
		}
	}
}

func TestASignatureBehindAFinishReasonIsNoContent(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(data(chunk(text("a"), "STOP")), data(chunk(`{"text":"","thoughtSignature":"AQ=="}`, ""))))
	if got, ok := resp.Message.Parts[0].(llm.Text); !ok || got.Text != "a" || string(got.Signature) != "\x01" {
		t.Errorf("%+v", resp)
	}
}

// TestAfterTheContextEndsAFinishedStreamTakesNoContent: the answer is complete only if nothing more came.
func TestAfterTheContextEndsAFinishedStreamTakesNoContent(t *testing.T) {
	t.Parallel()
	for behind, want := range map[string]llm.Kind{data(`{"usageMetadata":{"promptTokenCount":5}}`): "", said("b"): llm.ErrCanceled, data(chunk(`{"functionCall":{"name":"f"}}`, "")): llm.ErrCanceled} {
		ctx, cancel := context.WithCancel(t.Context())
		all := []string{said("a"), data(chunk("", "STOP")), behind}
		p := reading(t, eventStream, adaptertest.Pieces(func(i int) string {
			if i == 2 {
				cancel()
			}
			if i < len(all) {
				return all[i]
			}
			return ""
		}))
		resp, err := p.Generate(ctx, hello(), func(llm.Event) error { return nil })
		if llm.KindOf(err) != want || resp.Text() != "a" {
			t.Errorf("%q: %+v, %v", behind, resp, err)
		}
		cancel()
	}
}
