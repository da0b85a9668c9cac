package vertex_test

import (
	"bytes"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func TestMain(m *testing.M) {
	var printed bytes.Buffer // by the SDK, which has nothing to print
	log.SetOutput(&printed)
	for _, name := range []string{"GOOGLE_VERTEX_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		_ = os.Unsetenv(name)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if code == 0 && printed.Len() > 0 {
			fmt.Fprintf(os.Stderr, "printed to the log of the program:\n%s", printed.String())
			code = 1
		}
		os.Exit(code)
	}))
}

// What the tests of all adapters have in common, under the names that these tests have for it.
const (
	mib         = adaptertest.MiB
	patience    = adaptertest.Patience
	raceEnabled = adaptertest.RaceEnabled
)

var (
	reply     = adaptertest.Reply
	hello     = adaptertest.Hello
	unary     = adaptertest.Unary
	stream    = adaptertest.Stream
	failed    = adaptertest.Failed
	badField  = adaptertest.BadField
	allocated = adaptertest.Allocated
	keep      = adaptertest.Keep[*vertex.Provider]
	silent    = adaptertest.Silent

	events    = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.Events
	thenHang  = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.ThenHang
	thenAbort = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.ThenAbort
)

type seen = adaptertest.Seen

// server is a provider by hand.
type server struct{ *adaptertest.Server }

func serve(tb testing.TB, handle http.HandlerFunc) *server {
	tb.Helper()
	return &server{adaptertest.Serve(tb, handle)}
}

// chunk is one event, or a whole answer, with the given parts and finish ("" none).
func chunk(parts, finish string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + finished(finish) +
		`,"index":0}],"modelVersion":"m-1","responseId":"r1"}`
}

func finished(finish string) string {
	if finish == "" {
		return ""
	}
	return fmt.Sprintf(`,"finishReason":%q`, finish)
}

// counted adds a count of tokens: 5 in, 3 out.
func counted(chunk string) string {
	return strings.TrimSuffix(chunk, "}") + `,"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"totalTokenCount":8}}`
}

func data(chunk string) string { return "data: " + chunk + "\r\n\r\n" }

func text(s string) string { return fmt.Sprintf(`{"text":%q}`, s) }

// said is an event with text, stop the last event of a stream.
func said(s string) string { return data(chunk(text(s), "")) }

func stop() string { return data(counted(chunk(text(""), "STOP"))) }

var ok = counted(chunk(text("hi"), "STOP"))

// provider opens a provider of Vertex AI on s.
func (s *server) provider(tb testing.TB, change ...func(*vertex.Options)) *vertex.Provider {
	tb.Helper()
	o := &vertex.Options{Endpoint: s.URL, Project: "p1", Location: "us-central1", Model: "gemini-2.5-flash", APIKey: "key-test"}
	for _, c := range change {
		c(o)
	}
	return keep(tb)(vertex.New(o))
}

func model(name string) func(*vertex.Options) { return func(o *vertex.Options) { o.Model = name } }

// streamed makes one call that must be answered.
func streamed(t *testing.T, handle http.HandlerFunc) ([]llm.Event, *llm.Response) {
	t.Helper()
	return adaptertest.Streamed(t, serve(t, handle).provider(t))
}

// answered makes one call without a sink that must be answered.
func answered(t *testing.T, body string) *llm.Response {
	t.Helper()
	return adaptertest.Answered(t, serve(t, reply(200, body)).provider(t))
}
