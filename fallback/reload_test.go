package fallback_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/policy"
)

// closer is a target that counts its Close.
func closer(name, fingerprint string, closed *atomic.Int32, steps ...llmtest.Step) fallback.Target {
	one := target(name, steps...)
	one.Fingerprint = fingerprint
	one.Close = func() error { closed.Add(1); return nil }
	return one
}

// reloaded is a chain that takes over from prev.
func reloaded(t *testing.T, prev *fallback.Chain, targets ...fallback.Target) *fallback.Chain {
	t.Helper()
	return opened(t, &fallback.Options{Prev: prev, Plans: policy.Plans{Default: exact()}}, targets...)
}

// TestReloadKeepsTheState: breaker, cool-down, tokens, last failure and generator of a target whose name and
// fingerprint are the same live on. All else begins anew.
func TestReloadKeepsTheState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		busy := llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 300 * s})
		down := fail(llm.ErrUnavailable)
		prev := planned(t, exact(),
			closer("stays", "1", &closed, busy, llmtest.Text("old")), closer("changes", "1", &closed, busy, llmtest.Text("no")),
			closer("goes", "1", &closed, down), closer("fails", "1", &closed, down))
		ask(t.Context(), prev, triage())
		before := map[string]fallback.Status{}
		for _, st := range prev.Status() {
			before[st.Target] = st
		}
		if before["fails"].Tokens != 70 || before["fails"].Score != 1 || before["changes"].Cooled == "" {
			t.Fatalf("nothing to keep: %+v", before)
		}
		next := reloaded(t, prev,
			closer("fails", "1", &closed), closer("changes", "2", &closed, llmtest.Text("new")), fallback.Target{Name: "stays", Fingerprint: "1"}, closer("comes", "1", &closed))
		for _, name := range []string{"fails", "stays"} {
			got, want := status(t, next, name), before[name]
			got.Model, want.Model = llm.ModelRef{}, llm.ModelRef{} // the model is configuration, and not given again here
			if got != want {
				t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
			}
		}
		for _, name := range []string{"changes", "comes"} {
			if st := status(t, next, name); st.Score != 0 || st.Cooled != "" || st.Tokens != 100 || st.LastFailure != "" || st.State != breaker.Closed {
				t.Errorf("%s does not begin anew: %+v", name, st)
			}
		}
		if closed.Load() != 2 { // changes and goes; no call was under way
			t.Errorf("%d targets were closed, want 2", closed.Load())
		}
		if err := next.Close(t.Context()); err != nil || closed.Load() != 6 { // two of the new chain's kept the old one's Close
			t.Errorf("%v, %d targets were closed, want 6: each once", err, closed.Load())
		}
		if err := prev.Close(t.Context()); err != nil || closed.Load() != 6 {
			t.Errorf("closing the chain that was replaced: %v, %d closed", err, closed.Load())
		}
	})
}

// TestReloadForgetsTheBreakerOfWhoGoes: a target of the same name that comes back later begins anew.
func TestReloadForgetsTheBreakerOfWhoGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := breaker.NewSet(nil)
		trip(t, set, "a")
		a := target("a", llmtest.Text("ok"))
		prev := opened(t, &fallback.Options{Breakers: set}, a, target("b"))
		changed := a
		changed.Fingerprint = "2"
		next := reloaded(t, prev, changed)
		want(t, "its breaker is new", ask(t.Context(), next, triage()), outcome{text: "ok", trail: "a:answered@0s"})
	})
}

// TestReloadKeepsTheQuotaGroup: the provider's quota does not change with our configuration.
func TestReloadKeepsTheQuotaGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		grouped := func(name string, steps ...llmtest.Step) fallback.Target {
			one := target(name, steps...)
			one.QuotaGroup = "eu"
			return one
		}
		prev := planned(t, exact(), grouped("a", llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 40 * s})), target("b", llmtest.Text("ok")))
		ask(t.Context(), prev, triage())
		next := reloaded(t, prev, grouped("new", llmtest.Text("no")), target("b"))
		want(t, "new in the group", ask(t.Context(), next, triage()), outcome{text: "ok", trail: "b:answered@0s", skipped: "new:cooling"})
	})
}

