package vertex

import (
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
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
	switch kind := cloud.KindOf(s.Error); {
	case kind == llm.ErrConnection, kind == llm.ErrInterrupted:
		r = cloud.Reply{Status: cloud.NoStatus, End: cloud.EndCut}
	case kind == llm.ErrBadOutput:
		r = c.alone(c.malformed(llm.ToolCall{Name: "f"}))
	case kind == llm.ErrContentFiltered && s.Error.Status == 0:
		r = c.alone(c.blocked(s.Error))
	default:
		r = c.failure(s.Error).reply(c)
	}
	r.Wait = s.Delay
	return r
}

// alone is an answer of one response.
func (c *call) alone(r response) cloud.Reply {
	w := c.wire()
	reply := cloud.Reply{Header: w.header()}
	if c.stream {
		reply.Chunks = []cloud.Chunk{{Data: append(w.event(r), w.end()...)}}
	} else {
		reply.Body = w.whole(r)
	}
	return reply
}

// malformed is the end of an answer whose function call came to nothing.
func (c *call) malformed(f llm.ToolCall) response {
	r := c.shell(&llm.Response{})
	r.Candidates = []candidate{{
		Content: &content{}, Finish: c.enum("finishReason", "MALFORMED_FUNCTION_CALL"),
		FinishMessage: "Malformed function call: " + f.Name + "(" + f.Arguments,
	}}
	r.Usage = c.running(llm.Usage{Input: 5})
	return r
}

// blocked is what comes in place of an answer to a prompt that was filtered.
func (c *call) blocked(e *llm.Error) response {
	r := c.shell(&llm.Response{})
	r.Feedback = &feedback{Reason: c.enum("blockReason", "SAFETY"), Ratings: c.ratings(filtered(e)), Message: e.Message}
	if e.Code != "" {
		r.Feedback.Reason = c.enum("blockReason", e.Code)
	}
	r.Usage = c.running(llm.Usage{Input: 5})
	return r
}

// filtered is what e says was filtered, or a default.
func filtered(e *llm.Error) []string {
	if e == nil || len(e.Filtered) == 0 {
		return []string{"dangerous (high)"}
	}
	return e.Filtered
}

// last is the response with which an answer ends: why it ended, and the count.
func (c *call) last(s llmtest.Step, r *llm.Response, broken *llm.ToolCall) response {
	late := s.Phase == llmtest.PhaseStream || s.Phase == llmtest.PhaseEnd
	switch {
	case broken != nil:
		return c.malformed(*broken)
	case s.Error != nil && late && cloud.KindOf(s.Error) == llm.ErrBadOutput:
		return c.malformed(llm.ToolCall{Name: "f"})
	}
	out := c.shell(r)
	out.Usage = c.usageOf(r.Usage)
	end := candidate{Content: &content{Role: "model"}, Finish: c.enum("finishReason", finishOf(r))}
	if s.Error != nil && late && cloud.KindOf(s.Error) == llm.ErrContentFiltered {
		end.Content, end.Finish = nil, c.enum("finishReason", "SAFETY")
		end.Ratings, end.FinishMessage = c.ratings(filtered(s.Error)), s.Error.Message
	} else if finishOf(r) == "SAFETY" {
		end.Ratings = c.ratings(filtered(nil))
	}
	out.Candidates = []candidate{end}
	return out
}

// ended reports whether a step with an error ends its answer as the service ends one, without an error.
func ended(s llmtest.Step) bool {
	late := s.Phase == llmtest.PhaseStream || s.Phase == llmtest.PhaseEnd
	kind := cloud.KindOf(s.Error)
	return late && (kind == llm.ErrContentFiltered || kind == llm.ErrBadOutput)
}

// playUnary sends the answer as one body.
func (c *call) playUnary(s llmtest.Step) cloud.Reply {
	answer := s.Answer()
	w := c.wire()
	parts, broken := c.contentOf(answer, false)
	whole := c.last(s, answer, broken)
	if body := whole.Candidates[0].Content; body != nil && broken == nil && (s.Error == nil || !ended(s)) {
		body.Parts = parts
	}
	r := cloud.Reply{Wait: s.Delay, Header: w.header(), Body: w.whole(whole)}
	switch {
	case s.Cut:
		return r.CutAt(cloud.CutHalf, cloud.EndCut)
	case s.Error != nil && !ended(s):
		switch cloud.KindOf(s.Error) {
		case llm.ErrConnection, llm.ErrInterrupted:
			return r.CutAt(cloud.CutHalf, cloud.EndCut)
		default:
			r.Body = w.fail(r.Header, c.failure(s.Error)) // an error inside a 200
		}
	case s.Error == nil && s.Phase != "":
		return r.HangIn(s.Phase, len("}\n"))
	}
	return r
}

// playStream sends the answer in pieces.
func (c *call) playStream(s llmtest.Step) cloud.Reply {
	answer := s.Answer()
	w := c.wire()
	r := cloud.Reply{Header: w.header()}
	parts, broken := c.contentOf(answer, true)
	switch s.Phase {
	case llmtest.PhaseBody, llmtest.PhaseFirst:
		parts = nil
	case llmtest.PhaseStream:
		parts = parts[:min(1, len(parts))]
	default:
	}
	t := cloud.Timeline{Next: s.Delay, Gap: s.Gap}
	piece := func(part []byte) []byte {
		out := c.shell(answer)
		out.Candidates = []candidate{{Content: &content{Role: "model", Parts: jsonParts(part)}}}
		out.Usage = c.running(answer.Usage)
		return w.event(out)
	}
	if s.Phase == llmtest.PhaseFirst {
		t.Add(0, piece(marshal(part{Text: new("")})))
	}
	for _, p := range parts {
		t.Then(piece(p))
	}
	switch {
	case s.Cut:
		r.End = cloud.EndCut
	case s.Error != nil && !ended(s):
		r.End = c.failLate(s.Error, &r, w, &t)
	case s.Error == nil && s.Phase != "":
		r.End = cloud.EndHang
	default:
		out := c.last(s, answer, broken)
		if end := out.Candidates[0].Content; end != nil && end.Role != "" {
			end.Parts = jsonParts(marshal(part{Text: new("")}))
			if n := len(parts); n > 0 && isCall(parts[n-1]) { // recorded: the end comes with the call
				end.Parts = jsonParts(parts[n-1])
				t.Chunks = t.Chunks[:len(t.Chunks)-1]
				t.Next -= t.Gap
			}
		}
		t.Then(append(w.event(out), w.end()...))
	}
	r.Chunks = t.Chunks
	return r
}

// failLate ends a stream with an error inside it, or by breaking it.
func (c *call) failLate(e *llm.Error, r *cloud.Reply, w wire, t *cloud.Timeline) cloud.End {
	switch cloud.KindOf(e) {
	case llm.ErrConnection, llm.ErrInterrupted:
		t.Add(t.Next, nil) // it breaks when the next would come
		return cloud.EndCut
	default:
		t.Then(w.fail(r.Header, c.failure(e)))
		return cloud.EndEOF
	}
}
