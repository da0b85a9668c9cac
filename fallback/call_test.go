package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// TestCall plays whole calls in virtual time: what comes back, when, and with which trail.
func TestCall(t *testing.T) {
	t.Parallel()
	hang, ok := llmtest.Hang(), llmtest.Text("ok")
	tests := []struct {
		name     string
		once     bool          // no retries
		deadline time.Duration // the caller's; 0: none
		cancel   time.Duration // the caller cancels then; 0: never
		targets  []fallback.Target
		request  func(*llm.Request)
		stream   bool

		text    string // of the answer, or of Partial
		kind    llm.Kind
		bound   llm.Bound
		stopped llm.StopReason
		trail   string
		skipped string
		took    time.Duration
	}{
		{
			name: "the first target answers", targets: []fallback.Target{target("a", ok), target("b", ok)},
			text: "ok", trail: "a:answered@0s",
		},
		{
			name: "a hanging primary is cut at its limit and the next answers", targets: []fallback.Target{target("a", hang), target("b", ok)},
			text: "ok", trail: "a:timeout(attempt)@30s b:answered@0s", took: 30 * s,
		},
		{
			name: "under a deadline each target gets an equal share", deadline: 20 * s,
			targets: []fallback.Target{target("a", hang), target("b", hang), target("c", ok)},
			text:    "ok", trail: "a:timeout(attempt)@6.666666666s b:timeout(attempt)@6.666666667s c:answered@0s", took: 13333333333,
		},
		{
			name: "the last target has all the time that is left, and the deadline ends it", deadline: 20 * s,
			targets: []fallback.Target{target("a", hang), target("b", hang)},
			kind:    llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline,
			trail: "a:timeout(attempt)@10s b:deadline_exceeded(caller)@10s", took: 20 * s,
		},
		{
			name:    "without a deadline all hanging end as a timeout",
			targets: []fallback.Target{target("a", hang), target("b", hang), target("c", hang)},
			kind:    llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopTotal,
			trail: "a:timeout(attempt)@30s b:timeout(attempt)@30s c:timeout(attempt)@30s", took: 90 * s,
		},
		{
			name: "the total ends the call", request: func(r *llm.Request) { r.Limits.Total = 40 * s; r.Limits.Attempt = 39 * s },
			targets: []fallback.Target{target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}).After(39*s-1)), target("b", hang), target("c", hang)},
			kind:    llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal,
			trail: "a:timeout(attempt)@13.333333333s b:timeout(attempt)@13.333333333s c:timeout(total)@13.333333334s", took: 40 * s,
		},
		{
			name: "nothing is started that cannot finish usefully", deadline: 10 * s,
			targets: []fallback.Target{target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}).After(9500*time.Millisecond)), target("b", ok)},
			request: func(r *llm.Request) { r.Route.Only = []string{"a", "b"} },
			kind:    "", text: "ok", trail: "a:timeout(attempt)@5s b:answered@0s", took: 5 * s,
		},
		{
			name: "a caller who cancels gets Canceled at once", cancel: 3 * s, targets: []fallback.Target{target("a", hang), target("b", ok)},
			kind: llm.ErrCanceled, stopped: llm.StopFinal, trail: "a:canceled@3s", took: 3 * s,
		},
		{
			name: "an invalid request is not sent to another target", targets: []fallback.Target{target("a", fail(llm.ErrInvalid)), target("b", ok)},
			kind: llm.ErrInvalid, stopped: llm.StopFinal, trail: "a:invalid@0s",
		},
		{
			name: "a filtered prompt is not sent to another vendor", targets: []fallback.Target{target("a", fail(llm.ErrContentFiltered)), target("b", ok)},
			kind: llm.ErrContentFiltered, stopped: llm.StopFinal, trail: "a:content_filtered@0s",
		},
		{
			name: "a refused key does not hide a passing fault", once: true, targets: []fallback.Target{target("a", fail(llm.ErrUnavailable)), target("b", fail(llm.ErrAuth))},
			kind: llm.ErrUnavailable, stopped: llm.StopTries, trail: "a:unavailable@0s b:auth@0s",
		},
		{
			name: "tries bound the whole call", request: func(r *llm.Request) { r.Limits.Tries = 2 },
			targets: []fallback.Target{target("a", fail(llm.ErrUnavailable)), target("b", fail(llm.ErrRateLimited)), target("c", ok)},
			kind:    llm.ErrRateLimited, stopped: llm.StopTries, trail: "a:unavailable@0s b:rate_limited@0s",
		},
		{
			name: "an empty answer is bad output", targets: []fallback.Target{target("a", llmtest.Respond(&llm.Response{})), target("b", ok)},
			text: "ok", trail: "a:bad_output@0s b:answered@0s",
		},
		{
			name: "output that is no JSON is bad output", request: func(r *llm.Request) { r.Output = &llm.Schema{} },
			targets: []fallback.Target{target("a", ok), target("b", llmtest.Text(`{"a":1}`))},
			text:    `{"a":1}`, trail: "a:bad_output@0s b:answered@0s",
		},
		{
			name: "Accept judges inside the call", request: func(r *llm.Request) {
				r.Accept = func(resp *llm.Response) error {
					if resp.Text() != "yes" {
						return errors.New("not yes")
					}
					return nil
				}
			},
			targets: []fallback.Target{target("a", ok), target("b", llmtest.Text("yes"))},
			text:    "yes", trail: "a:bad_output@0s b:answered@0s",
		},
		{
			name: "a stream is handed over before the first content", stream: true,
			targets: []fallback.Target{target("a", llmtest.Hang(llmtest.PhaseFirst)), target("b", ok)},
			text:    "ok", trail: "a:timeout(attempt)@30s b:answered@0s", took: 30 * s,
		},
		{
			name: "a stream has its own first content limit", stream: true, request: func(r *llm.Request) { r.Limits.FirstContent = 8 * s },
			targets: []fallback.Target{target("a", llmtest.Hang(llmtest.PhaseFirst)), target("b", ok)},
			text:    "ok", trail: "a:timeout(first_content)@8s b:answered@0s", took: 8 * s,
		},
		{
			name: "after content nothing is sent again", stream: true,
			targets: []fallback.Target{target("a", llmtest.Hang(llmtest.PhaseStream)), target("b", ok)},
			text:    "partial ", kind: llm.ErrTimeout, bound: llm.BoundIdle, stopped: llm.StopContent, trail: "a:timeout(idle)@30s", took: 30 * s,
		},
		{
			name: "a cut stream is interrupted and keeps what came", stream: true,
			targets: []fallback.Target{target("a", llmtest.Cut("half a")), target("b", ok)},
			text:    "half a", kind: llm.ErrInterrupted, stopped: llm.StopContent, trail: "a:interrupted@0s",
		},
		{
			name: "a stream that was cut before content goes on", stream: true,
			targets: []fallback.Target{target("a", llmtest.Cut("")), target("b", ok)},
			text:    "ok", trail: "a:interrupted@0s b:answered@0s",
		},
		{
			name: "a stream may take longer than the total once content flows", stream: true,
			targets: []fallback.Target{target("a", llmtest.Text(strings.Repeat("word ", 20)).Every(20*s))},
			text:    strings.Repeat("word ", 20), trail: "a:answered@6m20s", took: 380 * s,
		},
		{
			name: "a stream without a deadline ends after ten minutes", stream: true,
			targets: []fallback.Target{target("a", llmtest.Text(strings.Repeat("w ", 1000)).Every(s))},
			text:    strings.Repeat("w ", 600), kind: llm.ErrTimeout, bound: llm.BoundEnd, stopped: llm.StopContent,
			trail: "a:timeout(end)@10m0s", took: 600 * s,
		},
		{
			name: "Route.Only fails rather than widen", once: true, request: func(r *llm.Request) { r.Route.Only = []string{"b"} },
			targets: []fallback.Target{target("a", ok), target("b", fail(llm.ErrUnavailable)), target("c", ok)},
			kind:    llm.ErrUnavailable, stopped: llm.StopTries, trail: "b:unavailable@0s",
		},
		{
			name: "Route.Only with an unknown name is invalid", request: func(r *llm.Request) { r.Route.Only = []string{"z"} },
			targets: []fallback.Target{target("a", ok)}, kind: llm.ErrInvalid,
		},
		{
			name: "Route.Tags keeps the targets that have all of them", request: func(r *llm.Request) { r.Route.Tags = []string{"eu"} },
			targets: []fallback.Target{target("a", ok), tagged(target("b", llmtest.Text("eu")), "eu", "fast")},
			text:    "eu", trail: "b:answered@0s", skipped: "a:route",
		},
		{
			name: "Route.Tags that nobody has are unsupported", request: func(r *llm.Request) { r.Route.Tags = []string{"mars"} },
			targets: []fallback.Target{target("a", ok)}, kind: llm.ErrUnsupported, skipped: "a:route",
		},
		{
			name: "Route.Prefer goes first", request: func(r *llm.Request) { r.Route.Prefer = "c" },
			targets: []fallback.Target{target("a", ok), target("b", ok), target("c", fail(llm.ErrUnavailable))},
			text:    "ok", trail: "c:unavailable@0s a:answered@0s",
		},
		{
			name: "who wrote the last assistant message goes first", request: func(r *llm.Request) {
				r.Messages = append(r.Messages, llm.Message{
					Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "yes"}},
					From: llm.ModelRef{Provider: "fake", Model: "model-b"},
				}, llm.User("why?"))
			},
			targets: []fallback.Target{target("a", ok), target("b", llmtest.Text("because"))},
			text:    "because", trail: "b:answered@0s",
		},
		{
			name: "a target that cannot carry the request is passed over", request: func(r *llm.Request) { r.Seed = new(int64(1)) },
			targets: []fallback.Target{lacking(target("a", ok), "seed"), target("b", llmtest.Text("seeded"))},
			text:    "seeded", trail: "b:answered@0s", skipped: "a:unsupported",
		},
		{
			name: "what no target can carry is unsupported", request: func(r *llm.Request) { r.Seed = new(int64(1)) },
			targets: []fallback.Target{lacking(target("a", ok), "seed")}, kind: llm.ErrUnsupported, skipped: "a:unsupported",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				req := triage()
				if tt.request != nil {
					tt.request(req)
				}
				plans := policy.Plans{}
				if tt.once {
					plans.Default.MaxRetries = policy.NoRetries
				}
				client, err := fallback.NewClient(tt.targets, &fallback.Options{Plans: plans})
				if err != nil {
					t.Fatal(err)
				}
				var resp *llm.Response
				if tt.stream {
					resp, err = client.Stream(ctx, req).Response()
				} else {
					resp, err = client.Generate(ctx, req)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				e := &llm.Error{}
				if err != nil && !errors.As(err, &e) {
					t.Fatalf("the error is a %T", err)
				}
				if err != nil {
					resp = &llm.Response{Attempts: e.Attempts, Skipped: e.Skipped}
					if e.Partial != nil {
						resp.Message = e.Partial.Message
					}
				}
				if e.Kind != tt.kind || e.Bound != tt.bound || e.Stopped != tt.stopped {
					t.Errorf("kind, bound, stopped = %q %q %q, want %q %q %q (%v)", e.Kind, e.Bound, e.Stopped, tt.kind, tt.bound, tt.stopped, err)
				}
				if resp.Text() != tt.text {
					t.Errorf("text %q, want %q", resp.Text(), tt.text)
				}
				if got := trail(resp.Attempts); got != tt.trail {
					t.Errorf("trail\n got %s\nwant %s", got, tt.trail)
				}
				if got := skips(resp.Skipped); got != tt.skipped {
					t.Errorf("skipped %q, want %q", got, tt.skipped)
				}
			})
		})
	}
}

