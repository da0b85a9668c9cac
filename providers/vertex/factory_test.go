package vertex_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// section decodes a configuration strictly.
func section(text string) func(any) error {
	return func(into any) error {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
}

func TestFactory(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	e, err := vertex.Factory()(t.Context(), section(`{"endpoint":"`+s.URL+`","project":"p","location":"us","model":"m","api_key":"k",
		"engine":"genai","parameters":{"generationConfig":{"topK":3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unary(t, e.Generator, hello()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Last(t).Raw, `"topK":3`) || e.Model != (llm.ModelRef{Provider: "vertex", Model: "m"}) || !e.Prompt || !e.Can.Streams {
		t.Errorf("%+v", e)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	_, err = vertex.Factory()(t.Context(), section(`{"projcet":"p"}`))
	if err == nil {
		t.Error("an unknown key was taken")
	}
}

func TestAnEngineThatIsNotThere(t *testing.T) {
	t.Parallel()
	other := vertex.Engine{Name: "other"}
	for name, want := range map[string]string{
		"vertexai": "pass vertexai.Engine of github.com/punctual-llm/punctual/providers/vertex/vertexai to Factory",
		"gpt":      "use genai or other",
	} {
		_, err := vertex.Factory(other)(t.Context(), section(`{"project":"p","model":"m","engine":"`+name+`"}`))
		badField(t, err, llm.ErrInvalid, "engine")
		if f, _ := errors.AsType[*llm.FieldError](err); f.Next != want {
			t.Errorf("%s: %s", name, f.Next)
		}
	}
}

// echo is an engine that answers with the body it was given.
type echo struct {
	settings *gemini.Settings
	call     *gemini.Call
	pieces   []gemini.Response
	err      error
	lingered time.Duration
	closed   int
}

func (e *echo) Do(_ context.Context, c *gemini.Call) gemini.Reply { e.call = c; return e }
func (e *echo) Linger(d time.Duration)                            { e.lingered = d }
func (e *echo) Describe(*llm.Error)                               {}
func (e *echo) Close()                                            { e.closed++ }

func (e *echo) Next() (*gemini.Response, error) {
	if len(e.pieces) == 0 {
		return nil, e.err
	}
	one := e.pieces[0]
	e.pieces = e.pieces[1:]
	return &one, nil
}

type echoConn struct{ *echo }

func (c echoConn) Close() error { return nil }

func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	answer, err := gemini.Decode([]byte(ok))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pieces []gemini.Response
		err    error
		kind   llm.Kind
	}{
		"answer":          {answer, io.EOF, ""},
		"broken behind":   {answer, &gemini.Failure{Err: &llm.Error{Kind: llm.ErrUnavailable}}, ""},
		"reported behind": {answer, &gemini.Failure{Err: &llm.Error{Kind: llm.ErrUnavailable}, Reported: true}, ""},
		"broken":          {nil, &gemini.Failure{Err: &llm.Error{Kind: llm.ErrConnection, NotSent: true}}, llm.ErrConnection},
		"no end":          {nil, io.EOF, llm.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &echo{pieces: test.pieces, err: test.err}
			engine := vertex.Engine{Name: "echo", Open: func(s *gemini.Settings) (gemini.Conn, error) {
				e.settings = s
				return echoConn{e}, nil
			}}
			endpoint, err := vertex.Factory(engine)(t.Context(), section(`{"project":"p","location":"us","model":"m","api_key":"k","engine":"echo"}`))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = stream(t, endpoint.Generator, hello())
			if llm.KindOf(err) != test.kind || e.closed != 1 || !e.call.Stream || e.settings.Project != "p" || e.settings.Custom ||
				e.settings.Base != "https://aiplatform.us.rep.googleapis.com" {
				t.Errorf("%+v, %+v, closed %d", err, e.settings, e.closed)
			}
			if (e.lingered > 0) != (test.pieces != nil) {
				t.Errorf("lingered %v", e.lingered)
			}
		})
	}
}
