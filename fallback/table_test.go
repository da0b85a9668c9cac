package fallback_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// row is a row of the decision table as it is played through a chain. The target a fails; its breaker has a
// score of 1 before that, so that "alive" (it falls to 0) and "neutral" (it stays) can be told apart.
type row struct {
	name string
	err  *llm.Error
	hang bool // it does not fail but hangs

	two    string // the trail with a second target that answers
	one    string // the trail without one; a answers from its third request on
	waited string // what was waited in that
	score  float64
	cooled llm.Kind
	cool   time.Duration

	content float64 // the score when it fails after content
}

const rest = 30 * s // what is left of anything long

func rows() []row {
	return []row{
		{name: "Invalid", err: &llm.Error{Kind: llm.ErrInvalid}, two: "a:invalid@0s", one: "a:invalid@0s", waited: "0s"},
		{name: "Unsupported", err: &llm.Error{Kind: llm.ErrUnsupported}, two: "a:unsupported@0s b:answered@0s", one: "a:unsupported@0s", waited: "0s", score: 1, content: 1},
		{name: "Auth", err: &llm.Error{Kind: llm.ErrAuth}, two: "a:auth@0s b:answered@0s", one: "a:auth@0s", waited: "0s", score: 1, cooled: llm.ErrAuth, cool: 60 * s, content: 1},
		{name: "NotFound", err: &llm.Error{Kind: llm.ErrNotFound}, two: "a:not_found@0s b:answered@0s", one: "a:not_found@0s", waited: "0s", score: 1, cooled: llm.ErrNotFound, cool: 60 * s, content: 1},
		{name: "ContextTooLong", err: &llm.Error{Kind: llm.ErrContextTooLong}, two: "a:context_too_long@0s b:answered@0s", one: "a:context_too_long@0s", waited: "0s"},
		{name: "ContentFiltered", err: &llm.Error{Kind: llm.ErrContentFiltered}, two: "a:content_filtered@0s", one: "a:content_filtered@0s", waited: "0s"},
		{name: "RateLimited", err: &llm.Error{Kind: llm.ErrRateLimited}, two: "a:rate_limited@0s b:answered@0s", one: "a:rate_limited@0s a:rate_limited@0s a:answered@0s", waited: "0s 1s 2s", score: 1, content: 1},
		{name: "QuotaExceeded", err: &llm.Error{Kind: llm.ErrQuotaExceeded}, two: "a:quota_exceeded@0s b:answered@0s", one: "a:quota_exceeded@0s", waited: "0s", score: 1, cooled: llm.ErrQuotaExceeded, cool: 600 * s, content: 1},
		{name: "Unavailable", err: &llm.Error{Kind: llm.ErrUnavailable}, two: "a:unavailable@0s b:answered@0s", one: "a:unavailable@0s a:unavailable@0s a:answered@0s", waited: "0s 1s 2s", score: 2, content: 2},
		{name: "Unavailable: model not ready", err: &llm.Error{Kind: llm.ErrUnavailable, Code: "ModelNotReadyException"}, two: "a:unavailable@0s b:answered@0s", one: "a:unavailable@0s a:unavailable@0s a:answered@0s", waited: "0s 1s 2s", score: 1.5, content: 1.5},
		{name: "Unavailable: conflict", err: &llm.Error{Kind: llm.ErrUnavailable, Status: 409}, two: "a:unavailable@0s b:answered@0s", one: "a:unavailable@0s a:unavailable@0s a:answered@0s", waited: "0s 1s 2s", score: 1, content: 1},
		{name: "Unavailable: aborted", err: &llm.Error{Kind: llm.ErrUnavailable, Code: "Aborted"}, two: "a:unavailable@0s b:answered@0s", one: "a:unavailable@0s a:unavailable@0s a:answered@0s", waited: "0s 1s 2s", score: 1, content: 1},
		{name: "Connection", err: &llm.Error{Kind: llm.ErrConnection, Err: syscall.ECONNRESET}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s a:connection@0s a:answered@0s", waited: "0s 1s 2s", score: 2, content: 2},
		{name: "Connection: name not found", err: &llm.Error{Kind: llm.ErrConnection, Err: &net.DNSError{IsNotFound: true}}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s", waited: "0s", score: 2, content: 2},
		{name: "Connection: a certificate of nobody we know", err: &llm.Error{Kind: llm.ErrConnection, Code: "certificate_not_trusted"}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s", waited: "0s", score: 2, content: 2},
		{name: "Connection: a certificate that is over", err: &llm.Error{Kind: llm.ErrConnection, Code: "certificate_expired"}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s", waited: "0s", score: 2, content: 2},
		{name: "Connection: no TLS", err: &llm.Error{Kind: llm.ErrConnection, Code: "not_tls"}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s", waited: "0s", score: 2, content: 2},
		{name: "Timeout", hang: true, two: "a:timeout(attempt)@30s b:answered@0s", one: "a:timeout(attempt)@30s a:timeout(attempt)@30s a:answered@0s", waited: "0s 1s 2s", score: 1.5, content: 1.5},
		{name: "Timeout: the provider's own", err: &llm.Error{Kind: llm.ErrTimeout, Status: 504}, two: "a:timeout@0s b:answered@0s", one: "a:timeout@0s a:timeout@0s a:answered@0s", waited: "0s 1s 2s", score: 1.5, content: 1.5},
		{name: "Interrupted", err: &llm.Error{Kind: llm.ErrInterrupted}, two: "a:interrupted@0s b:answered@0s", one: "a:interrupted@0s a:interrupted@0s", waited: "0s 1s", score: 2, content: 2},
		{name: "BadOutput: of the model", err: &llm.Error{Kind: llm.ErrBadOutput, Code: "MALFORMED_FUNCTION_CALL"}, two: "a:bad_output@0s b:answered@0s", one: "a:bad_output@0s a:bad_output@0s", waited: "0s 1s"},
		{name: "BadOutput: of the wire", err: &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer"}, two: "a:bad_output@0s b:answered@0s", one: "a:bad_output@0s a:bad_output@0s", waited: "0s 1s", score: 2, content: 2},
		{name: "DeadlineExceeded: of a chain within", err: &llm.Error{Kind: llm.ErrDeadlineExceeded}, two: "a:timeout@0s b:answered@0s", one: "a:timeout@0s a:timeout@0s a:answered@0s", waited: "0s 1s 2s", score: 1.5, content: 1.5},
		{name: "Canceled: though nobody did", err: &llm.Error{Kind: llm.ErrCanceled}, two: "a:connection@0s b:answered@0s", one: "a:connection@0s a:connection@0s a:answered@0s", waited: "0s 1s 2s", score: 2, content: 2},
		{name: "CircuitOpen: of a chain within", err: &llm.Error{Kind: llm.ErrCircuitOpen}, two: "a:circuit_open@0s b:answered@0s", one: "a:circuit_open@0s", waited: "0s", score: 1, content: 1},
		{name: "Unknown", err: &llm.Error{Kind: llm.ErrUnknown}, two: "a:unknown@0s b:answered@0s", one: "a:unknown@0s", waited: "0s", score: 2, content: 2},
		{name: "a Kind of later", err: &llm.Error{Kind: "of_later"}, two: "a:of_later@0s b:answered@0s", one: "a:of_later@0s", waited: "0s", score: 2, content: 2},
	}
}

// step is how a fails, before content or after.
func (r row) step(content bool) llmtest.Step {
	switch {
	case r.hang && content:
		return llmtest.Hang(llmtest.PhaseStream)
	case r.hang:
		return llmtest.Hang()
	case content:
		step := llmtest.Fail(r.err)
		step.Phase = llmtest.PhaseStream
		return step
	default:
		return llmtest.Fail(r.err)
	}
}

// scored is a chain over targets in which a's breaker has a score of 1.
func scored(t *testing.T, plan policy.Plan, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	set := breaker.NewSet(nil)
	permit, err := set.Allow("a")
	if err != nil {
		t.Fatal(err)
	}
	permit.Settle(breaker.Outcome{Weight: 1})
	return opened(t, &fallback.Options{Breakers: set, Plans: policy.Plans{Default: plan}}, targets...)
}

// TestDecisionTable plays every row of the decision table: what is asked next, what the breaker hears, and
// who is left alone.
func TestDecisionTable(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := scored(t, exact(), target("a", r.step(false)), target("b", llmtest.Text("ok")))
				if got := ask(t.Context(), c, triage()); got.trail != r.two {
					t.Errorf("with another target: %v, want %s", got, r.two)
				}
				r.check(t, status(t, c, "a"), r.score)

				c = scored(t, exact(), target("a", r.step(false).Times(2), llmtest.Text("ok")))
				req := triage()
				req.Limits.Total = 200 * s
				resp, err := c.Generate(t.Context(), req, nil)
				attempts := attemptsOf(resp, err)
				if got := trail(attempts); got != r.one || waits(attempts) != r.waited {
					t.Errorf("alone: %s, waited %s; want %s, waited %s", got, waits(attempts), r.one, r.waited)
				}
			})
		})
	}
}

func (r row) check(t *testing.T, st fallback.Status, score float64) {
	t.Helper()
	if st.Score != score || st.State != breaker.Closed {
		t.Errorf("the breaker has a score of %v and is %s, want %v and closed", st.Score, st.State, score)
	}
	if st.Cooled != r.cooled || r.cool > 0 && time.Until(st.CooledUntil) != r.cool || r.cool == 0 && !st.CooledUntil.IsZero() {
		t.Errorf("left alone for %v because of %q, want %v because of %q", time.Until(st.CooledUntil), st.Cooled, r.cool, r.cooled)
	}
}

// TestDecisionTableAfterContent: nothing is sent again, whatever the row says, and the breaker hears of it.
func TestDecisionTableAfterContent(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				next := target("b", llmtest.Text("ok"))
				c := scored(t, exact(), target("a", r.step(true), llmtest.Text("ok")), next)
				got := read(t.Context(), c, triage())
				if got.stopped != llm.StopContent || got.text != "partial " || asked(next) != 0 {
					t.Errorf("%v, %d requests to the next", got, asked(next))
				}
				r.check(t, status(t, c, "a"), r.content)
			})
		})
	}
}

