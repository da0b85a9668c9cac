package cloud

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/punctual-llm/punctual/llmtest"
)

// Suits returns why f cannot bend r, exact bytes that are sent in place of a step; nil: [Fault.Exact] can.
func (f *Fault) Suits(r *Reply) error {
	switch {
	case f.At != "" && f.At != llmtest.PhaseHeaders:
		return faultError("at="+string(f.At), "cannot put an error inside an answer of exact bytes; leave at out, "+
			"and the error comes in place of it")
	case f.Gap > 0 && len(r.events().Chunks) == 0:
		return faultError("gap="+f.Gap.String(), "needs a stream of events, and this answer is none; use delay or trickle")
	}
	return nil
}

// Exact bends what [Fault.Step] bends, but in exact bytes: hangs, pauses between events, a missing end mark.
// Errors are left to the vendor. A stream of events is taken to have no content in its first event and its end
// mark in the last; another body has its first byte and its last one in their place. Reply comes next.
func (f *Fault) Exact(r Reply) Reply {
	if f.Gap > 0 || f.Hang != "" || f.CutEnd || f.Cut == CutFrame {
		r = r.events()
	}
	r.Chunks = slices.Clone(r.Chunks)
	for i := range r.Chunks {
		r.Chunks[i].At += time.Duration(i) * f.Gap
	}
	switch {
	case f.Hang == llmtest.PhaseHeaders:
		r.Wait = Never
	case f.Hang != "":
		r = r.until(f.Hang)
		r.End = EndHang
	case f.CutEnd:
		r = r.until(llmtest.PhaseEnd)
	}
	return r
}

// events returns r with one chunk an event, if its body is a stream of events.
func (r Reply) events() Reply {
	media := r.media()
	if media != sseType && media != frameType || len(r.Chunks) > 0 || r.Header.Get("Content-Encoding") != "" {
		return r
	}
	end := eventEnd
	if media == frameType {
		end = frameEnd
	}
	var chunks []Chunk
	for rest := r.Body; len(rest) > 0; {
		n := end(rest)
		chunks = append(chunks, Chunk{Data: rest[:n]})
		rest = rest[n:]
	}
	r.Body, r.Chunks = nil, chunks
	return r
}

// eventEnd is the length of the first event with the blank line after it.
func eventEnd(stream []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(stream[at:], '\n') + 1
		if n == 0 {
			return len(stream)
		}
		blank := at > 0 && len(bytes.TrimRight(stream[at:at+n], "\r\n")) == 0
		if at += n; blank {
			return at
		}
	}
}

// frameEnd is the length of the first frame of AWS, which it says itself in its first four bytes.
func frameEnd(stream []byte) int {
	const least = 16 // lengths and checksums
	if len(stream) < least {
		return len(stream)
	}
	if n := uint64(binary.BigEndian.Uint32(stream)); n >= least && n < uint64(len(stream)) {
		return int(n)
	}
	return len(stream)
}

// until returns r up to a phase, and nothing that repeats after it.
func (r Reply) until(p llmtest.Phase) Reply {
	r.Ping, r.Drip = Ping{}, Drip{}
	parts := len(r.Chunks)
	if parts == 0 {
		parts = len(r.Body)
	}
	n := map[llmtest.Phase]int{
		llmtest.PhaseFirst: min(1, parts), llmtest.PhaseStream: (parts + 1) / 2, llmtest.PhaseEnd: max(0, parts-1),
	}[p]
	if len(r.Chunks) == 0 {
		return r.cutBody(n)
	}
	r.Chunks = r.Chunks[:n]
	return r
}
