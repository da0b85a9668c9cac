package bedrock_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/providers/bedrock"
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
	goleak.VerifyTestMain(m)
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
	keep      = adaptertest.Keep[*bedrock.Provider]
	silent    = adaptertest.Silent

	events    = adaptertest.StreamOf{"Content-Type", "application/vnd.amazon.eventstream", "X-Amzn-Requestid", "r-1"}.Events
	thenHang  = adaptertest.StreamOf{"Content-Type", "application/vnd.amazon.eventstream", "X-Amzn-Requestid", "r-1"}.ThenHang
	thenAbort = adaptertest.StreamOf{"Content-Type", "application/vnd.amazon.eventstream", "X-Amzn-Requestid", "r-1"}.ThenAbort
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

const claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

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