// TestReloadUnderWay: a call that began before ends as it would have, and only then what has changed is
// closed, once. Calls that come late run on the new chain.
func TestReloadUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		old := closer("a", "1", &closed, llmtest.Text("old").After(10*s), llmtest.Text("old again"))
		prev := planned(t, exact(), old)
		running := make(chan outcome, 1)
		go func() { running <- ask(context.Background(), prev, triage()) }()
		synctest.Wait()
		time.Sleep(3 * s)
		next := reloaded(t, prev, closer("a", "2", new(atomic.Int32), llmtest.Text("new").After(20*s)))
		late := make(chan outcome, 1)
		go func() { late <- ask(context.Background(), prev, triage()) }()
		synctest.Wait()
		if closed.Load() != 0 {
			t.Error("closed under a call")
		}
		want(t, "the call under way", <-running, outcome{text: "old", trail: "a:answered@10s", took: 10 * s})
		synctest.Wait()
		if closed.Load() != 1 {
			t.Errorf("closed %d times after its last call has ended, though a late one runs on the new chain", closed.Load())
		}
		want(t, "the late call", <-late, outcome{text: "new", trail: "a:answered@20s", took: 20 * s})
		if asked(old) != 1 {
			t.Errorf("the old target had %d requests", asked(old))
		}
		if err := next.Close(t.Context()); err != nil || closed.Load() != 1 {
			t.Errorf("%v, closed %d times", err, closed.Load())
		}
		want(t, "after that", ask(t.Context(), prev, triage()), outcome{kind: llm.ErrInvalid})
	})
}

// TestReloadTwiceUnderWay: a call on the first of three chains keeps its target open, though the second had
// taken it over and the third has not.
func TestReloadTwiceUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		first := planned(t, exact(), closer("a", "1", &closed, llmtest.Text("ok").After(10*s)))
		running := make(chan outcome, 1)
		go func() { running <- ask(context.Background(), first, triage()) }()
		synctest.Wait()
		second := reloaded(t, first, closer("a", "1", &closed))
		reloaded(t, second, target("b"))
		synctest.Wait()
		if closed.Load() != 0 {
			t.Error("closed under a call of the first chain")
		}
		<-running
		synctest.Wait()
		if closed.Load() != 1 {
			t.Errorf("closed %d times", closed.Load())
		}
	})
}

// TestCloseWaitsForCallsOnTheChainBefore: they run on the same targets.
func TestCloseWaitsForCallsOnTheChainBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		prev := planned(t, exact(), closer("a", "1", &closed, llmtest.Text("ok").After(10*s)))
		running := make(chan outcome, 1)
		go func() { running <- ask(context.Background(), prev, triage()) }()
		synctest.Wait()
		next := reloaded(t, prev, closer("a", "1", &closed))
		start := time.Now()
		if err := next.Close(t.Context()); err != nil || time.Since(start) != 10*s || closed.Load() != 1 {
			t.Errorf("%v after %v, closed %d times", err, time.Since(start), closed.Load())
		}
		want(t, "the call", <-running, outcome{text: "ok", trail: "a:answered@10s", took: 10 * s})
	})
}

// TestReloadThatFails: the chain in use goes on as if nothing had happened.
func TestReloadThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		prev := planned(t, exact(), closer("a", "1", &closed, llmtest.Text("ok")))
		for _, targets := range [][]fallback.Target{nil, {{Name: "new"}}, {{Name: "a", Fingerprint: "2"}}} {
			if _, err := fallback.New(targets, &fallback.Options{Prev: prev}); llm.KindOf(err) != llm.ErrInvalid {
				t.Errorf("%+v: %v", targets, err)
			}
		}
		want(t, "it goes on", ask(t.Context(), prev, triage()), outcome{text: "ok", trail: "a:answered@0s"})
		if closed.Load() != 0 {
			t.Error("it was closed")
		}
		reloaded(t, prev, fallback.Target{Name: "a", Fingerprint: "1"})
		if _, err := fallback.New([]fallback.Target{target("a")}, &fallback.Options{Prev: prev}); llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("taking over from a chain that was replaced: %v", err)
		}
	})
}

