package fallback_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// streaming is a target that is known to stream.
func streaming(name string, steps ...llmtest.Step) fallback.Target {
	one := target(name, steps...)
	one.Can.Streams = true
	return one
}

// TestWatch plays unary calls that are streamed inside, so that a hang can be told from a long answer.
func TestWatch(t *testing.T) {
	t.Parallel()
	// Half a minute long, the first word after a second: longer than a share of 15 s.
	long := llmtest.Text("one two three four five six seven").After(s).Every(4 * s)
	ok := llmtest.Text("ok")
	silent := streaming("a", long)
	silent.Can.Silent = true
	tests := []struct {
		name    string
		watch   policy.Watch
		caller  time.Duration
		limits  llm.Limits
		first   fallback.Target
		want    outcome
		content time.Duration // of the first attempt
	}{
		{"auto: a long answer is not cut at its share", policy.WatchAuto, 30 * s, llm.Limits{}, streaming("a", long), outcome{text: "one two three four five six seven", trail: "a:answered@25s", took: 25 * s}, s},
		{"auto: a hang is cut at its share", policy.WatchAuto, 30 * s, llm.Limits{}, streaming("a", llmtest.Hang()), outcome{text: "ok", trail: "a:timeout(attempt)@15s b:answered@0s", took: 15 * s}, 0},
		{"auto: not where nothing is known of streaming", policy.WatchAuto, 30 * s, llm.Limits{}, target("a", long.After(20*s)), outcome{text: "ok", trail: "a:timeout(attempt)@15s b:answered@0s", took: 15 * s}, 0},
		{"auto: not for a silent one", policy.WatchAuto, 30 * s, llm.Limits{}, silent, outcome{text: "one two three four five six seven", trail: "a:answered@1s", took: s}, 0},
		{"auto: not with all of its time", policy.WatchAuto, 0, llm.Limits{}, streaming("a", long), outcome{text: "one two three four five six seven", trail: "a:answered@1s", took: s}, 0},
		{"on: with all of its time, too", policy.WatchOn, 0, llm.Limits{}, streaming("a", long), outcome{text: "one two three four five six seven", trail: "a:answered@25s", took: 25 * s}, s},
		{"on: where nothing is known", policy.WatchOn, 0, llm.Limits{}, target("a", long), outcome{text: "one two three four five six seven", trail: "a:answered@25s", took: 25 * s}, s},
		{"on: not where it cannot be", policy.WatchOn, 0, llm.Limits{}, lacking(target("a", long), "stream"), outcome{text: "one two three four five six seven", trail: "a:answered@1s", took: s}, 0},
		{"off", policy.WatchOff, 30 * s, llm.Limits{}, streaming("a", long), outcome{text: "one two three four five six seven", trail: "a:answered@1s", took: s}, 0},
		{"the first content has a limit of its own", policy.WatchOn, 0, llm.Limits{FirstContent: 4 * s}, streaming("a", llmtest.Hang()), outcome{text: "ok", trail: "a:timeout(first_content)@4s b:answered@0s", took: 4 * s}, 0},
		{"a pause ends it, and the next one is asked", policy.WatchOn, 0, llm.Limits{Idle: 6 * s}, streaming("a", llmtest.Hang(llmtest.PhaseStream)), outcome{text: "ok", trail: "a:timeout(idle)@6s b:answered@0s", took: 6 * s}, 1},
		{"the pause is an attempt long by default, at most half a minute", policy.WatchOn, 0, llm.Limits{}, streaming("a", llmtest.Hang(llmtest.PhaseStream)), outcome{text: "ok", trail: "a:timeout(idle)@30s b:answered@0s", took: 30 * s}, 1},
		{"the total ends one that never pauses", policy.WatchOn, 0, llm.Limits{Total: 20 * s}, streaming("a", long), outcome{kind: llm.ErrTimeout, bound: llm.BoundTotal, stopped: llm.StopTotal, trail: "a:timeout(total)@20s", skipped: "b:no_time", took: 20 * s}, s},
		{"the caller's deadline, too", policy.WatchOn, 20 * s, llm.Limits{}, streaming("a", long), outcome{kind: llm.ErrDeadlineExceeded, bound: llm.BoundCaller, stopped: llm.StopDeadline, trail: "a:deadline_exceeded(caller)@20s", skipped: "b:no_time", took: 20 * s}, s},
		{"a cut after content goes on to the next", policy.WatchOn, 0, llm.Limits{}, streaming("a", llmtest.Cut("half an")), outcome{text: "ok", trail: "a:interrupted@0s b:answered@0s"}, 1},
		{"an empty answer", policy.WatchOn, 0, llm.Limits{}, streaming("a", llmtest.Respond(&llm.Response{})), outcome{text: "ok", trail: "a:bad_output@0s b:answered@0s"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan := exact()
				plan.Watch = tt.watch
				ctx := t.Context()
				if tt.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.caller)
					defer cancel()
				}
				req := triage()
				req.Limits = tt.limits
				start := time.Now()
				resp, err := planned(t, plan, tt.first, target("b", ok)).Generate(ctx, req, nil)
				got := told(resp, err, time.Since(start))
				if err != nil {
					got.text = "" // nobody was promised a part of an answer that he asked for whole
				}
				want(t, "the call", got, tt.want)
				if first := attemptsOf(resp, err)[0].FirstContent; first != tt.content {
					t.Errorf("first content after %v, want %v", first, tt.content)
				}
			})
		})
	}
}

