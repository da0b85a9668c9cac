package cloudtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// Script is the one of [PlaysScript].
func Script() []llmtest.Step {
	return []llmtest.Step{llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited}), llmtest.Text("one").Times(2), llmtest.Text("two")}
}

// PlaysScript checks that s, which was started with [Script], plays it, and exact bytes before it. An answer of a text
// has it between quotes, behind member.
func PlaysScript(t *testing.T, s interface{ Raw(replies ...cloud.Reply) }, member string, ask func() Outcome) {
	t.Helper()
	s.Raw(cloud.Reply{Status: http.StatusTeapot, Body: []byte("tea")})
	var got []string
	for range 6 {
		answer := ask()
		if answer.Err != nil {
			t.Fatal(answer.Err)
		}
		word := http.StatusText(answer.Status)
		for _, text := range []string{"one", "two"} {
			if strings.Contains(answer.Body, member+`"`+text+`"`) {
				word = text
			}
		}
		got = append(got, word)
	}
	if want := "I'm a teapot, Too Many Requests, one, one, two, two"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

// CheckFault makes a call whose answer a fault bends, and checks what a client has of it: a status, the digest of a body,
// and the error of reading it. A client that is to have context.Canceled leaves when it has the rest.
func CheckFault(t *testing.T, s Server, call Call, digest func(*testing.T, string) string, want Outcome) {
	t.Helper()
	before := len(s.Requests())
	got := call.Leave(t, func(o Outcome) bool {
		return errors.Is(want.Err, context.Canceled) && len(s.Requests()) > before && o.Status == want.Status && digest(t, o.Body) == want.Body
	})
	if want.Err == nil && errors.Is(got.Err, io.EOF) {
		got.Err = nil
	}
	if got.Status != want.Status || !errors.Is(got.Err, want.Err) || digest(t, got.Body) != want.Body {
		t.Errorf("%+v %s", got, digest(t, got.Body))
	}
}