// TestDecisionTableOfTheCaller: the rows in which the caller ends the call.
func TestDecisionTableOfTheCaller(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	tests := []struct {
		name  string
		step  llmtest.Step
		end   func(context.Context) (context.Context, context.CancelFunc)
		sink  func(n int) error // of the n-th event; nil: a unary call
		score float64
		kind  llm.Kind
	}{
		{name: "DeadlineExceeded after long enough", step: llmtest.Hang(), end: timeout(rest / 2), score: 1.5, kind: llm.ErrDeadlineExceeded},
		{name: "DeadlineExceeded too soon", step: llmtest.Hang(), end: timeout(3 * s), score: 1, kind: llm.ErrDeadlineExceeded},
		{name: "Canceled", step: llmtest.Hang(), end: cancelAfter(rest / 2), score: 1, kind: llm.ErrCanceled},
		{name: "Canceled after content", step: llmtest.Hang(llmtest.PhaseStream), end: cancelAfter(rest / 2), sink: func(int) error { return nil }, score: 0, kind: llm.ErrCanceled},
		{name: "an error of the sink", step: llmtest.Text("one two"), end: cancelAfter(rest), sink: func(n int) error {
			if n == 2 {
				return mine
			}
			return nil
		}, score: 0, kind: llm.ErrUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				next := target("b", llmtest.Text("ok"))
				plan := exact()
				plan.Targets = []string{"a"}
				c := scored(t, plan, target("a", tt.step), next)
				var sink llm.Sink
				if n := 0; tt.sink != nil {
					sink = func(llm.Event) error { n++; return tt.sink(n) }
				}
				if _, err := c.Generate(ctx, triage(), sink); llm.KindOf(err) != tt.kind {
					t.Errorf("got %v, want %s", err, tt.kind)
				}
				if got := status(t, c, "a").Score; got != tt.score {
					t.Errorf("the breaker has a score of %v, want %v", got, tt.score)
				}
				if asked(next) != 0 {
					t.Error("the next target was asked")
				}
			})
		})
	}
}

