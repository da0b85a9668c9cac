package azure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience bounds every call of these tests that should end by itself.
const patience = 10 * time.Second

// server is a provider by hand: it answers every request with handle and keeps what was sent.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

type seen struct {
	path   string
	header http.Header
	body   map[string]any
	raw    string
}

func serve(tb testing.TB, handle http.HandlerFunc) *server {
	tb.Helper()
	s := new(server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		s.mu.Lock()
		s.seen = append(s.seen, seen{r.URL.RequestURI(), r.Header, body, string(raw)})
		s.mu.Unlock()
		handle(w, r)
	}))
	tb.Cleanup(s.Close)
	return s
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// last is the latest request.
func (s *server) last(t *testing.T) seen {
	t.Helper()
	all := s.requests()
	if len(all) == 0 {
		t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// reply answers with one body.
func reply(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// events answers with an event stream, each piece in a write of its own, and ends it properly.
func events(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeEvents(w, pieces...) }
}

func writeEvents(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for _, p := range pieces {
		_, _ = io.WriteString(w, p)
		_ = http.NewResponseController(w).Flush()
	}
}

// thenHang is events on a connection that stays open until the client goes.
func thenHang(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeEvents(w, pieces...)
		<-r.Context().Done()
	}
}

// thenAbort is events on a connection that is closed in the middle of the body.
func thenAbort(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeEvents(w, pieces...)
		panic(http.ErrAbortHandler)
	}
}

const done = "data: [DONE]\n\n"

// data is one event with a choice that has the given delta and finish ("null" or a quoted word).
func data(delta, finish string) string {
	return `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func text(s string) string { return data(fmt.Sprintf(`{"content":%q}`, s), "null") }

func stop() string { return data(`{}`, `"stop"`) }

const counted = `data: {"id":"c1","model":"m-1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}` + "\n\n"

// message is a whole answer with the given message.
func message(m, finish string) string {
	return `{"id":"c1","model":"m-1","choices":[{"index":0,"message":` + m + `,"finish_reason":` + finish +
		`}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`
}

var ok = message(`{"role":"assistant","content":"hi"}`, `"stop"`)

// provider opens an OpenAI-compatible provider on s.
func (s *server) provider(tb testing.TB, change ...func(*azure.CompatibleOptions)) *azure.Provider {
	tb.Helper()
	o := &azure.CompatibleOptions{BaseURL: s.URL + "/v1", Model: "m", Key: "sk-test"}
	for _, c := range change {
		c(o)
	}
	return keep(tb)(azure.Compatible(o))
}

// keep fails the test if there is an error, and closes the provider's connections at its end.
func keep(tb testing.TB) func(*azure.Provider, error) *azure.Provider {
	tb.Helper()
	return func(p *azure.Provider, err error) *azure.Provider {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = p.Close() })
		return p
	}
}

func hello() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("hello")}} }

// unary makes one call without a sink.
func unary(tb testing.TB, g llm.Generator, req *llm.Request) (*llm.Response, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	return g.Generate(ctx, req, nil)
}

// stream makes one call with a sink that accepts everything.
func stream(tb testing.TB, g llm.Generator, req *llm.Request) ([]llm.Event, *llm.Response, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var got []llm.Event
	resp, err := g.Generate(ctx, req, func(e llm.Event) error { got = append(got, e); return nil })
	return got, resp, err
}

// streamed makes one call that must be answered.
func streamed(t *testing.T, handle http.HandlerFunc) ([]llm.Event, *llm.Response) {
	t.Helper()
	got, resp, err := stream(t, serve(t, handle).provider(t), hello())
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return got, resp
}

// answered makes one call without a sink that must be answered.
func answered(t *testing.T, body string) *llm.Response {
	t.Helper()
	resp, err := unary(t, serve(t, reply(200, body)).provider(t), hello())
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return resp
}

// failed checks the kind of an error and returns it.
func failed(t *testing.T, err error, kind llm.Kind) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("want %s, got %T: %+v", kind, err, err)
	}
	return e
}

// wantKind checks the kind of an error.
func wantKind(t *testing.T, err error, kind llm.Kind) {
	t.Helper()
	_ = failed(t, err, kind)
}

// badField checks that err is about one field, and quotes nothing of what must not be seen.
func badField(t *testing.T, err error, kind llm.Kind, field string, secrets ...string) {
	t.Helper()
	e := failed(t, err, kind)
	f, ok := errors.AsType[*llm.FieldError](err)
	if !ok || f.Field != field || f.Problem == "" || f.Next == "" || !e.NotSent {
		t.Fatalf("want field %s with a next step, got %+v", field, err)
	}
	for _, s := range secrets {
		if strings.Contains(fmt.Sprintf("%+v", err), s) {
			t.Errorf("the error gives away %q: %+v", s, err)
		}
	}
}
