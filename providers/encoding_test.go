package providers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// looked is a context that is over from its nth look on, without a Done that would say so. It stands for a clock: what
// matters is how much is done between two looks, on a machine of any speed.
type looked struct {
	context.Context
	looks atomic.Int64
	from  int64
}

func (l *looked) Err() error {
	if l.looks.Add(1) >= l.from {
		return context.Canceled
	}
	return nil
}

// arrived is a server that keeps the last body and refuses every request.
type arrived struct {
	n    atomic.Int64
	body atomic.Pointer[[]byte]
}

func (a *arrived) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.n.Add(1)
	a.body.Store(&body)
	w.WriteHeader(http.StatusBadRequest)
}

// A long request is given up at the next look at the context, whatever is encoded at that moment, and before anything is
// sent. One that is sent has all of it.
func TestALongRequestIsGivenUpWhereverTheContextEnds(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	text, picture := strings.Repeat("\x01", size), bytes.Repeat([]byte{1, 2, 3}, size/3)
	req := &llm.Request{System: text, Messages: []llm.Message{
		{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: text}, llm.Media{MediaType: "image/png", Data: picture}}},
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "t1", Name: "f", Arguments: "{}"}}},
		llm.ToolResults(llm.ToolResult{CallID: "t1", Parts: llm.Parts{llm.Text{Text: text}}}),
	}}
	for name, open := range connecting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := new(arrived)
			s := httptest.NewUnstartedServer(a)
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			t.Cleanup(s.Close)
			p, err := open(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			given := int64(0)
			for ; a.n.Load() == 0 && given < 1<<20; given += 1 + given {
				ctx := &looked{Context: t.Context(), from: given + 1}
				_, err := p.Generate(ctx, req, nil)
				if e, ok := errors.AsType[*llm.Error](err); a.n.Load() == 0 && (!ok || e.Kind != llm.ErrCanceled || ctx.looks.Load() > given+5) {
					t.Fatalf("over at look %d of %d: %v", given+1, ctx.looks.Load(), err)
				}
			}
			least, escaped, pictures := int64(6), `\u0001`, base64.StdEncoding.EncodeToString(picture)
			if name == "vertexai" { // it is sent as it is, in no time
				least, escaped, pictures = 2, "\x01", string(picture)
			}
			body := a.body.Load()
			if given < least || body == nil {
				t.Fatalf("%d looks, and a body: %v", given, body != nil)
			}
			if n := bytes.Count(*body, []byte(escaped)); n < 3*size || !bytes.Contains(*body, []byte(pictures)) {
				t.Errorf("%d of %d letters in %d bytes", n, 3*size, len(*body))
			}
		})
	}
}
