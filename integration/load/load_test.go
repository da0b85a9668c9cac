package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	azurecloud "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	vertexcloud "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
	"github.com/punctual-llm/punctual/policy"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scale is the size of a run. Times are scaled: a minute of a deadline is three seconds here.
type scale struct {
	sessions int
	think    time.Duration // at most, between two calls of a session
	attempt  time.Duration
	deadline time.Duration // of each call
	openFor  time.Duration // the breakers
	recovers time.Duration // the primary, after the start
	goesOn   time.Duration // once its breaker has closed
	ends     time.Duration // though it has not
}

func size() scale {
	if os.Getenv("PUNCTUAL_LOAD") == "full" {
		return scale{
			sessions: 500, think: 2 * time.Second, attempt: time.Second, deadline: 3 * time.Second,
			openFor: 1500 * time.Millisecond, recovers: 6 * time.Second, goesOn: 2 * time.Second, ends: 14 * time.Second,
		}
	}
	return scale{
		sessions: 60, think: 300 * time.Millisecond, attempt: 500 * time.Millisecond, deadline: 3 * time.Second,
		openFor: 300 * time.Millisecond, recovers: time.Second, goesOn: 400 * time.Millisecond, ends: 10 * time.Second,
	}
}

// overrun is what the scheduler of a busy machine may take beyond a deadline.
const overrun = 100 * time.Millisecond

// call is one call of a session.
type call struct {
	began, ended time.Duration
	err          error
	attempts     []llm.Attempt
	answeredBy   string
}

// clouds are the three services.
type clouds struct {
	azure   *azurecloud.Server
	bedrock *bedrockcloud.Server
	vertex  *vertexcloud.Server

	recovered atomic.Bool // the primary answers
	asked     atomic.Int64
}

const service = 20 * time.Millisecond

func start(t *testing.T, epoch time.Time) *clouds {
	t.Helper()
	c := &clouds{}
	ok := llmtest.Text("the answer to a question").After(service)
	phases := []llmtest.Phase{llmtest.PhaseHeaders, llmtest.PhaseBody, llmtest.PhaseFirst}
	c.azure = azurecloud.StartOptions(&azurecloud.Options{Epoch: epoch, Next: func(azurecloud.Request) azurecloud.Turn {
		n := c.asked.Add(1)
		if c.recovered.Load() {
			return azurecloud.Turn{Step: ok}
		}
		return azurecloud.Turn{Step: llmtest.Hang(phases[n%3])}
	}})
	c.bedrock = bedrockcloud.StartOptions(&bedrockcloud.Options{Epoch: epoch, Script: []bedrockcloud.Turn{{Step: ok}}})
	c.vertex = vertexcloud.StartOptions(&vertexcloud.Options{Epoch: epoch, Script: []vertexcloud.Turn{{Step: ok}}})
	return c
}

func (c *clouds) close() {
	c.azure.Close()
	c.bedrock.Close()
	c.vertex.Close()
}

// targets are the three adapters, azure first.
func (c *clouds) targets(t *testing.T) []fallback.Target {
	t.Helper()
	a, errA := azure.New(&azure.Options{Endpoint: c.azure.URL, Deployment: "gpt-4o", APIVersion: "2024-10-21", Key: "key"})
	b, errB := bedrock.New(&bedrock.Options{
		Region: "us-east-1", Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Endpoint: c.bedrock.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
		}),
	})
	v, errV := vertex.New(&vertex.Options{
		Project: "p", Location: "us-central1", Model: "gemini-2.5-flash", Endpoint: c.vertex.URL,
		TokenSource: func(context.Context) (string, error) { return "token", nil },
	})
	if err := errors.Join(errA, errB, errV); err != nil {
		t.Fatal(err)
	}
	can := llm.Capabilities{Streams: true}
	return []fallback.Target{
		{Name: "azure", Generator: a, Prompt: true, Can: can, Close: a.Close},
		{Name: "bedrock", Generator: b, Prompt: true, Can: can, Close: b.Close},
		{Name: "vertex", Generator: v, Prompt: true, Can: can, Close: v.Close},
	}
}

// run is what came of a load.
type run struct {
	scale
	calls    []call
	changes  []breaker.Change // of the primary
	log      []time.Duration  // arrivals at the primary
	upstream int              // requests that all clouds have heard
	epoch    time.Time
	peak     int // goroutines
}

