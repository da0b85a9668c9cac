package bedrock_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// paced is a provider whose stream comes one frame after each gap, and is then held open, in virtual time.
func paced(t *testing.T, gap time.Duration, frames ...string) *bedrock.Provider {
	t.Helper()
	client := adaptertest.Paced(200, eventStream, gap, frames...)
	return keep(t)(bedrock.New(&bedrock.Options{Region: "us-east-1", Model: claude, Credentials: keys("AKID"), HTTP: client}))
}

func TestBehindMessageStopNothingIsWaitedForLong(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		frames []string // 100 ms apart
		limit  time.Duration
		cancel time.Duration
		want   string
		took   time.Duration
		kind   llm.Kind
	}{
		"nothing comes":              {[]string{text(0, "a"), stop("end_turn")}, time.Minute, time.Minute, "a", 1200 * ms, ""},
		"metadata comes":             {[]string{text(0, "a"), stop("end_turn"), metadata()}, time.Minute, time.Minute, "a", 310 * ms, ""},
		"the deadline is near":       {[]string{text(0, "a"), stop("end_turn")}, 600 * ms, time.Minute, "a", 300 * ms, ""},
		"the deadline is within 4 s": {[]string{text(0, "a"), stop("end_turn")}, 2200 * ms, time.Minute, "a", 700 * ms, ""},
		"the context ends first":     {[]string{text(0, "a"), stop("end_turn")}, time.Minute, 500 * ms, "a", 500 * ms, ""},
		"pings do not prolong it": {
			[]string{
				text(0, "a"), stop("end_turn"), event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"),
				event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"), event("new", "{}"),
			},
			time.Minute, time.Minute, "a", 1200 * ms, "",
		},
		"content, then the end again": {[]string{text(0, "a"), stop("end_turn"), text(0, "b"), stop("end_turn"), metadata()}, time.Minute, time.Minute, "ab", 510 * ms, ""},
		"content, and no end":         {[]string{text(0, "a"), stop("end_turn"), text(0, "b")}, 5 * time.Second, time.Minute, "ab", 5 * time.Second, llm.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				defer time.AfterFunc(c.cancel, cancel).Stop()
				p := paced(t, 100*ms, c.frames...)
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

func TestContentBehindMessageStopThatBreaksOffIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, handle := range []http.HandlerFunc{
		events(begin(), text(0, "a"), stop("end_turn"), text(0, "b")), thenAbort(begin(), text(0, "a"), stop("end_turn"), text(0, "b")),
	} {
		_, resp, err := stream(t, serve(t, handle).provider(t), hello())
		if e := failed(t, err, llm.ErrInterrupted); e.Partial != resp || resp.Text() != "ab" {
			t.Errorf("%+v", resp)
		}
	}
}

// TestAfterTheContextEndsAFinishedStreamTakesNoContent: the answer is complete only if nothing more came.
func TestAfterTheContextEndsAFinishedStreamTakesNoContent(t *testing.T) {
	t.Parallel()
	for behind, want := range map[string]llm.Kind{metadata(): "", event("new", "{}"): "", text(0, "b"): llm.ErrCanceled, callStart(1, "u", "f"): llm.ErrCanceled} {
		ctx, cancel := context.WithCancel(t.Context())
		frames := []string{text(0, "a"), stop("end_turn"), behind}
		p := reading(t, eventStream, adaptertest.Pieces(func(i int) string {
			if i == 2 {
				cancel()
			}
			if i < len(frames) {
				return frames[i]
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
