package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

const s = time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fail(k llm.Kind) llmtest.Step { return llmtest.Fail(&llm.Error{Kind: k}) }

// target makes a target of the script, named name.
func target(name string, steps ...llmtest.Step) fallback.Target {
	return fallback.Target{
		Name: name, Generator: llmtest.New(steps...), Prompt: true,
		Model: llm.ModelRef{Provider: "fake", Model: "model-" + name},
	}
}

func chain(t *testing.T, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(targets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func triage() *llm.Request {
	return &llm.Request{Operation: llm.Triage, Messages: []llm.Message{llm.User("urgent?")}}
}

// trail writes a trail as "a:timeout(attempt)@30s b:answered@0s".
func trail(attempts []llm.Attempt) string {
	words := make([]string, len(attempts))
	for i, a := range attempts {
		word := "answered"
		if a.Kind != "" {
			word = string(a.Kind)
		}
		if a.Bound != "" {
			word += "(" + string(a.Bound) + ")"
		}
		words[i] = fmt.Sprintf("%s:%s@%v", a.Target, word, a.Took)
	}
	return strings.Join(words, " ")
}

func skips(skipped []llm.Skip) string {
	words := make([]string, len(skipped))
	for i, s := range skipped {
		words[i] = s.Target + ":" + string(s.Why)
	}
	return strings.Join(words, " ")
}

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

func tagged(t fallback.Target, tags ...string) fallback.Target { t.Tags = tags; return t }

func lacking(t fallback.Target, what ...string) fallback.Target { t.Can.Lacks = what; return t }

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

func TestSinkErrorComesBackAsItWas(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a", llmtest.Text("one two three")), target("b", llmtest.Text("no")))
	mine := errors.New("mine")
	n := 0
	resp, err := c.Generate(t.Context(), triage(), func(llm.Event) error {
		if n++; n == 2 {
			return mine
		}
		return nil
	})
	if err != mine { //nolint:errorlint // the very same error is promised
		t.Errorf("got %v", err)
	}
	if resp.Text() != "one " {
		t.Errorf("accepted %q", resp.Text())
	}
}

func TestSinkPanicPassesThrough(t *testing.T) {
	t.Parallel()
	c := chain(t, target("a", llmtest.Text("one two three")))
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("the call still counts as running: %v", err)
		}
	}()
	_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { panic("mine") })
}

func TestTargetThatRecoversTheSinksPanicIsNamed(t *testing.T) {
	t.Parallel()
	bad := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		defer func() { _ = recover() }()
		return nil, sink(llm.Event{Kind: llm.EventText, Delta: "x"})
	})
	c := chain(t, fallback.Target{Name: "greedy", Generator: bad, Prompt: true})
	defer func() {
		if p, ok := recover().(string); !ok || !strings.Contains(p, "greedy") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = c.Generate(t.Context(), triage(), func(llm.Event) error { panic("mine") })
}

// TestTargetsThatBreakTheContract: what is no content never reaches the caller, and what a target says after
// a limit fell is no answer.
func TestTargetsThatBreakTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chatty := llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
			for _, e := range []llm.Event{{Kind: llm.EventText}, {Kind: llm.EventDone}, {Kind: llm.EventText, Delta: "x"}} {
				_ = sink(e)
			}
			time.Sleep(31 * s) // beyond idle
			_ = sink(llm.Event{Kind: llm.EventText, Delta: "y"})
			return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "xy"}}}}, nil
		})
		var seen []llm.Event
		c := chain(t, fallback.Target{Name: "a", Generator: chatty, Prompt: true})
		_, err := c.Generate(t.Context(), triage(), func(e llm.Event) error { seen = append(seen, e); return nil })
		if len(seen) != 1 || llm.KindOf(err) != llm.ErrTimeout {
			t.Errorf("%d events, %v", len(seen), err)
		}
	})
}