// TestWatchAfterContent: the retry of an interrupted answer, and what the breaker hears.
func TestWatchAfterContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := exact()
		plan.Watch = policy.WatchOn
		c := scored(t, plan, streaming("a", llmtest.Cut("half an"), llmtest.Cut("half"), llmtest.Text("never")))
		want(t, "asked once more, and no more", ask(t.Context(), c, triage()), outcome{
			kind: llm.ErrInterrupted, stopped: llm.StopTargets, trail: "a:interrupted@0s a:interrupted@0s", took: s,
		})
		if got := status(t, c, "a").Score; got != 2 {
			t.Errorf("the breaker has a score of %v, want 2", got)
		}
	})
}

// TestWatchAccept: the whole answer is judged, and the caller gets it whole.
func TestWatchAccept(t *testing.T) {
	t.Parallel()
	plan := exact()
	plan.Watch = policy.WatchOn
	req := triage()
	req.Accept = func(resp *llm.Response) error {
		if resp.Text() != "yes it is" || resp.Usage.Output != 3 {
			return errors.New("no")
		}
		return nil
	}
	resp, err := planned(t, plan, streaming("a", llmtest.Text("no it is not")), streaming("b", llmtest.Text("yes it is"))).Generate(t.Context(), req, nil)
	if err != nil || trail(resp.Attempts) == "" || resp.Target != "b" || resp.Attempts[0].Kind != llm.ErrBadOutput {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestWatchOfATargetThatDoesNotListen: content that comes after a limit fell is refused, and the answer behind it
// is still an answer: the caller has waited for it.
func TestWatchOfATargetThatDoesNotListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := exact()
		plan.Watch = policy.WatchOn
		late := func(answers bool) fallback.Target {
			return named("a", llm.GeneratorFunc(func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
				for _, e := range []llm.Event{{Kind: llm.EventText}, {Kind: llm.EventDone}} {
					if err := sink(e); err != nil {
						t.Errorf("what is no content was refused: %v", err)
					}
				}
				time.Sleep(31 * s)
				if err := sink(llm.Event{Kind: llm.EventText, Delta: "late"}); !answers {
					return nil, err
				}
				return &llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "late"}}}}, nil
			}))
		}
		want(t, "it stops", ask(t.Context(), planned(t, plan, late(false), target("b", llmtest.Text("ok"))), triage()),
			outcome{text: "ok", trail: "a:timeout(attempt)@31s b:answered@0s", took: 31 * s})
		c := planned(t, plan, late(true), target("b", llmtest.Text("ok")))
		want(t, "it answers", ask(t.Context(), c, triage()), outcome{text: "late", trail: "a:answered@31s", took: 31 * s})
		if got := status(t, c, "a").Score; got != 0.5 {
			t.Errorf("the breaker has a score of %v: it hears that the answer was late", got)
		}
	})
}

// TestPartialOfAUnaryCall: Partial is what the caller's sink accepted, so a call without one has none, and whether the
// chain has streamed it inside does not show. Only of a filtered answer the part that is there is shown.
func TestPartialOfAUnaryCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind llm.Kind // what the target ends with; "": it waits for the end of its context
		want string
	}{
		{llm.ErrInvalid, ""},
		{llm.ErrInterrupted, ""},
		{llm.ErrUnavailable, ""},
		{llm.ErrBadOutput, ""},
		{"", ""},
		{llm.ErrContentFiltered, "half an"},
	}
	for _, tt := range tests {
		for _, watch := range []policy.Watch{policy.WatchOn, policy.WatchOff} {
			for _, atMostOnce := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					half := llm.GeneratorFunc(func(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
						resp := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "half an"}}}}
						if sink != nil {
							if err := sink(llm.Event{Kind: llm.EventText, Delta: "half an"}); err != nil {
								return nil, err
							}
						}
						if tt.kind == "" {
							<-ctx.Done()
							return resp, ctx.Err()
						}
						return resp, &llm.Error{Kind: tt.kind, Partial: resp}
					})
					plan := exact()
					plan.Watch, plan.AtMostOnce = watch, atMostOnce
					plan.Limits.Idle = 60 * s
					c := planned(t, plan, fallback.Target{Name: "a", Generator: half, Prompt: true, Can: llm.Capabilities{Streams: true}})
					ctx, cancel := context.WithTimeout(t.Context(), 25*s)
					defer cancel()
					resp, err := c.Generate(ctx, triage(), nil)
					e, _ := errors.AsType[*llm.Error](err)
					if e == nil || e.Partial.Text() != tt.want || resp.Text() != tt.want || (e.Partial == nil) != (tt.want == "") {
						t.Errorf("%s, watch %q, at most once %v: %+v, %+v", tt.kind, watch, atMostOnce, resp, err)
					}
				})
			}
		}
	}
}
