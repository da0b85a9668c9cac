package cloud

import (
	"net/http"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// PlayStep turns a step into a reply: by answer if there is to be one, even if it comes to no end, by failure if an error
// stands in its place, and into silence else. A step that fails with a part of an answer fails at the end of that.
func PlayStep(s llmtest.Step, answer, failure func(llmtest.Step) Reply) Reply {
	if s.Phase == "" && s.Error != nil && s.Error.Partial != nil {
		s.Phase = llmtest.PhaseEnd
	}
	switch s.Phase {
	case llmtest.PhaseBody, llmtest.PhaseFirst, llmtest.PhaseStream, llmtest.PhaseEnd:
		return answer(s)
	case "":
		if s.Error == nil {
			return answer(s)
		}
	default: // headers and what comes before them
		if s.Error == nil {
			return Reply{Wait: Never}
		}
	}
	return failure(s)
}

// HangIn returns r, which is one body, hanging in a phase. A body has no phases of its own: what hangs within it does so
// before it, after its first byte, in its middle, or before the last bytes, which are end of them.
func (r Reply) HangIn(phase llmtest.Phase, end int) Reply {
	sent := map[llmtest.Phase]int{
		llmtest.PhaseFirst: 1, llmtest.PhaseStream: len(r.Body) / 2, llmtest.PhaseEnd: len(r.Body) - end,
	}
	return r.CutBody(sent[phase], EndHang)
}

// KindOf is the Kind of e, or what its status stands for.
func KindOf(e *llm.Error) llm.Kind {
	if e.Kind != "" || e.Status == 0 {
		return e.Kind
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.ErrAuth
	case http.StatusNotFound:
		return llm.ErrNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return llm.ErrTimeout
	case http.StatusTooManyRequests:
		return llm.ErrRateLimited
	case http.StatusServiceUnavailable:
		return llm.ErrUnavailable
	}
	if e.Status < http.StatusInternalServerError {
		return llm.ErrInvalid
	}
	return llm.ErrUnknown
}

// Timeline lays out chunks in time: the first at Next, the others a Gap apart.
type Timeline struct {
	Chunks    []Chunk
	Next, Gap time.Duration
}

// Add adds data that comes at a time of its own.
func (t *Timeline) Add(at time.Duration, data []byte) {
	t.Chunks = append(t.Chunks, Chunk{At: at, Data: data})
}

// Then adds what comes next, each of it a chunk and all at once.
func (t *Timeline) Then(together ...[]byte) {
	for _, data := range together {
		t.Add(t.Next, data)
	}
	t.Next += t.Gap
}