// TestEqualLimits: when our limit and the caller's deadline end at the same instant, the deadline is told.
func TestEqualLimits(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*s)
			defer cancel()
			_, err := llm.NewClient(chain(t, target("a", llmtest.Hang())), nil).Generate(ctx, triage())
			if !errors.Is(err, context.DeadlineExceeded) || llm.KindOf(err) != llm.ErrDeadlineExceeded {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestAnswerCarriesWhoGaveIt(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("ok")))
	resp, err := c.Generate(t.Context(), &llm.Request{Operation: "unheard-of", Messages: []llm.Message{llm.User("x")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.ModelRef{Provider: "fake", Model: "model-b"}); resp.Target != "b" || resp.Model != want || resp.Message.From != want {
		t.Errorf("target %q, model %v, from %v", resp.Target, resp.Model, resp.Message.From)
	}
	if len(resp.Warnings) != 1 || resp.Warnings[0].Code != "unknown_operation" {
		t.Errorf("warnings: %+v", resp.Warnings)
	}
}

// TestRetryAfterIsTheEarliest: it counts from the end of the call, whatever came after the one who asked for it.
func TestRetryAfterIsTheEarliest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testRetryAfter)
}

func testRetryAfter(t *testing.T) {
	limited := func(name string, d time.Duration) fallback.Target {
		return target(name, llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: d}))
	}
	slow := limited("b", 75*s)
	slow.Generator = llmtest.New(llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 75 * s}).After(4 * s))
	plans := policy.Plans{Default: policy.Plan{MaxRetries: policy.NoRetries}}
	client, err := fallback.NewClient([]fallback.Target{limited("a", 24*s), slow}, &fallback.Options{Plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Generate(t.Context(), triage())
	e := &llm.Error{}
	if !errors.As(err, &e) || e.RetryAfter != 20*s || e.Target != "b" || e.Status != 429 {
		t.Errorf("got %+v", e)
	}
	if want := "llm: triage: b (fake/model-b): rate_limited (429, retry after 20s), 2 targets tried"; e.Error() != want {
		t.Errorf("got  %s\nwant %s", e.Error(), want)
	}
}

// TestForeignGenerators: code that ignores its context is left behind at its limit.
func TestForeignGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			time.Sleep(1000 * s)
			return nil, errors.New("late")
		})
		start := time.Now()
		c := chain(t, fallback.Target{Name: "deaf", Generator: deaf}, target("b", llmtest.Text("ok")))
		resp, err := c.Generate(t.Context(), triage(), nil)
		if err != nil || resp.Text() != "ok" || time.Since(start) != 30*s {
			t.Errorf("%v, %v after %v", resp.Text(), err, time.Since(start))
		}
		time.Sleep(1000 * s) // it ends some day
	})
}

