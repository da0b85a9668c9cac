package bedrock

import (
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

const (
	jsonType   = "application/json"
	streamType = "application/vnd.amazon.eventstream"
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

// playFailure answers with an exception, or with the absence of an answer that the error is.
func (c *call) playFailure(s llmtest.Step) cloud.Reply {
	e := s.Error
	switch kindFor(e) {
	case llm.ErrConnection, llm.ErrInterrupted:
		return cloud.Reply{Wait: s.Delay, Status: cloud.NoStatus, End: cloud.EndCut}
	case llm.ErrBadOutput: // well-formed, and nothing in it
		return c.playAnswer(llmtest.Respond(&llm.Response{}).After(s.Delay))
	case llm.ErrContentFiltered:
		if e.Status == 0 && e.Code == "" {
			s.Response, s.Phase = c.blocked(), llmtest.PhaseEnd
			return c.playAnswer(s)
		}
	default:
	}
	r := c.failure(e).reply(c)
	r.Wait = s.Delay
	return r
}

// blocked is what stands in place of an answer that was filtered: the text of Nova's filter, or the one that a
// guardrail has when its owner sets no other.
func (c *call) blocked() *llm.Response {
	if c.body.GuardrailConfig != nil {
		return llmtest.Text("Sorry, the model cannot answer this question.").Response
	}
	return llmtest.Text("The generated text has been blocked by our content filters.").Response
}

// stopped is why an answer stops that has an error of the model in it, "" if the error is another or none.
func (c *call) stopped(s llmtest.Step) string {
	if s.Error == nil || s.Phase != llmtest.PhaseStream && s.Phase != llmtest.PhaseEnd {
		return ""
	}
	switch kindFor(s.Error) {
	case llm.ErrContentFiltered:
		if c.body.GuardrailConfig != nil {
			return "guardrail_intervened"
		}
		return "content_filtered"
	case llm.ErrBadOutput:
		for _, part := range s.Answer().Message.Parts {
			if _, ok := part.(llm.ToolCall); ok {
				return "malformed_tool_use"
			}
		}
		return "malformed_model_output"
	default:
		return ""
	}
}

// playUnary sends the answer as one body.
func (c *call) playUnary(s llmtest.Step) cloud.Reply {
	stop := c.stopped(s)
	answer := s.Answer()
	r := cloud.Reply{Wait: s.Delay, Header: c.answerHeader(jsonType, answer), Body: c.unary(answer, stop, s.Delay)}
	switch {
	case s.Cut:
		return r.CutAt(cloud.CutHalf, cloud.EndCut)
	case s.Error != nil && stop == "":
		switch kindFor(s.Error) {
		case llm.ErrConnection, llm.ErrInterrupted:
			return r.CutAt(cloud.CutHalf, cloud.EndCut)
		default: // an error inside a 200, which the service itself has for what it cannot route alone
			no := c.failure(s.Error)
			r.Body = marshal(map[string]string{"__type": no.exception, "message": no.message})
		}
	case s.Error == nil && s.Phase != "":
		return r.HangIn(s.Phase, 1)
	}
	return r
}

// playStream sends the answer as frames, each a chunk of its own.
func (c *call) playStream(s llmtest.Step) cloud.Reply {
	stop := c.stopped(s)
	answer := s.Answer()
	f := c.frames(answer, stop, s.Delay)
	t := cloud.Timeline{Next: s.Delay, Gap: s.Gap}
	switch s.Phase {
	case llmtest.PhaseBody:
		f = frames{}
	case llmtest.PhaseFirst:
		f.content = nil
	case llmtest.PhaseStream:
		f = f.upToFirst()
	default:
	}
	for _, data := range f.head {
		t.Add(0, data)
	}
	for _, event := range f.content {
		t.Then(event...)
	}
	r := cloud.Reply{Header: c.answerHeader(streamType, answer)}
	switch {
	case s.Cut:
		r.End = cloud.EndCut
	case s.Error != nil && stop == "":
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

// failLate ends a stream with an exception inside it, or by breaking it.
func (c *call) failLate(e *llm.Error, t *cloud.Timeline) cloud.End {
	switch kindFor(e) {
	case llm.ErrConnection, llm.ErrInterrupted:
		return cloud.EndCut
	default:
		t.Then(c.failure(e).frame())
		return cloud.EndEOF
	}
}
