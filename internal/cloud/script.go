package cloud

import (
	"sync"

	"github.com/punctual-llm/punctual/llmtest"
)

// Turn is the answer to one request of a script: a step, which the cloud plays as its vendor would, or a Reply
// of exact bytes.
type Turn struct {
	Step llmtest.Step
	// Reply, if set, is sent instead of Step, whatever the request says: it is not checked.
	Reply *Reply
	// Fault bends the answer; see [ParseFault].
	Fault string
	// Count is how many requests get this turn; 0 is the step's own Count, or 1.
	Count int
}

// Steps makes turns of steps.
func Steps(steps ...llmtest.Step) []Turn {
	turns := make([]Turn, len(steps))
	for i, s := range steps {
		turns[i] = Turn{Step: s}
	}
	return turns
}

// Replies makes turns of replies.
func Replies(replies ...Reply) []Turn {
	turns := make([]Turn, len(replies))
	for i := range replies {
		turns[i] = Turn{Reply: &replies[i]}
	}
	return turns
}

// Script hands out turns: the n-th request gets the n-th, and the last one repeats. An empty script hands out
// zero Turns, which answer "ok". It is safe for concurrent use.
type Script struct {
	mu     sync.Mutex
	turns  []Turn
	next   []Turn // before the script goes on
	played int    // requests that turns[0] has answered
}

// NewScript returns a script of turns.
func NewScript(turns ...Turn) *Script { return &Script{turns: append([]Turn(nil), turns...)} }

// Push adds turns that come next, after those pushed before, and only once.
func (s *Script) Push(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range turns {
		for range t.count() {
			s.next = append(s.next, t)
		}
	}
}

// Next returns the turn of the next request.
func (s *Script) Next() Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) > 0 {
		t := s.next[0]
		s.next = s.next[1:]
		return t
	}
	if len(s.turns) == 0 {
		return Turn{}
	}
	t := s.turns[0]
	if s.played++; s.played >= t.count() && len(s.turns) > 1 {
		s.turns, s.played = s.turns[1:], 0
	}
	return t
}

func (t *Turn) count() int {
	if t.Count > 0 {
		return t.Count
	}
	return max(1, t.Step.Count)
}
