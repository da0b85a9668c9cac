package llmtest

import (
	"context"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// play is a step made ready: everything that is left open is filled in. It is not changed while it is played,
// so that many calls may play it at once.
type play struct {
	answer     *llm.Response // never handed out, only copies of it
	err        *llm.Error    // likewise
	phase      Phase         // where it fails or hangs; "": nowhere
	delay, gap time.Duration
	cut        bool
	count      int
}

func prepare(s Step) play {
	p := play{
		answer: s.Answer(), err: cloneError(s.Error), phase: s.Phase,
		delay: s.Delay, gap: s.Gap, cut: s.Cut, count: max(s.Count, 1),
	}
	if p.phase == "" && p.err != nil {
		p.phase = PhaseHeaders
		if p.err.Partial != nil {
			p.phase = PhaseEnd
		}
	}
	r := p.answer
	if r.ID == "" {
		r.ID = "fake"
	}
	if r.RawFinish == "" {
		r.RawFinish = string(r.Finish)
	}
	if r.Model == (llm.ModelRef{}) {
		r.Model = llm.ModelRef{Provider: "fake", Model: "fake"}
	}
	if r.Message.From == (llm.ModelRef{}) {
		r.Message.From = r.Model
	}
	return p
}

// late reports whether the step fails or hangs only after its first content.
func (p *play) late() bool { return p.phase == PhaseStream || p.phase == PhaseEnd }

// unsent reports whether the step ends before a request could leave.
func (p *play) unsent() bool { return p.phase == PhaseConnect || p.phase == PhaseToken }

// noSink stands in place of a number of accepted events in a call that has no sink.
const noSink = -1

// run plays the step for one call.
func (p *play) run(ctx context.Context, sink llm.Sink) (*llm.Response, error) {
	accepted := 0
	if sink == nil {
		accepted = noSink
	}
	switch {
	case !wait(ctx, p.delay):
		return p.broken(ended(ctx, p.unsent()), accepted)
	case p.phase != "" && !p.late():
		return p.stop(ctx, accepted)
	case sink != nil:
		return p.stream(ctx, sink)
	case p.late():
		return p.stop(ctx, accepted)
	case p.cut:
		return nil, &llm.Error{Kind: llm.ErrConnection, Code: "cut"}
	default:
		return p.complete()
	}
}

// stream answers through sink, on the calling goroutine.
func (p *play) stream(ctx context.Context, sink llm.Sink) (*llm.Response, error) {
	accepted := 0
	for e := range p.events {
		if accepted > 0 && p.phase == PhaseStream {
			break
		}
		if accepted > 0 && !wait(ctx, p.gap) || ctx.Err() != nil {
			return p.broken(ended(ctx, false), accepted)
		}
		if err := sink(e); err != nil {
			return p.partial(accepted), err
		}
		accepted++
	}
	switch {
	case p.late():
		return p.stop(ctx, accepted)
	case p.cut:
		return p.broken(&llm.Error{Kind: llm.ErrInterrupted, Code: "cut"}, accepted)
	default:
		return p.complete()
	}
}

func (p *play) events(yield func(llm.Event) bool) { events(p.answer.Message.Parts, yield) }

// stop fails, or hangs until ctx ends, after the sink accepted so many events.
func (p *play) stop(ctx context.Context, accepted int) (*llm.Response, error) {
	if p.err == nil {
		<-ctx.Done()
		return p.broken(ended(ctx, p.unsent()), accepted)
	}
	e := cloneError(p.err)
	e.NotSent = e.NotSent || p.unsent()
	return p.broken(e, accepted)
}

// broken is the outcome of a call that ended with e after the sink accepted so many events. Without a sink a
// Partial of the script stays.
func (p *play) broken(e *llm.Error, accepted int) (*llm.Response, error) {
	if accepted != noSink {
		e.Partial = p.partial(accepted)
	}
	return p.partial(accepted), e
}

// partial is what the first n events come to. It is worked out from the script, so that a stream that does
// not fail pays nothing for it.
func (p *play) partial(n int) *llm.Response {
	var a llm.Accumulator
	for e := range p.events {
		if n <= 0 {
			break
		}
		a.Add(e)
		n--
	}
	r := a.Partial()
	if r != nil {
		r.ID, r.Model, r.Message.From = p.answer.ID, p.answer.Model, p.answer.Message.From
	}
	return r
}

// complete is the whole answer.
func (p *play) complete() (*llm.Response, error) {
	if len(p.answer.Message.Parts) == 0 && p.answer.Finish != llm.FinishLength {
		return nil, &llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer"}
	}
	return cloneResponse(p.answer), nil
}
