package cloud

import (
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llmtest"
)

func TestScriptOrder(t *testing.T) {
	s := NewScript(append(Steps(llmtest.Text("a").Times(2)), Turn{Fault: "cut", Count: 2}, Turn{Fault: "gzip"})...)
	word := func() string {
		turn := s.Next()
		switch {
		case turn.Reply != nil:
			return string(turn.Reply.Body)
		case turn.Fault != "":
			return turn.Fault
		default:
			return turn.Step.Response.Text()
		}
	}
	got := []string{word()}
	s.Push(Replies(Reply{Body: []byte("raw1")}, Reply{Body: []byte("raw2")})...)
	for range 7 {
		got = append(got, word())
	}
	if want := "a raw1 raw2 a cut cut gzip gzip"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
	if turn := new(Script).Next(); turn.Reply != nil || turn.Step.Response != nil {
		t.Errorf("an empty script gives %+v", turn)
	}
}

func TestWordsAndPieces(t *testing.T) {
	if got := slices.Collect(Words("  a bb\n ccc ")); strings.Join(got, "|") != "  a |bb\n |ccc " {
		t.Errorf("words: %q", got)
	}
	if got := slices.Collect(Pieces("äöü12", 3)); strings.Join(got, "|") != "äö|ü1|2" {
		t.Errorf("pieces: %q", got)
	}
}
