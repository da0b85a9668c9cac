package fallback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// simWorld is a scenario while it runs.
type simWorld struct {
	sc       *simScenario
	breakers *breaker.Set
	started  time.Time
	calls    []*simCall

	mu       sync.Mutex
	problems []string
	changes  []breaker.Change
	shut     map[string]int // how often each generation of a target was closed
	made     []string       // the generations
	versions []simVersion
	flips    []simFlip
}

// simVersion is the chain from a moment on.
type simVersion struct {
	from    time.Time
	chain   *fallback.Chain
	targets []simTarget
	plans   policy.Plans
	dropped bool // beside the last version a target has gone or begun anew
}

// simFlip is emergency mode from a moment on.
type simFlip struct {
	from time.Time
	on   bool
}

// simCall is one call, and what was seen of it.
type simCall struct {
	simCaller

	world   *simWorld
	id      int
	ctx     context.Context
	request *llm.Request

	release    []func() // its context
	start, end time.Time
	caller     string // its goroutine
	returned   atomic.Bool
	inSink     atomic.Bool
	resp       *llm.Response
	err        error
	panicked   any

	// Of the sink, on the goroutine of the call.
	seen     []llm.Event
	accepted []llm.Event
	sinkErr  error
	sinkTime time.Duration
	sinkFrom time.Time     // the first event
	sinkLast time.Time     // when the last event was taken
	pause    time.Duration // the longest between two events
	done     int           // EventDones

	mu    sync.Mutex
	tries []*simTry
	hooks []simHook
	ended []llm.Attempt // as observers heard of them
}

// simHook is what an observer heard of the beginning of an attempt.
type simHook struct {
	target string
	start  time.Time
	limit  time.Duration
	open   []string // the targets whose breakers admitted nobody then
}

// simTry is one Generate of a target.
type simTry struct {
	target  string
	prompt  bool
	n       int // of this target in this call
	fault   *simFault
	script  []llm.Event
	start   time.Time
	end     time.Time // zero: it goes on
	over    bool      // its context had ended before
	late    bool      // the call had returned before
	refused bool      // its breaker admitted nobody just then
	watched bool
	pushed  time.Time   // when it gave the first content away
	sent    []llm.Event // what its sink took
	nothing bool        // it returned neither an answer nor an error
	err     error
}

type simKey struct{}

// simPanic is the panic of a target or a sink.
type simPanic struct{ what string }

func (p *simPanic) Error() string { return "a panic of " + p.what }

var errSink = errors.New("the sink has had enough")

func newWorld(sc *simScenario) *simWorld {
	w := &simWorld{sc: sc, started: time.Now(), shut: map[string]int{}}
	o := sc.Breaker
	o.OnChange = func(c breaker.Change) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, c)
	}
	w.breakers = breaker.NewSet(&o)
	w.flip(sc.Emergency)
	w.renew(sc.Targets, false)
	return w
}

func (w *simWorld) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *simWorld) flip(on bool) { w.flips = append(w.flips, simFlip{time.Now(), on}) }

// renew lets a new chain take over.
func (w *simWorld) renew(targets []simTarget, dropped bool) {
	o := &fallback.Options{Plans: w.sc.Plans, RetryTokens: w.sc.RetryTokens, Emergency: w.sc.Emergency}
	keep := func(names []string) (kept []string) {
		for _, name := range names {
			for i := range targets {
				if targets[i].Name == name {
					kept = append(kept, name)
				}
			}
		}
		return kept
	}
	o.Plans.Default.Targets = keep(o.Plans.Default.Targets)
	if special, ok := o.Plans.Operations["special"]; ok {
		special.Targets = keep(special.Targets)
		o.Plans.Operations = map[llm.Operation]policy.Plan{"special": special}
	}
	if len(w.versions) > 0 {
		o.Prev = w.now().chain
	} else {
		o.Breakers = w.breakers
	}
	list := make([]fallback.Target, len(targets))
	for i := range targets {
		list[i] = targets[i].Target
		p := &simProvider{world: w, target: targets[i], key: targets[i].Name + targets[i].Fingerprint}
		list[i].Generator, list[i].Close = p, p.close
	}
	c, err := fallback.New(list, o)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range targets {
		if key := targets[i].Name + targets[i].Fingerprint; !slices.Contains(w.made, key) {
			w.made = append(w.made, key)
		}
	}
	w.versions = append(w.versions, simVersion{time.Now(), c, targets, o.Plans, dropped})
}

func (w *simWorld) now() *simVersion { return &w.versions[len(w.versions)-1] }

// changedAt reports whether a breaker changed at that very moment: who was admitted before may begin after.
func (w *simWorld) changedAt(name string, at time.Time) bool {
	return slices.ContainsFunc(w.changes, func(c breaker.Change) bool { return c.Name == name && c.At.Equal(at) })
}

