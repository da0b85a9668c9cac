package adaptertest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// RefusesTooLarge checks that g, the provider of that name on s, refuses what is too large before it encodes it. The test
// must not be parallel: it measures memory.
func RefusesTooLarge(t *testing.T, s *Server, g llm.Generator, name string) {
	t.Helper()
	long := strings.Repeat("x", 64*MiB+1)
	for field, req := range map[string]*llm.Request{
		"system":               {System: long, Messages: Hello().Messages},
		"messages[0].parts[0]": {Messages: []llm.Message{llm.User(long)}},
		"extra." + name:        {Messages: Hello().Messages, Extra: map[string]json.RawMessage{name: json.RawMessage(long)}},
	} {
		if n := Allocated(func() {
			_, err := Unary(t, g, req)
			BadField(t, err, llm.ErrUnsupported, field, "xxxx")
		}); n > 1 && !RaceEnabled {
			t.Errorf("%s: %d MiB were allocated", field, n)
		}
	}
	if len(s.Requests()) > 0 {
		t.Error("something was sent")
	}
}

// EndsWhileEncoding checks that g sends nothing to s when the context ends while it encodes a request.
func EndsWhileEncoding(t *testing.T, s *Server, g llm.Generator) {
	t.Helper()
	for from := int32(1); from <= 2; from++ {
		ctx := &Expiring{Context: t.Context(), From: from}
		_, err := g.Generate(ctx, Hello(), nil)
		if e := Failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 || ctx.Looks.Load() > from+3 {
			t.Errorf("%d: %d requests, %d looks: %+v", from, len(s.Requests()), ctx.Looks.Load(), e)
		}
	}
}
