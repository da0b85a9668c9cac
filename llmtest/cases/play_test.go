package cases_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/internal/cloud"
)

// variant is one way to play a case.
type variant struct {
	rpc   bool // Vertex over gRPC
	watch bool // unary calls are streamed inside
}

// String is for people.
func (v variant) String() string {
	words := []string{}
	if v.rpc {
		words = append(words, "over gRPC")
	}
	if v.watch {
		words = append(words, "streamed inside")
	}
	if len(words) == 0 {
		return "plain"
	}
	return strings.Join(words, ", ")
}

// variants are the ways in which a case is played, and those that have no form, with the reason.
func (c *faultCase) variants() (all []variant, skipped map[string]string) {
	all, skipped = []variant{{}}, map[string]string{}
	if slices.Contains(c.Call.Providers, "vertex") {
		if why := c.noRPC(); why != "" {
			skipped[variant{rpc: true}.String()] = why
		} else {
			all = append(all, variant{rpc: true})
		}
	}
	if c.Call.Mode != "unary" || !c.healthy() {
		return all, skipped
	}
	for _, v := range slices.Clone(all) {
		v.watch = true
		all = append(all, v)
	}
	return all, skipped
}

// noRPC says why the case has no form over gRPC, "" if it has one.
func (c *faultCase) noRPC() string {
	if c.Call.Settings.ownClient() {
		return "an http.Client of the user's"
	}
	for i := range c.Wire["vertex"] {
		if why := c.Wire["vertex"][i].noRPC(); why != "" {
			return why
		}
	}
	return ""
}

// healthy reports whether every 200 of the wire is an "ok", which takes the form of the mode by itself.
func (c *faultCase) healthy() bool {
	for _, replies := range c.Wire {
		for i := range replies {
			for r := &replies[i]; r != nil; r = r.Else {
				never := r.WaitMS != nil && *r.WaitMS < 0
				if !never && !r.healthy() && (r.Status == 0 || r.Status < http.StatusMultipleChoices) {
					return false
				}
			}
		}
	}
	return true
}

// observation is all that can be seen of a case that was played.
type observation struct {
	c       *faultCase
	variant variant
	calls   []*result // the calls that are judged
	before  []*result
	then    []*result
	started map[string]*result
	states  map[string]breaker.State // at the end
	scores  map[string]float64
	opened  map[string]opening

	requests map[string][]*request      // by provider
	log      map[string][]cloud.Request // the same
	cooled   map[string]int             // requests when the breaker had become half-open
	conns    map[string]int
	epochs   map[string]time.Time
	problems []string

	left           int           // goroutines of the calls that did not end
	goroutinesBack time.Duration // when the last one had ended
}

// playTime bounds a case.
const playTime = time.Minute

// play plays a case and judges it.
func play(ctx context.Context, c *faultCase, v variant) (*observation, []finding) {
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	s, err := open(c, v)
	if err != nil {
		return nil, []finding{{"open: " + err.Error(), fatal}}
	}
	defer s.close()
	p := &player{stack: s, o: &observation{
		c: c, variant: v, started: map[string]*result{}, cooled: map[string]int{},
		requests: map[string][]*request{}, log: map[string][]cloud.Request{}, conns: map[string]int{}, epochs: map[string]time.Time{},
		states: map[string]breaker.State{}, scores: map[string]float64{}, opened: map[string]opening{},
	}}
	label := c.ID + " " + v.String()
	pprof.Do(ctx, pprof.Labels(labelName, label), p.run)
	p.watchGoroutines(label)
	p.look(ctx)
	return p.o, p.o.judge()
}

type player struct {
	*stack

	o       *observation
	n       int // of the last call
	running sync.WaitGroup
	mu      sync.Mutex // guards started
}

// run makes all the calls of a case.
func (p *player) run(ctx context.Context) {
	for _, s := range p.c.Call.Before {
		p.before(ctx, s)
	}
	for name, f := range p.fakes {
		if _, ok := p.o.cooled[name]; !ok {
			p.o.cooled[name] = f.count()
		}
	}
	p.n = 0
	for i := range max(1, p.c.Call.Repeat) {
		if i > 0 {
			pause(ctx, ms(p.c.Call.PauseMS))
		}
		p.o.calls = append(p.o.calls, p.together(ctx)...)
	}
	if t := p.c.Call.Then; t != nil {
		for range t.Calls {
			pause(ctx, ms(p.c.Call.PauseMS))
			p.o.then = append(p.o.then, p.ask(ctx, p.next(), true))
		}
	}
	p.running.Wait()
}

