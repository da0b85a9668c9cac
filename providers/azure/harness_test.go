package azure_test

import (
	"fmt"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	keep      = adaptertest.Keep[*azure.Provider]

	events    = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.Events
	thenHang  = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.ThenHang
	thenAbort = adaptertest.StreamOf{"Content-Type", "text/event-stream"}.ThenAbort
)

type (
	seen      = adaptertest.Seen
	roundTrip = adaptertest.RoundTrip
)

// server is a provider by hand.
type server struct{ *adaptertest.Server }

func serve(tb testing.TB, handle http.HandlerFunc) *server {
	tb.Helper()
	return &server{adaptertest.Serve(tb, handle)}
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

// wantKind checks the kind of an error.
func wantKind(t *testing.T, err error, kind llm.Kind) {
	t.Helper()
	_ = failed(t, err, kind)
}