// TestEmergencyOverReloads: what SetEmergency said holds until it says something else; what is configured
// does not overrule it.
func TestEmergencyOverReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		retries := func(c *fallback.Chain) bool {
			return strings.Count(ask(t.Context(), c, triage()).trail, "unavailable") > 1
		}
		lone := func() fallback.Target { return target("a", fail(llm.ErrUnavailable)) }
		next := func(prev *fallback.Chain, emergency bool) *fallback.Chain {
			changed := lone()
			changed.Fingerprint = fmt.Sprint(time.Now().UnixNano()) // a new breaker each time
			time.Sleep(time.Nanosecond)
			return opened(t, &fallback.Options{Prev: prev, Emergency: emergency}, changed)
		}
		c := next(nil, false)
		if !retries(c) {
			t.Error("no retries, though nobody said so")
		}
		if c = next(c, true); retries(c) {
			t.Error("retries, though the configuration says emergency")
		}
		if c = next(c, false); !retries(c) {
			t.Error("no retries, though the configuration takes it back")
		}
		c.SetEmergency(true)
		if c = next(c, false); retries(c) {
			t.Error("retries after a reload, though SetEmergency said emergency")
		}
		old := c
		if c = next(c, true); retries(c) {
			t.Error("retries in an emergency")
		}
		old.SetEmergency(false) // whoever holds the old chain speaks for the new one, too
		if !retries(c) {
			t.Error("no retries, though SetEmergency took it back")
		}
		if c = next(c, true); !retries(c) {
			t.Error("no retries after a reload, though SetEmergency had taken it back")
		}
	})
}

// TestOneChainTakesOver: of several that want to at once, and of a Close at the same time, one succeeds.
func TestOneChainTakesOver(t *testing.T) {
	t.Parallel()
	for i := range 300 {
		var closed atomic.Int32
		prev := planned(t, exact(), closer("a", "1", &closed, llmtest.Text("ok")))
		var chains [3]*fallback.Chain
		var all sync.WaitGroup
		for n := range chains {
			all.Go(func() {
				chains[n], _ = fallback.New([]fallback.Target{target("b", llmtest.Text("ok"))}, &fallback.Options{Prev: prev})
			})
		}
		if i%2 == 0 {
			all.Go(func() { _ = prev.Close(context.Background()) })
		}
		all.Wait()
		took := 0
		for _, c := range chains {
			if c == nil {
				continue
			}
			took++
			ctx, cancel := context.WithTimeout(t.Context(), 10*s)
			if err := c.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
			cancel()
		}
		if took > 1 || i%2 != 0 && took == 0 || closed.Load() != 1 {
			t.Fatalf("%d chains took over, what left was closed %d times", took, closed.Load())
		}
	}
}

// TestATargetThatPanicsWhenItIsClosed: the chain that took over without it goes on, and can be closed.
func TestATargetThatPanicsWhenItIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := target("a", llmtest.Text("ok").After(5*s))
		bad.Close = func() error { panic("theirs") }
		prev := chain(t, bad)
		done := make(chan outcome)
		go func() { done <- ask(t.Context(), prev, triage()) }()
		synctest.Wait()
		next := opened(t, &fallback.Options{Prev: prev}, target("b", llmtest.Text("ok")))
		want(t, "the last call on it", <-done, outcome{text: "ok", trail: "a:answered@5s", took: 5 * s})
		want(t, "a call", ask(t.Context(), next, triage()), outcome{text: "ok", trail: "b:answered@0s"})
		ctx, cancel := context.WithTimeout(t.Context(), s)
		defer cancel()
		if err := next.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// TestATargetThatIsSlowToClose: no call waits for it, whichever chain it was made on; Close does.
func TestATargetThatIsSlowToClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := target("a", llmtest.Text("ok").After(5*s))
		slow.Close = func() error { time.Sleep(time.Minute); return nil }
		prev := chain(t, slow)
		done := make(chan outcome)
		go func() { done <- ask(t.Context(), prev, triage()) }()
		synctest.Wait()
		next := opened(t, &fallback.Options{Prev: prev}, target("b", llmtest.Text("ok")))
		want(t, "the last call on it", <-done, outcome{text: "ok", trail: "a:answered@5s", took: 5 * s})
		want(t, "a late call", ask(t.Context(), prev, triage()), outcome{text: "ok", trail: "b:answered@0s"})
		start := time.Now()
		if err := next.Close(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

// TestCloseOfAChainThatIsReplaced does not wait for what the other chain closes.
func TestCloseOfAChainThatIsReplaced(t *testing.T) {
	t.Parallel()
	closing, let := make(chan struct{}), make(chan struct{})
	slow := target("a", llmtest.Text("ok"))
	slow.Close = func() error { close(closing); <-let; return nil }
	prev, done := chain(t, slow), make(chan error)
	go func() {
		_, err := fallback.New([]fallback.Target{target("b", llmtest.Text("ok"))}, &fallback.Options{Prev: prev})
		done <- err
	}()
	<-closing
	closed := make(chan error, 1)
	go func() { closed <- prev.Close(context.Background()) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * s):
		t.Error("it waits")
	}
	close(let)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
