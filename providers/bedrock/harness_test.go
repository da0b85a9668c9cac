package bedrock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, name := range []string{
		"AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	} {
		_ = os.Unsetenv(name)
	}
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		_ = os.Setenv(name, value)
	}
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

const claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

// server is the service by hand: it answers every request with handle and keeps what was sent.
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

// events answers with an event stream, each frame in a write of its own, and ends it properly.
func events(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeEvents(w, frames...) }
}

func writeEvents(w http.ResponseWriter, frames ...string) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	w.Header().Set("X-Amzn-Requestid", "r-1")
	w.WriteHeader(http.StatusOK)
	for _, f := range frames {
		_, _ = io.WriteString(w, f)
		_ = http.NewResponseController(w).Flush()
	}
}

// thenHang is events on a connection that stays open until the client goes.
func thenHang(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeEvents(w, frames...)
		<-r.Context().Done()
	}
}

// thenAbort is events on a connection that is closed in the middle of the body.
func thenAbort(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeEvents(w, frames...)
		panic(http.ErrAbortHandler)
	}
}

// frame is one message of an event stream: pairs of header names and values, then the payload.
func frame(payload string, headers ...string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i+1 < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var buf bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&buf, m); err != nil {
		panic(err)
	}
	return buf.String()
}

func event(name, payload string) string {
	return frame(payload, ":message-type", "event", ":event-type", name, ":content-type", "application/json")
}

func exception(name, payload string) string {
	return frame(payload, ":message-type", "exception", ":exception-type", name, ":content-type", "application/json")
}

// delta is one contentBlockDelta.
func delta(index int, d string) string {
	return event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":%s,"p":"abcdef"}`, index, d))
}

func text(index int, s string) string { return delta(index, fmt.Sprintf(`{"text":%q}`, s)) }

func callStart(index int, id, name string) string {
	return event("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%q,"name":%q}}}`, index, id, name))
}

func callInput(index int, s string) string {
	return delta(index, fmt.Sprintf(`{"toolUse":{"input":%q}}`, s))
}

func stop(reason string) string {
	return event("messageStop", fmt.Sprintf(`{"stopReason":%q}`, reason))
}

const started, usage = `{"role":"assistant"}`, `{"inputTokens":5,"outputTokens":3,"totalTokens":8}`

func begin() string { return event("messageStart", started) }

func metadata() string { return event("metadata", `{"usage":`+usage+`,"metrics":{"latencyMs":7}}`) }

// answer is a whole answer with the given blocks.
func answer(blocks, reason string, more ...string) string {
	return fmt.Sprintf(`{"output":{"message":{"role":"assistant","content":[%s]}},"stopReason":%q,"usage":%s%s}`,
		blocks, reason, usage, strings.Join(more, ""))
}

var ok = answer(`{"text":"hi"}`, "end_turn")