// TestTheLimitThatFellIsTold: whoever reads the error must raise the right one.
func TestTheLimitThatFellIsTold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limits llm.Limits
		step   llmtest.Step
		stream bool
		want   string
	}{
		{llm.Limits{}, llmtest.Hang(), false, "timeout (attempt 30s)"},
		{llm.Limits{FirstContent: 8 * s}, llmtest.Hang(), true, "timeout (first_content 8s)"},
		{llm.Limits{Idle: 5 * s}, llmtest.Hang(llmtest.PhaseStream), true, "timeout (idle 5s)"},
		{llm.Limits{Total: 12 * s}, llmtest.Hang(), false, "timeout (total 12s)"},
		{llm.Limits{}, llmtest.Text(strings.Repeat("w ", 100)).Every(20 * s), true, "timeout (end 10m0s)"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			client := llm.NewClient(chain(t, target("a", tt.step)), nil)
			req := triage()
			req.Limits, req.Limits.Tries = tt.limits, 1
			var err error
			if tt.stream {
				_, err = client.Stream(t.Context(), req).Response()
			} else {
				_, err = client.Generate(t.Context(), req)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v lacks %q", err, tt.want)
			}
		})
	}
}

// TestTheModelIsToldWithoutBeingConfigured: a provider knows its own.
func TestTheModelIsToldWithoutBeingConfigured(t *testing.T) {
	t.Parallel()
	gpt := llm.ModelRef{Provider: "azure", Model: "gpt-4o"}
	failing := fallback.Target{Name: "a", Prompt: true, Generator: llmtest.New(llmtest.Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401, Model: gpt}))}
	_, err := chain(t, failing).Generate(t.Context(), triage(), nil)
	if want := "llm: triage: a (azure/gpt-4o): auth (401)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAbsurdLimits: a forgotten unit and "no limit" mean what they say.