func timeout(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

func cancelAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(d, cancel)
		return ctx, cancel
	}
}

// TestRateLimitedCoolsTheQuotaGroup: until Retry-After, for all calls and for all that share the quota.
func TestRateLimitedCoolsTheQuotaGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 20 * s})
		grouped := func(name, group string, steps ...llmtest.Step) fallback.Target {
			one := target(name, steps...)
			one.QuotaGroup = group
			return one
		}
		sibling := grouped("sibling", "eu", llmtest.Text("no"))
		c := planned(t, exact(), grouped("a", "eu", limited, llmtest.Text("a")), sibling, grouped("other", "us", llmtest.Text("other")), target("alone", llmtest.Text("alone")))
		want(t, "the one that shares the quota is passed over", ask(t.Context(), c, triage()), outcome{
			text: "other", trail: "a:rate_limited@0s other:answered@0s", skipped: "sibling:cooling",
		})
		for _, name := range []string{"a", "sibling"} {
			if st := status(t, c, name); st.Cooled != llm.ErrRateLimited || time.Until(st.CooledUntil) != 20*s {
				t.Errorf("%s is left alone for %v because of %q", name, time.Until(st.CooledUntil), st.Cooled)
			}
		}
		time.Sleep(20*s - 1)
		want(t, "until the last moment", ask(t.Context(), c, triage()), outcome{text: "other", trail: "other:answered@0s", skipped: "a:cooling sibling:cooling"})
		time.Sleep(time.Nanosecond)
		want(t, "and no longer", ask(t.Context(), c, triage()), outcome{text: "a", trail: "a:answered@0s"})
	})
}

