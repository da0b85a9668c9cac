package llmtest

import (
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Step is one answer of a script. Build it with [Text], [Calls], [Respond], [Fail], [Hang] and [Cut], and
// shape it with its methods. The fields are exported so that simulated clouds can play the same script; the
// zero Step answers "ok".
type Step struct {
	// Response is the answer: its parts are streamed in order, text and reasoning word by word. What it leaves
	// open is filled in, see [Step.Answer]. Nil: the text "ok", or "partial " if the step fails or hangs from
	// PhaseStream on.
	Response *llm.Response
	// Error is what the step fails with, at Phase; nil: it does not fail. Its Partial, if it has one and
	// Response is nil, is the content that comes before a failure from PhaseStream on.
	Error *llm.Error
	// Phase is where the step fails (with an Error) or hangs until the context ends (without one). "": a
	// failure comes at PhaseHeaders (at PhaseEnd if Error has a Partial), and nothing hangs.
	Phase Phase
	// Delay is waited before the first content, or before the failure if that comes earlier; Gap between two
	// events of a stream.
	Delay, Gap time.Duration
	// Cut ends the answer after Response and without an end mark, as a broken connection does.
	Cut bool
	// Count is how many calls play this step before the script goes on; 0 is 1.
	Count int
}

// Phase is a place in the life of a call.
type Phase string

// The phases, in order. A Fake has no wire, so the first five are nearly one: nothing has come yet. Only
// PhaseConnect and PhaseToken make its errors say NotSent.
const (
	PhaseConnect Phase = "connect" // the connection is not made
	PhaseToken   Phase = "token"   // the credential is not had
	PhaseHeaders Phase = "headers" // the request is sent, no response begins
	PhaseBody    Phase = "body"    // the response begins, its body does not
	PhaseFirst   Phase = "first"   // a body without content: role, pings, comments
	PhaseStream  Phase = "stream"  // after the first content
	PhaseEnd     Phase = "end"     // after all content, before the end mark
)

// Text answers with one text.
func Text(s string) Step {
	return Respond(&llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: s}}}})
}

// Calls answers with tool calls.
func Calls(c ...llm.ToolCall) Step {
	parts := make(llm.Parts, len(c))
	for i, call := range c {
		parts[i] = call
	}
	return Respond(&llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts},
		Finish:  llm.FinishToolCall,
	})
}

// Respond answers with r. What it leaves open is filled in, see [Step.Answer].
func Respond(r *llm.Response) Step { return Step{Response: r} }

// Fail fails with e, before anything came; set Phase for another place. A nil e does not fail: it answers
// "ok".
func Fail(e *llm.Error) Step { return Step{Error: e} }

// Hang answers nothing more from the given phase on (no phase: [PhaseHeaders]) until the context ends. From
// PhaseStream on, the text "partial " comes first.
func Hang(at ...Phase) Step {
	s := Step{Phase: PhaseHeaders}
	if len(at) > 0 {
		s.Phase = at[0]
	}
	return s
}

// Cut answers with s (which may be empty) and ends there without an end mark, as a broken connection does.
func Cut(s string) Step {
	step := Text(s)
	step.Cut = true
	return step
}

// After waits d before the first content.
func (s Step) After(d time.Duration) Step { s.Delay = d; return s }

// Every waits d between two events.
func (s Step) Every(d time.Duration) Step { s.Gap = d; return s }

// Times plays the step for n calls.
func (s Step) Times(n int) Step { s.Count = n; return s }