func TestAbsurdLimits(t *testing.T) {
	t.Parallel()
	const forever = time.Duration(math.MaxInt64)
	tests := []struct {
		name   string
		limits llm.Limits
		steps  []llmtest.Step
		stream bool
		kind   llm.Kind
		took   time.Duration
	}{
		{"a total of a nanosecond ends at once", llm.Limits{Total: 1}, []llmtest.Step{llmtest.Hang(), llmtest.Hang(), llmtest.Hang()}, false, llm.ErrTimeout, 1},
		{"a total of two", llm.Limits{Total: 2}, []llmtest.Step{llmtest.Hang(), llmtest.Hang(), llmtest.Hang()}, false, llm.ErrTimeout, 2},
		{"an endless attempt answers", llm.Limits{Attempt: forever}, []llmtest.Step{llmtest.Text("ok").After(time.Hour)}, false, "", time.Hour},
		{"everything endless answers", llm.Limits{Attempt: forever, Connect: forever, FirstContent: forever, Idle: forever, Total: forever, Tries: math.MaxInt}, []llmtest.Step{llmtest.Text("ok")}, true, "", 0},
		{"an endless idle hides no cut", llm.Limits{Idle: forever}, []llmtest.Step{llmtest.Cut("half")}, true, llm.ErrInterrupted, 0},
		{"an endless idle leaves the end of a stream", llm.Limits{Idle: forever}, []llmtest.Step{llmtest.Hang(llmtest.PhaseStream)}, true, llm.ErrTimeout, 10 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var targets []fallback.Target
				for i, step := range tt.steps {
					targets = append(targets, target(fmt.Sprint("t", i), step))
				}
				client := llm.NewClient(chain(t, targets...), nil)
				req := triage()
				req.Limits = tt.limits
				start := time.Now()
				var err error
				if tt.stream {
					_, err = client.Stream(t.Context(), req).Response()
				} else {
					_, err = client.Generate(t.Context(), req)
				}
				if took := time.Since(start); llm.KindOf(err) != tt.kind || took != tt.took {
					t.Errorf("%v after %v, want %q after %v", err, took, tt.kind, tt.took)
				}
			})
		})
	}
}

