package azure

import (
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

const (
	jsonType = "application/json"
	sseType  = "text/event-stream; charset=utf-8"
)

// play turns a step into the service's own bytes.
func (c *call) play(s llmtest.Step) cloud.Reply {
	return cloud.PlayStep(s, c.playAnswer, c.playFailure)
}

func (c *call) playAnswer(s llmtest.Step) cloud.Reply {
	if c.stream {
		return c.playStream(s)
	}
	return c.playUnary(s)
}

// playFailure answers with an error, or with the absence of an answer that the error is.
func (c *call) playFailure(s llmtest.Step) cloud.Reply {
	var r cloud.Reply
	switch cloud.KindOf(s.Error) {
	case llm.ErrConnection, llm.ErrInterrupted:
		r = cloud.Reply{Status: cloud.NoStatus, End: cloud.EndCut}
	case llm.ErrBadOutput:
		r = c.unusable()
	default:
		r = c.failure(s.Error).reply(c)
	}
	r.Wait = s.Delay
	return r
}

// unusable is a well-formed answer without a choice.
func (c *call) unusable() cloud.Reply {
	if c.stream {
		return cloud.Reply{Header: c.header(sseType), Chunks: []cloud.Chunk{{Data: []byte("data: [DONE]\n\n")}}}
	}
	out := completion{
		Choices: []choice{}, Created: c.created, ID: c.answerID(&llm.Response{}), Model: versionOf(c.model),
		Object: "chat.completion", Fingerprint: fingerprint, Usage: usageOf(llm.Usage{Input: 5}),
	}
	return cloud.Reply{Header: c.header(jsonType), Body: marshal(out)}
}

// stopped is what the content filter stops the answer of a step for, nil if it does not.
func stopped(s llmtest.Step) []string {
	late := s.Phase == llmtest.PhaseStream || s.Phase == llmtest.PhaseEnd
	if s.Error == nil && s.Answer().RawFinish == "content_filter" {
		return []string{"violence (medium)"}
	}
	if s.Error == nil || !late || cloud.KindOf(s.Error) != llm.ErrContentFiltered {
		return nil
	}
	if len(s.Error.Filtered) > 0 {
		return s.Error.Filtered
	}
	return []string{"violence (medium)"}
}

// playUnary sends the answer as one body.
func (c *call) playUnary(s llmtest.Step) cloud.Reply {
	answer, why := s.Answer(), stopped(s)
	r := cloud.Reply{Wait: s.Delay, Header: c.header(jsonType), Body: c.unary(answer, why)}
	tell(r.Header, answer.RateLimit)
	switch {
	case s.Cut:
		return r.CutAt(cloud.CutHalf, cloud.EndCut)
	case s.Error != nil && why == nil:
		switch cloud.KindOf(s.Error) {
		case llm.ErrConnection, llm.ErrInterrupted:
			return r.CutAt(cloud.CutHalf, cloud.EndCut)
		default:
			r.Body = c.failure(s.Error).body // an error inside a 200
		}
	case s.Error == nil && s.Phase != "":
		return r.HangIn(s.Phase, 1)
	}
	return r
}

// playStream sends the answer as events.
func (c *call) playStream(s llmtest.Step) cloud.Reply {
	answer, why := s.Answer(), stopped(s)
	f := c.frames(answer, why, s.Phase == llmtest.PhaseFirst)
	r := cloud.Reply{Header: c.header(sseType)}
	tell(r.Header, answer.RateLimit)
	t := cloud.Timeline{Next: s.Delay, Gap: s.Gap}
	switch s.Phase {
	case llmtest.PhaseBody:
		f = frames{}
	case llmtest.PhaseFirst:
		f.content = nil
	case llmtest.PhaseStream:
		f.content = f.content[:min(1, len(f.content))]
	default:
	}
	for _, data := range f.head {
		t.Add(0, data)
	}
	for _, data := range f.content {
		t.Then(data)
	}
	switch {
	case s.Cut:
		r.End = cloud.EndCut
	case s.Error != nil && why == nil:
		r.End = c.failLate(s.Error, &t)
	case s.Error == nil && s.Phase != "":
		r.End = cloud.EndHang
	default:
		for _, data := range f.tail {
			t.Then(data)
		}
	}
	r.Chunks = t.Chunks
	return r
}

// failLate ends a stream with an error inside it, or by breaking it.
func (c *call) failLate(e *llm.Error, t *cloud.Timeline) cloud.End {
	switch cloud.KindOf(e) {
	case llm.ErrConnection, llm.ErrInterrupted:
		t.Add(t.Next, nil) // it breaks when the next would come
		return cloud.EndCut
	default:
		t.Then(frame(c.failure(e).body))
		return cloud.EndEOF
	}
}
