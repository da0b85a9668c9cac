package vertex_test

import (
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func TestANameThatLeadsElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "..", "a/..", "../a", "a/../b", "a/./b", "./a", "a/."} {
		_, err := vertex.New(&vertex.Options{Project: "p", Model: name, APIKey: "key"})
		badField(t, err, llm.ErrInvalid, "model")
	}
	for _, name := range []string{".", ".."} {
		_, err := vertex.New(&vertex.Options{Project: name, Model: "m", APIKey: "key"})
		badField(t, err, llm.ErrInvalid, "project")
	}
	for _, name := range []string{"gemini-2.5-flash", "meta/llama-3.1", ".a", "a."} {
		keep(t)(vertex.New(&vertex.Options{Project: "x.com:p", Model: name, APIKey: "key"}))
	}
}