// TestQuotaExceededCoolsTheQuotaGroup: for ten minutes, or as long as the provider says if that is longer.
func TestQuotaExceededCoolsTheQuotaGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for told, cool := range map[time.Duration]time.Duration{0: 600 * s, 30 * s: 600 * s, 3600 * s: 3600 * s} {
			a, b := target("a", llmtest.Fail(&llm.Error{Kind: llm.ErrQuotaExceeded, RetryAfter: told})), target("b", llmtest.Text("no"))
			a.QuotaGroup, b.QuotaGroup = "eu", "eu"
			c := planned(t, exact(), a, b, target("c", llmtest.Text("ok")))
			want(t, "the next one", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:quota_exceeded@0s c:answered@0s", skipped: "b:cooling"})
			for _, name := range []string{"a", "b"} {
				if st := status(t, c, name); time.Until(st.CooledUntil) != cool {
					t.Errorf("told %v: %s is left alone for %v, want %v", told, name, time.Until(st.CooledUntil), cool)
				}
			}
		}
	})
}

// TestAuthCoolsTheTargetAlone: a wrong key is no matter of the quota.
func TestAuthCoolsTheTargetAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := target("a", fail(llm.ErrAuth)), target("b", llmtest.Text("ok"))
		a.QuotaGroup, b.QuotaGroup = "eu", "eu"
		c := planned(t, exact(), a, b)
		want(t, "first", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:auth@0s b:answered@0s"})
		want(t, "then", ask(t.Context(), c, triage()), outcome{text: "ok", trail: "b:answered@0s", skipped: "a:cooling"})
	})
}

// TestATargetThatIsLeftAloneIsTold: when all are, the error says why and until when.
func TestATargetThatIsLeftAloneIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tests := []struct {
			name  string
			first [2]llm.Kind
			after [2]time.Duration
			want  llm.Kind
			retry time.Duration
			whose string
		}{
			{"a refused key", [2]llm.Kind{llm.ErrAuth, llm.ErrAuth}, [2]time.Duration{}, llm.ErrAuth, 60 * s, "a"},
			{"both throttled: the one that ends first", [2]llm.Kind{llm.ErrRateLimited, llm.ErrRateLimited}, [2]time.Duration{50 * s, 40 * s}, llm.ErrRateLimited, 40 * s, "b"},
			{"a refused key hides nothing that passes", [2]llm.Kind{llm.ErrAuth, llm.ErrRateLimited}, [2]time.Duration{0, 90 * s}, llm.ErrRateLimited, 90 * s, "b"},
			{"nor the other way", [2]llm.Kind{llm.ErrRateLimited, llm.ErrQuotaExceeded}, [2]time.Duration{90 * s, 0}, llm.ErrRateLimited, 90 * s, "a"},
		}
		for _, tt := range tests {
			failing := func(i int) llmtest.Step {
				return llmtest.Fail(&llm.Error{Kind: tt.first[i], RetryAfter: tt.after[i]})
			}
			plan := exact()
			plan.MaxRetries = policy.NoRetries
			c := planned(t, plan, target("a", failing(0)), target("b", failing(1)))
			ask(t.Context(), c, triage())
			ctx, cancel := context.WithTimeout(t.Context(), 5*s)
			_, err := c.Generate(ctx, triage(), nil)
			cancel()
			e, _ := errors.AsType[*llm.Error](err)
			if e == nil || e.Kind != tt.want || e.RetryAfter != tt.retry || e.Target != tt.whose || !e.NotSent || len(e.Attempts) != 0 || skips(e.Skipped) != "a:cooling b:cooling" {
				t.Errorf("%s: %+v", tt.name, e)
			}
		}
	})
}