// open names the targets whose breakers admit nobody.
func (w *simWorld) open() (names []string) {
	for i := range w.sc.Targets {
		if name := w.sc.Targets[i].Name; w.breakers.Wait(name) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// change is an event of the scenario.
func (w *simWorld) change(what string) {
	targets := append([]simTarget(nil), w.now().targets...)
	word, rest, _ := strings.Cut(what, " ")
	i, _ := strconv.Atoi(rest)
	at := -1
	for k := range targets {
		if i < len(w.sc.Targets) && targets[k].Name == w.sc.Targets[i].Name {
			at = k
		}
	}
	switch {
	case word == "emergency":
		w.now().chain.SetEmergency(rest == "on")
		w.flip(rest == "on")
	case word == "remake" && at >= 0:
		targets[at].Fingerprint += "1"
		w.renew(targets, true)
	case word == "drop" && at >= 0 && len(targets) > 1:
		w.renew(append(targets[:at], targets[at+1:]...), true)
	default:
		w.renew(targets, false)
	}
}

// run plays the scenario, until nothing goes on any more.
func (w *simWorld) run() {
	var all sync.WaitGroup
	for i := range w.sc.Callers {
		c := &simCall{simCaller: w.sc.Callers[i], world: w, id: i}
		w.calls = append(w.calls, c)
		all.Go(func() {
			time.Sleep(c.At)
			c.run()
		})
	}
	for _, e := range w.sc.Events {
		time.Sleep(time.Until(w.started.Add(e.At)))
		w.change(e.What)
	}
	all.Wait()
	time.Sleep(time.Hour) // what was left behind ends, too
	synctest.Wait()
	for _, c := range w.calls {
		for _, release := range c.release {
			release()
		}
	}
}

// chain is the one that the caller holds.
func (w *simWorld) chain(old bool) *fallback.Chain {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old {
		return w.versions[0].chain
	}
	return w.now().chain
}

// goroutine is the id of the goroutine that asks.
func goroutine() string {
	var buf [40]byte
	stack := buf[:runtime.Stack(buf[:], false)]
	id, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	return string(id)
}

func (c *simCall) run() {
	ctx := c.context()
	c.ctx, c.request, c.caller = ctx, c.build(), goroutine()
	chain := c.world.chain(c.OldChain)
	c.start = time.Now()
	defer func() {
		c.panicked = recover()
		c.end = time.Now()
		c.returned.Store(true)
	}()
	client := llm.NewClient(chain, nil)
	switch {
	case c.Via == "chain" && !c.Streamed:
		c.resp, c.err = chain.Generate(ctx, c.request, nil)
	case c.Via == "chain":
		c.resp, c.err = chain.Generate(ctx, c.request, c.sink)
	case !c.Streamed:
		c.resp, c.err = client.Generate(ctx, c.request)
	default:
		stream := client.Stream(ctx, c.request)
		for e, err := range stream.Events() {
			if err != nil || e.Kind == llm.EventDone {
				c.done++
				break
			}
			if err := c.sink(e); err != nil {
				break
			}
		}
		c.resp, c.err = stream.Response()
	}
}

// context is the caller's. It lives longer than the call, so that what the call has left behind is seen.
func (c *simCall) context() context.Context {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), simKey{}, c))
	c.release = append(c.release, cancel)
	var release context.CancelFunc
	if c.Used > 0 {
		ctx, release = deadline.With(ctx, c.Execution, nil)
		c.release = append(c.release, release)
		time.Sleep(c.Used)
	}
	if c.Deadline > 0 {
		ctx, release = context.WithTimeout(ctx, c.Deadline)
		c.release = append(c.release, release)
	}
	if c.Execution > 0 && c.Used == 0 {
		ctx, release = deadline.With(ctx, c.Execution, nil)
		c.release = append(c.release, release)
	}
	if c.Cancel > 0 {
		time.AfterFunc(c.Cancel, cancel)
	}
	if !c.Unwatched {
		ctx = llm.WithObserver(ctx, c.observer())
	}
	return ctx
}

func (c *simCall) observer() *llm.Observer {
	return &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			hook := simHook{a.Target, a.Start, a.Limit, c.world.open()}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.hooks = append(c.hooks, hook)
			return ctx
		},
		AttemptEnd: func(_ context.Context, a *llm.Attempt, _ error) {
			if c.returned.Load() {
				c.problem("an attempt ends for observers after the call has")
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ended = append(c.ended, *a)
		},
	}
}

func (c *simCall) problem(format string, args ...any) {
	c.world.problem(fmt.Sprintf("call %d: ", c.id)+format, args...)
}