// TestLoad: many sessions, whose primary hangs and then recovers.
func TestLoad(t *testing.T) {
	t.Parallel()
	before := runtime.NumGoroutine()
	r := play(t, size())
	r.judge(t)
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > before {
		select {
		case <-tick.C:
		case <-patience.C:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	fmt.Fprintf(t.Output(), "goroutines: %d before, %d with all calls under way, %d after\n", before, r.peak, runtime.NumGoroutine())
}

func play(t *testing.T, sc scale) *run {
	t.Helper()
	r := &run{scale: sc, epoch: time.Now()}
	c := start(t, r.epoch)
	defer c.close()
	var ends atomic.Int64
	ends.Store(int64(sc.ends))
	var mu sync.Mutex
	chain, err := fallback.New(c.targets(t), &fallback.Options{
		Plans: policy.Plans{Default: policy.Plan{Limits: llm.Limits{Attempt: sc.attempt, Total: sc.deadline}}},
		Breakers: breaker.NewSet(&breaker.Options{OpenFor: sc.openFor, OnChange: func(ch breaker.Change) {
			if ch.Name == "azure" {
				mu.Lock()
				defer mu.Unlock()
				r.changes = append(r.changes, ch)
				if ch.To == breaker.Closed {
					ends.Store(int64(time.Since(r.epoch) + sc.goesOn))
				}
			}
		}}),
	})
	if err != nil {
		t.Fatal(err)
	}

	recovery := time.AfterFunc(sc.recovers, func() { c.recovered.Store(true) })
	defer recovery.Stop()
	hanging := time.AfterFunc(sc.attempt/2, func() { // every session hangs at the primary
		mu.Lock()
		defer mu.Unlock()
		r.peak = runtime.NumGoroutine()
	})
	defer hanging.Stop()
	var sessions sync.WaitGroup
	for n := range sc.sessions {
		sessions.Go(func() {
			for time.Since(r.epoch) < time.Duration(ends.Load()) {
				one := ask(t.Context(), chain, r.epoch, sc.deadline, n%2 == 0)
				mu.Lock()
				r.calls = append(r.calls, one)
				mu.Unlock()
				think := time.NewTimer(rand.N(sc.think))
				<-think.C
			}
		})
	}
	sessions.Wait()
	if err := chain.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, q := range c.azure.Requests() {
		r.log = append(r.log, q.Time)
	}
	r.upstream = len(c.azure.Requests()) + len(c.bedrock.Requests()) + len(c.vertex.Requests())
	return r
}

// ask makes one call, streamed or not.
func ask(ctx context.Context, chain *fallback.Chain, epoch time.Time, deadline time.Duration, streamed bool) (c call) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var sink llm.Sink
	if streamed {
		sink = func(llm.Event) error { return nil }
	}
	c.began = time.Since(epoch)
	resp, err := chain.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("a question")}}, sink)
	c.ended, c.err = time.Since(epoch), err
	if e, failed := errors.AsType[*llm.Error](err); failed {
		c.attempts = e.Attempts
	} else if resp != nil {
		c.attempts, c.answeredBy = resp.Attempts, resp.Target
	}
	return c
}

func (r *run) judge(t *testing.T) {
	t.Helper()
	var opened, closed time.Duration
	probes := 0
	for _, ch := range r.changes {
		at := ch.At.Sub(r.epoch)
		switch {
		case ch.To == breaker.Open && opened == 0:
			opened = at
		case ch.To == breaker.HalfOpen:
			probes++
		case ch.To == breaker.Closed:
			closed = at
		}
	}
	if opened == 0 || closed < r.recovers {
		t.Fatalf("the breaker opened at %v and closed at %v; the primary recovered at %v", opened, closed, r.recovers)
	}
	r.judgeCalls(t, opened, closed)
	r.judgeRecovery(t, opened, closed, probes)
}

// judgeCalls: every call within its deadline, answered, and at a low price once the breaker is open.
func (r *run) judgeCalls(t *testing.T, opened, closed time.Duration) {
	t.Helper()
	answered, attempts, while, whileAttempts, worst := 0, 0, 0, 0, -r.deadline
	for _, c := range r.calls {
		worst = max(worst, c.ended-c.began-r.deadline)
		attempts += len(c.attempts)
		open := c.began > opened && c.began < closed
		if open {
			whileAttempts += len(c.attempts)
		}
		if c.err != nil {
			t.Logf("a call at %v: %v", c.began, c.err)
			continue
		}
		answered++
		if open {
			while++
		}
	}
	share := float64(answered) / float64(len(r.calls))
	price := float64(whileAttempts) / float64(while)
	fmt.Fprintf(t.Output(), "%d sessions, %d calls: %.2f %% answered; none ended later than %v before its deadline\n",
		r.sessions, len(r.calls), 100*share, -worst.Round(time.Millisecond))
	fmt.Fprintf(t.Output(), "upstream calls: %d tried, %d heard; with the breaker open %d for %d answers = %.3f\n",
		attempts, r.upstream, whileAttempts, while, price)
	if worst > overrun {
		t.Errorf("a call ended %v after its deadline", worst)
	}
	if share < 0.999 {
		t.Errorf("%.2f %% of %d calls answered", 100*share, len(r.calls))
	}
	if price > 1.3 {
		t.Errorf("%.2f upstream calls per answer with the breaker open", price)
	}
	if r.upstream > attempts {
		t.Errorf("the clouds heard %d requests, the calls speak of %d", r.upstream, attempts)
	}
}

// judgeRecovery reads the log of the primary: while its breaker is open only probes come, one at a time.
func (r *run) judgeRecovery(t *testing.T, opened, closed time.Duration, probes int) {
	t.Helper()
	const underWay = 100 * time.Millisecond // what had its permit when the breaker opened
	slices.Sort(r.log)
	whileOpen, atRecovery, after := 0, 0, 0
	for _, at := range r.log {
		switch {
		case at > closed:
			after++
		case at > opened+underWay:
			whileOpen++
			if at >= r.recovers {
				atRecovery++
			}
		}
	}
	fmt.Fprintf(t.Output(), "primary: %d requests before its breaker opened at %v, %d while it was open (%d probes), %d of them between its recovery at %v and the closing at %v, %d after\n",
		len(r.log)-whileOpen-after, opened.Round(time.Millisecond), whileOpen, probes, atRecovery, r.recovers, closed.Round(time.Millisecond), after)
	if whileOpen > probes {
		t.Errorf("the primary heard %d requests while its breaker was open, of %d probes", whileOpen, probes)
	}
	if atRecovery > 5 {
		t.Errorf("%d requests came at once when the primary recovered", atRecovery)
	}
	if after == 0 {
		t.Error("the primary is not asked again after its recovery")
	}
}