// TestFallbackOn: Kinds of the plan go on to the next target beyond the table.
func TestFallbackOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := exact()
		plan.FallbackOn = []llm.Kind{llm.ErrContentFiltered, llm.ErrInvalid}
		for _, k := range plan.FallbackOn {
			c := scored(t, plan, target("a", fail(k), llmtest.Text("no")), target("b", llmtest.Text("ok")))
			want(t, string(k), ask(t.Context(), c, triage()), outcome{text: "ok", trail: "a:" + string(k) + "@0s b:answered@0s"})
			if got := status(t, c, "a").Score; got != 0 {
				t.Errorf("%s: the breaker has a score of %v: it has heard that the target is alive", k, got)
			}
		}
		c := planned(t, plan, target("a", fail(llm.ErrContentFiltered)))
		want(t, "it is no retry", ask(t.Context(), c, triage()), outcome{kind: llm.ErrContentFiltered, stopped: llm.StopTargets, trail: "a:content_filtered@0s"})
		step := fail(llm.ErrContentFiltered)
		step.Phase = llmtest.PhaseStream
		c = planned(t, plan, target("a", step), target("b", llmtest.Text("no")))
		want(t, "not after content", read(t.Context(), c, triage()), outcome{
			text: "partial ", kind: llm.ErrContentFiltered, stopped: llm.StopContent, trail: "a:content_filtered@0s",
		})
	})
}

// TestAtMostOnce: what may have been billed is never sent again.
func TestAtMostOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unsent := llmtest.Fail(&llm.Error{Kind: llm.ErrConnection, NotSent: true})
		tests := []struct {
			name  string
			first []llmtest.Step
			want  outcome
		}{
			{"a 503", []llmtest.Step{fail(llm.ErrUnavailable)}, outcome{kind: llm.ErrUnavailable, stopped: llm.StopFinal, trail: "a:unavailable@0s"}},
			{"a 429", []llmtest.Step{fail(llm.ErrRateLimited)}, outcome{kind: llm.ErrRateLimited, stopped: llm.StopFinal, trail: "a:rate_limited@0s"}},
			{"a hang", []llmtest.Step{llmtest.Hang()}, outcome{kind: llm.ErrTimeout, bound: llm.BoundAttempt, stopped: llm.StopFinal, trail: "a:timeout(attempt)@30s", took: 30 * s}},
			{"a refused answer", []llmtest.Step{llmtest.Respond(&llm.Response{})}, outcome{kind: llm.ErrBadOutput, stopped: llm.StopFinal, trail: "a:bad_output@0s"}},
			{"no connection", []llmtest.Step{unsent}, outcome{text: "ok", trail: "a:connection@0s b:answered@0s"}},
		}
		plan := exact()
		plan.AtMostOnce = true
		for _, tt := range tests {
			want(t, tt.name, ask(t.Context(), planned(t, plan, target("a", tt.first...), target("b", llmtest.Text("ok"))), triage()), tt.want)
		}
		want(t, "the same target, too", ask(t.Context(), planned(t, plan, target("a", unsent, llmtest.Text("ok"))), triage()),
			outcome{text: "ok", trail: "a:connection@0s a:answered@0s", took: s})
	})
}
