package llmtest

import (
	"context"
	"sync"

	"github.com/punctual-llm/punctual/llm"
)

// Fake is a scripted llm.Generator. Make it with [New]; the zero Fake answers "ok". It keeps the whole contract of llm.Generator, is safe
// for concurrent use, and shares no memory with its callers. Calls at once take their steps in the order in
// which they began.
//
// Delay and Gap wait on timers, so a Fake keeps virtual time under testing/synctest. When a wait and the
// context's deadline end at the same instant the context wins.
type Fake struct {
	unrecorded bool

	mu       sync.Mutex // guards what follows; never held while a call waits
	script   []play     // the steps themselves are not changed after New
	at       int        // step of the next call
	played   int        // calls that played it so far
	requests []*llm.Request
}

var _ llm.Generator = (*Fake)(nil)

// New returns a Fake that plays steps: call n plays step n, and the last step repeats. Without steps it
// answers "ok". The steps are copied.
func New(steps ...Step) *Fake {
	if len(steps) == 0 {
		steps = []Step{{}}
	}
	f := &Fake{script: make([]play, len(steps))}
	for i, s := range steps {
		f.script[i] = prepare(s)
	}
	return f
}

// Unrecorded switches [Fake.Requests] off and returns f, for benchmarks and long runs: a recorded request is
// a deep copy that lives as long as f. Call it before the first Generate.
func (f *Fake) Unrecorded() *Fake {
	f.unrecorded = true
	return f
}

// Requests returns copies of the requests so far, in the order of the calls. A call whose context had ended
// before it began is not among them: it sends nothing and plays no step.
func (f *Fake) Requests() []*llm.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests := make([]*llm.Request, len(f.requests))
	for i, r := range f.requests {
		requests[i] = r.Clone()
	}
	return requests
}

// Generate plays the next step of the script. Its errors are a sink's own or an [*llm.Error]: the scripted
// one, ErrCanceled or ErrDeadlineExceeded with the cause of ctx once ctx ends, ErrInterrupted for a stream
// that is cut (ErrConnection without a sink), and ErrBadOutput for an answer without a part that did not
// finish by length. What the sink accepted before an error is the Response, and the Partial of an
// [*llm.Error].
func (f *Fake) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	if over(ctx) != nil {
		return nil, ended(ctx, true)
	}
	return f.next(req).run(ctx, sink)
}

// next takes the step of a call that begins now.
func (f *Fake) next(req *llm.Request) *play {
	if !f.unrecorded {
		req = req.Clone()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.unrecorded {
		f.requests = append(f.requests, req)
	}
	if f.script == nil { // the zero Fake
		f.script = []play{prepare(Step{})}
	}
	p := &f.script[f.at]
	if f.played++; f.played >= p.count && f.at < len(f.script)-1 {
		f.at, f.played = f.at+1, 0
	}
	return p
}