func (c *simCall) build() *llm.Request {
	req := &llm.Request{
		Operation: c.Operation, Session: c.Session, Messages: []llm.Message{llm.User("x")},
		Limits: c.Limits, Route: c.Route, MaxTokens: c.MaxTokens,
	}
	if c.Long {
		req.Messages[0] = llm.User(strings.Repeat("x", 900))
	}
	if c.Accept {
		req.Accept = accept
	}
	if c.Output {
		req.Output = &llm.Schema{JSON: []byte(`{"type":"string"}`)}
	}
	if c.Seed {
		req.Seed = new(int64(1))
	}
	return req
}

func accept(r *llm.Response) error {
	if strings.HasPrefix(r.Text(), `"refuse`) {
		return errors.New("refused")
	}
	return nil
}

// sink is the caller's.
func (c *simCall) sink(e llm.Event) error {
	if !c.inSink.CompareAndSwap(false, true) {
		c.problem("two events at once")
	}
	defer c.inSink.Store(false)
	if at := goroutine(); at != c.caller {
		c.problem("an event on goroutine %s, the caller's is %s", at, c.caller)
	}
	if c.returned.Load() {
		c.problem("an event after the return")
	}
	if len(c.seen) == 0 {
		c.sinkFrom = time.Now()
	} else if c.ctx.Err() == nil { // what ends together with the caller's context has no limit of its own
		c.pause = max(c.pause, time.Since(c.sinkLast))
	}
	c.seen = append(c.seen, e)
	if c.sinkErr != nil {
		c.problem("an event after the sink has failed")
	}
	if c.Slow > 0 {
		time.Sleep(c.Slow)
		c.sinkTime += c.Slow
	}
	c.sinkLast = time.Now()
	switch len(c.seen) {
	case c.Panics:
		panic(&simPanic{"the sink"})
	case c.SinkFails, c.Leaves:
		c.sinkErr = errSink
		return errSink
	}
	c.accepted = append(c.accepted, e)
	return nil
}

// simProvider is the Generator of a target.
type simProvider struct {
	world  *simWorld
	target simTarget
	key    string
}

func (p *simProvider) close() error {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.world.shut[p.key]++
	return nil
}

// Generate plays the next try of the call that ctx belongs to.
func (p *simProvider) Generate(ctx context.Context, _ *llm.Request, sink llm.Sink) (resp *llm.Response, err error) {
	c, ok := ctx.Value(simKey{}).(*simCall)
	if !ok {
		p.world.problem("%s is asked for nobody", p.target.Name)
		return nil, errors.New("nobody asks")
	}
	try := c.begin(ctx, p, sink)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		try.end, try.err, try.nothing = time.Now(), err, resp == nil && err == nil
	}()
	w := simRun{ctx: ctx, sink: sink, try: try, target: &p.target}
	return w.play()
}

func (c *simCall) begin(ctx context.Context, p *simProvider, sink llm.Sink) *simTry {
	w := c.world
	w.mu.Lock()
	refused := w.breakers.Wait(p.target.Name) > 0
	if w.shut[p.key] > 0 {
		w.problems = append(w.problems, fmt.Sprintf("call %d: %s is asked though it is closed", c.id, p.target.Name))
	}
	w.mu.Unlock()
	index := int(p.target.Name[0] - 'a')
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, other := range c.tries {
		if other.target == p.target.Name {
			n++
		}
	}
	faults := c.Faults[index]
	try := &simTry{
		target: p.target.Name, prompt: p.target.Prompt, n: n, fault: &faults[min(n, len(faults)-1)], start: time.Now(),
		over: ctx.Err() != nil, late: c.returned.Load(), refused: refused, watched: sink != nil && !c.Streamed,
	}
	try.script = try.fault.script(fmt.Sprintf("%d.%s.%d", c.id, p.target.Name, n))
	c.tries = append(c.tries, try)
	return try
}

// script is the content of the answer, unlike that of any other try.
func (f *simFault) script(name string) []llm.Event {
	if f.Act == actEmpty || f.Act == actLength || f.Act == actNoise || f.Events == 0 && f.Act != actAnswer && f.Act != actNoJSON {
		return nil
	}
	events := []llm.Event{{Kind: llm.EventText, Delta: `"` + f.Text + name}}
	for len(events) < f.Events {
		events = append(events, llm.Event{Kind: llm.EventText, Delta: " w" + strconv.Itoa(len(events))})
	}
	if f.Act != actNoJSON {
		events[len(events)-1].Delta += `"`
	}
	if f.Tool {
		events = append(events,
			llm.Event{Kind: llm.EventToolCall, Index: 1, ID: name, Name: "f"},
			llm.Event{Kind: llm.EventToolArguments, Index: 1, Delta: `{"a"`},
			llm.Event{Kind: llm.EventToolArguments, Index: 1, Delta: `:1}`})
	}
	return events
}