// TestAnAnswerInHandIsGiven: the deadline that falls while a complete answer is on its way back takes nothing.
func TestAnAnswerInHandIsGiven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
			time.Sleep(10*s + time.Millisecond)
			return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "ok"}}}}, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*s)
		defer cancel()
		c := chain(t, fallback.Target{Name: "a", Generator: late, Prompt: true})
		if resp, err := c.Generate(ctx, triage(), nil); err != nil || resp.Text() != "ok" {
			t.Errorf("%v, %v", resp, err)
		}
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(s, leave)
		if _, err := c.Generate(gone, triage(), nil); llm.KindOf(err) != llm.ErrCanceled {
			t.Errorf("a caller who has gone: %v", err)
		}
	})
}

func TestNilsAreRefused(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a"))
	//nolint:staticcheck // the nil context is the point
	if _, err := c.Generate(nil, triage(), nil); llm.KindOf(err) != llm.ErrInvalid {
		t.Errorf("no context: %v", err)
	}
	if _, err := c.Generate(t.Context(), nil, nil); llm.KindOf(err) != llm.ErrInvalid {
		t.Errorf("no request: %v", err)
	}
	//nolint:staticcheck // the nil context is the point
	if err := c.Close(nil); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestACallThatIsOverBeforeItBegins sends nothing, and says whose end that was.
func TestACallThatIsOverBeforeItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := target("a")
		c := planned(t, exact(), one)
		late, cancel := context.WithTimeout(t.Context(), s)
		defer cancel()
		time.Sleep(s)
		want(t, "the deadline has passed", ask(late, c, triage()), outcome{kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline, skipped: "a:no_time"})
		gone, leave := context.WithCancelCause(t.Context())
		mine := errors.New("mine")
		leave(mine)
		_, err := c.Generate(gone, triage(), nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrCanceled || !e.NotSent || !errors.Is(err, mine) {
			t.Errorf("%+v", err)
		}
		if asked(one) != 0 {
			t.Error("a request was sent")
		}
	})
}

