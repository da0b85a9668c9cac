package deadlines_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

const s = time.Second

// outcome is how a call ended. Zero fields of a wanted one are asserted, too.
type outcome struct {
	text     string // of the answer, or of what the sink accepted
	kind     llm.Kind
	bound    llm.Bound
	stopped  llm.StopReason
	exceeded bool // the error is an *ExceededError, too
	took     time.Duration
	sent     int
}

// spread is a wait of the service's own, which is lengthened by chance, by half of it at the most.
const spread = -1

// TestACallInAnExecution holds what an execution deadline does to the calls under it, each in virtual time: one target
// behind a chain, whose attempts have 60 s, and whose waits have no jitter.
func TestACallInAnExecution(t *testing.T) {
	t.Parallel()
	down := llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503})
	busy := func(wait time.Duration) llmtest.Step {
		return llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503, RetryAfter: wait})
	}
	ended := outcome{kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, exceeded: true, sent: 1}
	with := func(o outcome, took time.Duration) outcome { o.took = took; return o }
	tests := []struct {
		name   string
		total  time.Duration
		used   time.Duration // before the call
		stream bool
		steps  []llmtest.Step
		want   outcome
	}{
		{"an attempt is clamped to what is left", 20 * s, 0, false, []llmtest.Step{llmtest.Hang()}, with(ended, 20*s)},
		{"late in the execution, too", 20 * s, 15 * s, false, []llmtest.Step{llmtest.Hang()}, with(ended, 5*s)},
		{"an execution that is longer clamps nothing", 1000 * s, 0, false, []llmtest.Step{llmtest.Text("ok").After(59 * s)}, outcome{text: "ok", took: 59 * s, sent: 1}},
		{"a retry is clamped to what is left then", 20 * s, 0, false, []llmtest.Step{down.After(10 * s), llmtest.Hang()}, outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, exceeded: true, sent: 2, took: 20 * s,
		}},
		{"a wait that fits is kept", 60 * s, 0, false, []llmtest.Step{busy(30 * s), llmtest.Text("ok")}, outcome{text: "ok", took: spread, sent: 2}},
		{"one that does not fit is skipped", 60 * s, 40 * s, false, []llmtest.Step{busy(30 * s)}, outcome{
			kind: llm.ErrUnavailable, stopped: llm.StopDeadline, sent: 1,
		}},
		{"one behind which nothing could start is skipped", 60 * s, 20 * s, false, []llmtest.Step{busy(36 * s)}, outcome{
			kind: llm.ErrUnavailable, stopped: llm.StopDeadline, sent: 1,
		}},
		{"back-off that does not fit is skipped", 20 * s, 17 * s, false, []llmtest.Step{down.After(500 * time.Millisecond)}, outcome{
			kind: llm.ErrUnavailable, stopped: llm.StopDeadline, sent: 1, took: 500 * time.Millisecond,
		}},
		{"below the floor nothing is sent", 60 * s, 55*s + 1, false, []llmtest.Step{llmtest.Text("never")}, outcome{
			kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, exceeded: true,
		}},
		{"at the floor it is", 60 * s, 55 * s, false, []llmtest.Step{llmtest.Text("ok")}, outcome{text: "ok", sent: 1}},
		{"a slow stream that outlasts the deadline ends at it", 20 * s, 0, true, []llmtest.Step{llmtest.Text("a b c d e f g h i j k l m n").Every(3 * s)}, outcome{
			text: "a b c d e f g ", kind: llm.ErrDeadlineExceeded, bound: llm.BoundExecution, stopped: llm.StopDeadline, exceeded: true, took: 20 * s, sent: 1,
		}},
		{"a stream without content ends at it", 20 * s, 0, true, []llmtest.Step{llmtest.Hang(llmtest.PhaseFirst)}, with(ended, 20*s)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := llmtest.New(tt.steps...)
				ctx, cancel := deadline.With(t.Context(), tt.total, nil)
				defer cancel()
				time.Sleep(tt.used)
				got := call(ctx, t, fake, tt.stream)
				if tt.want.took == spread && got.took >= 30*s && got.took <= 45*s {
					got.took = spread
				}
				if got != tt.want {
					t.Errorf("the call ended with\n%+v, want\n%+v", got, tt.want)
				}
			})
		})
	}
}

// TestACallInAStep: a step bounds the calls under it, and its name is in the error.
func TestACallInAStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, &deadline.Options{Caps: map[string]time.Duration{"plan": 8 * s}})
		defer cancel()
		step, done, err := deadline.Step(ctx, "plan", 10*s)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		start := time.Now()
		_, err = newChain(t, llmtest.New(llmtest.Hang())).Generate(step, question())
		if e, ok := errors.AsType[*deadline.ExceededError](err); !ok || e.Step != "plan" || time.Since(start) != 8*s {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if deadline.Check(ctx) != nil || ctx.Err() != nil {
			t.Error("the execution is over with its step")
		}
	})
}

// TestCallsSideBySide: calls that share one execution all end at its end.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 20*s, nil)
		defer cancel()
		client := newChain(t, llmtest.New(llmtest.Hang()))
		errs := make(chan error)
		for range 20 {
			go func() {
				_, err := client.Generate(ctx, question())
				errs <- err
			}()
		}
		for range 20 {
			if err := <-errs; llm.KindOf(err) != llm.ErrDeadlineExceeded || deadline.Elapsed(ctx) != 20*s {
				t.Errorf("after %v: %v", deadline.Elapsed(ctx), err)
			}
		}
	})
}

func question() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("?")}} }

func newChain(t *testing.T, g llm.Generator) *llm.Client {
	t.Helper()
	client, err := fallback.NewClient([]fallback.Target{{Name: "a", Generator: g, Prompt: true}}, &fallback.Options{
		Plans: policy.Plans{Default: policy.Plan{
			Limits: llm.Limits{Attempt: 60 * s, Total: 600 * s}, Backoff: policy.Backoff{Jitter: "none"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// call makes one call and says how it ended.
func call(ctx context.Context, t *testing.T, fake *llmtest.Fake, stream bool) outcome {
	t.Helper()
	client, start := newChain(t, fake), time.Now()
	var got outcome
	var resp *llm.Response
	var err error
	if stream {
		var said strings.Builder
		events := client.Stream(ctx, question())
		for text, failed := range events.Text() {
			said.WriteString(text)
			err = failed
		}
		got.text = said.String()
	} else if resp, err = client.Generate(ctx, question()); resp != nil {
		got.text = resp.Text()
	}
	got.took, got.sent = time.Since(start), len(fake.Requests())
	if e, ok := errors.AsType[*llm.Error](err); ok {
		got.kind, got.bound, got.stopped = e.Kind, e.Bound, e.Stopped
		_, got.exceeded = errors.AsType[*deadline.ExceededError](err)
	} else if err != nil {
		t.Errorf("an error of another type: %v", err)
	}
	return got
}