// simRun is a target at work.
type simRun struct {
	ctx    context.Context
	sink   llm.Sink
	try    *simTry
	target *simTarget
}

func (r *simRun) play() (*llm.Response, error) {
	f := r.try.fault
	if f.Act == actDial {
		if trace := httptrace.ContextClientTrace(r.ctx); trace != nil && trace.GetConn != nil {
			trace.GetConn("sim:443")
		}
		return r.hang()
	}
	if !r.wait(f.Before) {
		return r.leave()
	}
	for i, e := range r.try.script {
		if i > 0 && !r.wait(f.Gap) {
			return r.leave()
		}
		if r.sink == nil {
			continue
		}
		if err := r.push(e); err != nil && !f.Stubborn {
			return r.partial(), err
		}
	}
	return r.finish()
}

// finish is what comes after the content.
func (r *simRun) finish() (*llm.Response, error) {
	f := r.try.fault
	switch f.Act {
	case actAnswer, actEmpty, actNoJSON:
		return r.answer(), nil
	case actLength:
		resp := r.answer()
		resp.Finish = llm.FinishLength
		return resp, nil
	case actFail:
		return r.partial(), &llm.Error{
			Kind: f.Kind, Code: f.Code, RetryAfter: f.RetryAfter, NotSent: f.NotSent, NoRetry: f.NoRetry, Partial: r.partial(),
		}
	case actForeign:
		return r.partial(), foreign[r.try.n%len(foreign)]
	case actNoise:
		for n := 0; n < 600 && r.wait(700*ms); n++ {
			if r.sink != nil {
				r.noise()
			}
		}
		return r.leave()
	case actNothing:
		return nil, nil
	case actPanic:
		panic(&simPanic{r.target.Name})
	case actExit:
		runtime.Goexit()
	case actStray:
		if sink := r.sink; sink != nil {
			time.AfterFunc(1, func() { _ = sink(llm.Event{Kind: llm.EventText, Delta: "stray"}) })
		}
		return r.answer(), nil
	}
	return r.hang()
}

var foreign = []error{
	errors.New("strange"), io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")}, context.Canceled,
	context.DeadlineExceeded, llm.ErrUnavailable, (*llm.Error)(nil), &net.DNSError{IsNotFound: true},
}

func (r *simRun) hang() (*llm.Response, error) {
	if r.target.Deaf {
		time.Sleep(3 * time.Minute)
	} else {
		<-r.ctx.Done()
	}
	return r.leave()
}

// wait reports whether the target should go on. A deaf one always does.
func (r *simRun) wait(d time.Duration) bool {
	if r.target.Deaf {
		time.Sleep(d)
		return true
	}
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.ctx.Done():
		}
	}
	return r.ctx.Err() == nil
}

func (r *simRun) push(e llm.Event) error {
	if r.try.fault.Noisy {
		r.noise()
	}
	if r.try.pushed.IsZero() {
		r.try.pushed = time.Now()
	}
	err := r.sink(e)
	if err == nil {
		r.try.sent = append(r.try.sent, e)
	}
	return err
}

// noise is what must not reach the caller.
func (r *simRun) noise() {
	for _, e := range []llm.Event{{}, {Kind: llm.EventText}, {Kind: llm.EventDone, Response: r.answer()}, {Kind: llm.EventToolArguments, Index: 1}} {
		_ = r.sink(e)
	}
}

func (r *simRun) answer() *llm.Response {
	var a llm.Accumulator
	for _, e := range r.try.script {
		a.Add(e)
	}
	resp := a.Response()
	resp.Finish, resp.Usage = llm.FinishStop, llm.Usage{Output: 1, Reported: true}
	return resp
}

// partial is what the sink took.
func (r *simRun) partial() *llm.Response {
	var a llm.Accumulator
	for _, e := range r.try.sent {
		a.Add(e)
	}
	return a.Partial()
}

// leave is the end of a target whose context is over.
func (r *simRun) leave() (*llm.Response, error) {
	time.Sleep(r.target.Exits.Late)
	switch r.target.Exits.How {
	case "bare":
		return r.partial(), r.ctx.Err()
	case "cause":
		return r.partial(), context.Cause(r.ctx)
	case "timeout":
		return r.partial(), &llm.Error{Kind: llm.ErrTimeout, Partial: r.partial()}
	case "answer":
		if r.sink == nil || len(r.try.sent) == len(r.try.script) {
			return r.answer(), nil
		}
	case "nothing":
		return nil, nil
	case "pushes":
		if n := len(r.try.sent); r.sink != nil && n < len(r.try.script) {
			_ = r.push(r.try.script[n])
		}
	}
	return r.partial(), &llm.Error{Kind: llm.KindOf(r.ctx.Err()), Err: context.Cause(r.ctx), Partial: r.partial()}
}