func TestObserver(t *testing.T) {
	t.Parallel()
	var log []string
	observer := &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			log = append(log, "start "+a.Target)
			return context.WithValue(ctx, ctxKey{}, a.Target)
		},
		FirstContent: func(ctx context.Context) { log = append(log, fmt.Sprint("first ", ctx.Value(ctxKey{}))) },
		AttemptEnd: func(ctx context.Context, a *llm.Attempt, err error) {
			log = append(log, fmt.Sprintf("end %v %s %v", ctx.Value(ctxKey{}), string(a.Kind), llm.KindOf(err)))
		},
	}
	c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("o k")))
	ctx := llm.WithObserver(t.Context(), observer)
	if _, err := llm.NewClient(c, nil).Stream(ctx, triage()).Response(); err != nil {
		t.Fatal(err)
	}
	want := "start a|end a unavailable unavailable|start b|first b|end b  "
	if got := strings.Join(log, "|"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

type ctxKey struct{}

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := target("a")
	tests := []struct {
		targets []fallback.Target
		plans   policy.Plans
		field   string
	}{
		{nil, policy.Plans{}, "targets"},
		{[]fallback.Target{{Generator: good.Generator}}, policy.Plans{}, "targets[0].name"},
		{[]fallback.Target{good, good}, policy.Plans{}, "targets[1].name"},
		{[]fallback.Target{good, {Name: "b"}}, policy.Plans{}, "targets[1].generator"},
		{[]fallback.Target{good}, policy.Plans{Default: policy.Plan{Targets: []string{"b"}}}, "plans.default.targets[0]"},
		{[]fallback.Target{good}, policy.Plans{Default: policy.Plan{Targets: []string{"a", "a"}}}, "plans.default.targets[1]"},
		{[]fallback.Target{good}, policy.Plans{Operations: map[llm.Operation]policy.Plan{"x": {Limits: llm.Limits{Idle: -1}}}}, `plans.operations["x"].limits`},
	}
	for _, tt := range tests {
		_, err := fallback.New(tt.targets, &fallback.Options{Plans: tt.plans})
		f := &llm.FieldError{}
		if llm.KindOf(err) != llm.ErrInvalid || !errors.As(err, &f) || f.Field != tt.field || f.Next == "" {
			t.Errorf("want the field %s, got %v", tt.field, err)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		slow := target("a", llmtest.Text("ok").After(10*s))
		fake := slow.Generator
		slow.Generator = llm.GeneratorFunc(func(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
			defer func() {
				if n := closed.Load(); n != 0 {
					t.Error("the target was closed under a running call")
				}
			}()
			return fake.Generate(ctx, req, sink)
		})
		slow.Close = func() error { closed.Add(1); return nil }
		c := chain(t, slow)
		answered := make(chan error, 1)
		go func() {
			_, err := c.Generate(context.Background(), triage(), nil)
			answered <- err
		}()
		synctest.Wait()
		if err := errors.Join(c.Close(t.Context()), c.Close(t.Context())); err != nil || closed.Load() != 1 {
			t.Errorf("%v, closed %d times", err, closed.Load())
		}
		if err := <-answered; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if _, err := c.Generate(t.Context(), triage(), nil); llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

func TestCloseDoesNotWaitBeyondItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := chain(t, target("a", llmtest.Hang()))
		call, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = c.Generate(call, triage(), nil) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), 10*s)
		defer stop()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		cancel()
		<-done
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

// TestTheTrailOfAReaderWhoLeaves: what was tried is told to him, too.
func TestTheTrailOfAReaderWhoLeaves(t *testing.T) {
	t.Parallel()
	for leave := range 2 { // at the first event, and at the second
		c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Text("one two three")))
		stream := llm.NewClient(c, nil).Stream(t.Context(), triage())
		n := 0
		for _, err := range stream.Events() {
			if err != nil {
				t.Error(err)
			}
			if n++; n > leave {
				break
			}
		}
		_, err := stream.Response()
		e := &llm.Error{}
		if !errors.As(err, &e) || e.Kind != llm.ErrCanceled || e.Target != "b" || len(e.Attempts) != 2 {
			t.Errorf("left at event %d: %+v", leave, err)
			continue
		}
		if e.Attempts[0].Kind != llm.ErrUnavailable || e.Attempts[1].Kind != llm.ErrCanceled {
			t.Errorf("left at event %d: %s", leave, trail(e.Attempts))
		}
		if (e.Partial != nil) != (leave > 0) {
			t.Errorf("left at event %d: partial %+v", leave, e.Partial)
		}
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

// TestTooLongGoesToALargerWindowOnly: what a large window cannot hold, a small one cannot either.
func TestTooLongGoesToALargerWindowOnly(t *testing.T) {
	t.Parallel()
	window := func(tokens int, t fallback.Target) fallback.Target { t.Can.ContextWindow = tokens; return t }
	tooLong := fail(llm.ErrContextTooLong)
	c := chain(t,
		window(128_000, target("a", tooLong)), window(4_000, target("small", llmtest.Text("no"))),
		window(128_000, target("same", llmtest.Text("no"))), window(1_000_000, target("large", llmtest.Text("ok"))))
	resp, err := c.Generate(t.Context(), triage(), nil)
	if err != nil || resp.Target != "large" || skips(resp.Skipped) != "small:unsupported same:unsupported" {
		t.Errorf("%+v, %v", resp, err)
	}
	c = chain(t, target("a", tooLong), target("b", llmtest.Text("ok"))) // nothing is known: everything is tried
	if resp, err = c.Generate(t.Context(), triage(), nil); err != nil || resp.Target != "b" {
		t.Errorf("%+v, %v", resp, err)
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

// TestObserversHearTheEndOfEveryAttempt: a panic and runtime.Goexit end one, too.
func TestObserversHearTheEndOfEveryAttempt(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		for _, prompt := range []bool{true, false} {
			var started, ended atomic.Int32
			ctx := llm.WithObserver(t.Context(), &llm.Observer{
				AttemptStart: func(ctx context.Context, _ *llm.Attempt) context.Context { started.Add(1); return ctx },
				AttemptEnd:   func(context.Context, *llm.Attempt, error) { ended.Add(1) },
			})
			one := target("a", llmtest.Text("one two"))
			one.Prompt = prompt
			c := chain(t, one)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_, _ = c.Generate(ctx, triage(), func(llm.Event) error { leave(); return nil })
			}()
			<-done
			if started.Load() != 1 || ended.Load() != 1 {
				t.Errorf("%s, prompt %t: %d started, %d ended", name, prompt, started.Load(), ended.Load())
			}
		}
	}
}

// TestAnErrorIsNotChangedAfterAnObserverHasIt: he may log it on a goroutine of his own.
func TestAnErrorIsNotChangedAfterAnObserverHasIt(t *testing.T) {
	t.Parallel()
	logged := make(chan string, 8)
	ctx := llm.WithObserver(t.Context(), &llm.Observer{
		AttemptEnd: func(_ context.Context, _ *llm.Attempt, err error) {
			go func() { logged <- fmt.Sprintf("%+v", err) }()
		},
	})
	c := chain(t, target("a", fail(llm.ErrUnavailable)), target("b", llmtest.Cut("half a")))
	_, err := llm.NewClient(c, nil).Stream(ctx, triage()).Response()
	if llm.KindOf(err) != llm.ErrInterrupted {
		t.Error(err)
	}
	<-logged
	<-logged
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

// TestPlansAreCopied: what the caller does with his map later is his own business.
func TestPlansAreCopied(t *testing.T) {
	t.Parallel()
	plans := policy.Plans{Operations: map[llm.Operation]policy.Plan{}}
	c, err := fallback.New([]fallback.Target{target("a"), target("b")}, &fallback.Options{Plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	plans.Operations[llm.Triage] = policy.Plan{Targets: []string{"b"}}
	if resp, err := c.Generate(t.Context(), triage(), nil); err != nil || resp.Target != "a" {
		t.Errorf("%+v, %v", resp, err)
	}
}