func (p *player) next() int { p.n++; return p.n }

// together makes the calls that run at once.
func (p *player) together(ctx context.Context) []*result {
	if p.c.Call.Parallel == 0 {
		return []*result{p.ask(ctx, p.next(), false)}
	}
	all := make([]*result, p.c.Call.Parallel)
	var group sync.WaitGroup
	for i := range all {
		n := p.next()
		group.Go(func() { all[i] = p.ask(ctx, n, false) })
	}
	group.Wait()
	return all
}

// beforeNumber is what the numbers of calls before the judged ones begin at.
const beforeNumber = 1_000_000

func (p *player) before(ctx context.Context, s step) {
	for range s.Calls {
		p.o.before = append(p.o.before, p.ask(ctx, beforeNumber+p.next(), true))
	}
	if s.Start != "" {
		n := beforeNumber + p.next()
		p.running.Go(func() {
			r := p.ask(ctx, n, true)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.o.started[s.Start] = r
		})
	}
	pause(ctx, ms(s.SleepMS))
	if name := s.WaitHalfOpen; name != "" {
		for end := time.Now().Add(10 * time.Second); p.breakers.Status(name).State != breaker.HalfOpen; {
			if time.Now().After(end) {
				p.o.problems = append(p.o.problems, "the breaker of "+name+" never was half-open")
				break
			}
			pause(ctx, time.Millisecond)
		}
		p.o.cooled[name] = p.fakes[name].count()
	}
}

// pause waits; it is cut short only when the case is taken to hang.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// labelName marks the goroutines of a case: what they start inherits the mark.
const labelName = "case"

// watchGoroutines waits until what the calls have started has ended. Idle connections are closed meanwhile.
func (p *player) watchGoroutines(label string) {
	raw, ok := p.c.Right["goroutines_back_within_ms"]
	if !ok {
		return
	}
	limit, err := want[float64](raw)
	if err != nil {
		return // the check says so
	}
	from := time.Now()
	for {
		p.closeIdle()
		p.o.left, p.o.goroutinesBack = labelled(label), time.Since(from)
		if p.o.left == 0 || p.o.goroutinesBack > 2*slacken(ms(limit)) {
			return
		}
		pause(context.Background(), 5*time.Millisecond)
	}
}

var stackCount = regexp.MustCompile(`^([0-9]+) @`)

// labelled counts the goroutines with a label.
func labelled(label string) (n int) {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	mark := fmt.Sprintf("%q:%q", labelName, label)
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		if at := stackCount.FindStringSubmatch(block); at != nil && strings.Contains(block, mark) {
			one, _ := strconv.Atoi(at[1])
			n += one
		}
	}
	return n
}

// look notes what can be seen at the end.
func (p *player) look(ctx context.Context) {
	o := p.o
	for _, name := range p.c.Call.Providers {
		status := p.breakers.Status(name)
		o.states[name], o.scores[name] = status.State, status.Score
		if at, ok := p.opening(name); ok {
			o.opened[name] = at
		}
	}
	if _, ok := p.c.Right["peer_sees_close_within_ms"]; ok {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		for name, f := range p.fakes {
			if err := f.log.Wait(ctx, f.count()); err != nil {
				o.problems = append(o.problems, name+" still holds a connection")
			}
		}
	}
	for name, f := range p.fakes {
		o.requests[name], o.log[name] = f.seen(), f.log.Requests()
		o.conns[name], o.epochs[name] = int(f.opened.Load()), f.log.Epoch
		f.mu.Lock()
		o.problems = append(o.problems, f.problems...)
		f.mu.Unlock()
	}
	for _, r := range slices.Concat(o.calls, o.before, o.then, slices.Collect(maps.Values(o.started))) {
		if r.err != nil && strings.HasPrefix(r.err.Error(), "a panic: ") {
			o.problems = append(o.problems, r.err.Error())
		}
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.problems = append(o.problems, "took longer than a minute")
	}
}