// TestATargetThatReturnsNothing: neither an answer nor an error is no answer.
func TestATargetThatReturnsNothing(t *testing.T) {
	t.Parallel()
	nothing := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { return nil, nil })
	c := planned(t, exact(), named("a", nothing), target("b"))
	resp, err := c.Generate(t.Context(), triage(), nil)
	if err != nil || resp.Target != "b" || resp.Attempts[0].Kind != llm.ErrBadOutput || status(t, c, "a").Score != 1 {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestABreakerIsAskedAgainAfterASleep: a probe of another call may have been answered in the meantime.
func TestABreakerIsAskedAgainAfterASleep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		settle time.Duration // when the probe of the other call ends
		weight float64
		want   outcome
	}{
		{"it was answered", 500 * time.Millisecond, 0, outcome{text: "b", trail: "a:unavailable@0s b:answered@0s", took: s}},
		{"it failed", 500 * time.Millisecond, 1, outcome{text: "a", trail: "a:unavailable@0s a:answered@0s", took: s}},
		{"it is out", time.Hour, 0, outcome{text: "a", trail: "a:unavailable@0s a:answered@0s", took: s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := breaker.NewSet(nil)
				trip(t, set, "b")
				time.Sleep(331 * s)
				probe, err := set.Allow("b")
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(tt.settle, func() { probe.Settle(breaker.Outcome{Weight: tt.weight}) })
				c := opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: exact()}},
					target("a", fail(llm.ErrUnavailable), llmtest.Text("a")), target("b", llmtest.Text("b")))
				want(t, "the call", ask(t.Context(), c, triage()), tt.want)
			})
		})
	}
}

// TestTheTargetOfACallThatIsCanceled is the one that failed last, wherever the cancel falls.
func TestTheTargetOfACallThatIsCanceled(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{0: "", s / 2: "a", 3 * s / 2: "a", 3 * s: "a", 10 * s: "a"} { // under way, in a sleep, …
		synctest.Test(t, func(t *testing.T) {
			c := planned(t, exact(), target("a", fail(llm.ErrUnavailable).After(s), fail(llm.ErrUnavailable), llmtest.Hang()))
			ctx, cancel := context.WithCancel(t.Context())
			if after == 0 {
				cancel()
			}
			time.AfterFunc(after, cancel)
			_, err := c.Generate(ctx, triage(), nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != llm.ErrCanceled {
				t.Fatalf("after %v: %v", after, err)
			}
			if e.Target != want || want != "" && e.Model.Model != "model-"+want {
				t.Errorf("after %v: the target %q, the model %v, want %q: %v", after, e.Target, e.Model, want, err)
			}
		})
	}
}
