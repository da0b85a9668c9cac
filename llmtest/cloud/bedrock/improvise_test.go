package bedrock

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/cloudtest"
)

// The pieces of the requests below.
const (
	asks      = `{"role":"user","content":[{"text":"How is the weather?"}]}`
	uses      = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"weather","input":{}}}]}`
	results18 = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"18 degrees"}]}}]}`
	says      = `{"role":"assistant","content":[{"text":"18 degrees."}]}`
	weather   = `{"toolSpec":{"name":"weather","inputSchema":{"json":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":2}},"required":["city"]}}}}`
	now       = `{"toolSpec":{"name":"now","inputSchema":{"json":{"type":"object"}}}}`
	city      = `weather {"city":"text","days":2}`
	told      = "I have the result of weather. This answer is simulated."
	degrees   = `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"x","schema":"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"degrees\"],\"properties\":{\"degrees\":{\"enum\":[18,24]}}}"}}}}`
)

// TestImprovise: what an account that improvises answers, whole and as a stream.
func TestImprovise(t *testing.T) {
	tools := func(list, choice string) string {
		if choice != "" {
			choice = `,"toolChoice":` + choice
		}
		return `,"toolConfig":{"tools":[` + list + `]` + choice + `}`
	}
	tests := []struct {
		name, messages, fields string
		want                   string // "NAME INPUT" of the use, or the text
	}{
		{"a plain question", asks, ``, greeting},
		{"a tool", asks, tools(weather, ""), city},
		{"two tools: the first", asks, tools(weather+","+now, ""), city},
		{"a tool without properties", asks, tools(now+","+weather, `{"auto":{}}`), `now {}`},
		{"any", asks, tools(weather, `{"any":{}}`), city},
		{"a named one", asks, tools(weather+","+now, `{"tool":{"name":"now"}}`), `now {}`},
		{"a result", asks + "," + uses + "," + results18, tools(weather, ""), told},
		{"a result, and any", asks + "," + uses + "," + results18, tools(weather, `{"any":{}}`), city},
		{"a question after a result", asks + "," + uses + "," + results18 + "," + says + "," + asks, tools(weather, ""), greeting},
		{"a schema", asks, "," + degrees, `{"degrees":18}`},
		{"a schema and a tool", asks, tools(now, "") + "," + degrees, `now {}`},
		{"a schema and a result", asks + "," + uses + "," + results18, tools(weather, "") + "," + degrees, `{"degrees":18}`},
	}
	s := start(t, &Options{Improvise: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := request{body: `{"messages":[` + tt.messages + `]` + tt.fields + `}`}.to(t, s).Outcome(t)
			var answer struct {
				Output struct {
					Message struct {
						Content []struct {
							Text    string
							ToolUse *struct {
								Name  string
								Input json.RawMessage
							}
						}
					}
				}
			}
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || len(answer.Output.Message.Content) != 1 {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
			block := answer.Output.Message.Content[0]
			said := block.Text
			if block.ToolUse != nil {
				said = block.ToolUse.Name + " " + string(block.ToolUse.Input)
			}
			if said != tt.want {
				t.Errorf("it says %s, want %s", said, tt.want)
			}
			stream := request{path: streamPath, body: `{"messages":[` + tt.messages + `]` + tt.fields + `}`}.to(t, s).Outcome(t)
			frames, rest := decodeFrames(t, stream.Body)
			if stream.Status != 200 || len(frames) < 5 || rest != "" {
				t.Errorf("as a stream: %d, %d frames", stream.Status, len(frames))
			}
		})
	}
}

// TestImproviseLeniently: what nobody has checked breaks nothing.
func TestImproviseLeniently(t *testing.T) {
	s := start(t, &Options{Improvise: true, Lenient: true})
	for _, fields := range []string{
		``, `"toolConfig":{}`, `"toolConfig":{"tools":[{}]}`, `"toolConfig":{"tools":[{"toolSpec":{}}],"toolChoice":{"tool":{}}}`,
		`"toolConfig":{"tools":[{"toolSpec":{"name":"x"}}]}`, `"outputConfig":{"textFormat":{"structure":{}}}`,
		`"messages":[{"content":[{"toolUse":{}},{"toolResult":{}}]}]`,
	} {
		if got := (request{body: `{` + fields + `}`}).to(t, s).Outcome(t); got.Status != 200 || got.Err != nil {
			t.Errorf("%s: %d %s %v", fields, got.Status, got.Body, got.Err)
		}
	}
}

// TestFaultsOfExactFrames: a fault bends a recorded stream by its frames, or is refused.
func TestFaultsOfExactFrames(t *testing.T) {
	frames := []string{
		string(Event("messageStart", []byte(`{"role":"assistant"}`))),
		string(Event("contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"\n\n42"}}`))),
		string(Event("messageStop", []byte(`{"stopReason":"end_turn"}`))),
	}
	whole := strings.Join(frames, "")
	reply := &Reply{Header: http.Header{"Content-Type": {streamType}}, Body: []byte(whole)}
	broken := &Reply{Header: http.Header{"Content-Type": {streamType}}, Body: []byte("no frame, and not the length of one either")}
	for _, tt := range []struct {
		fault  string
		reply  *Reply
		status int
		body   string // that has come
		hangs  bool
	}{
		{"", reply, 200, whole, false},
		{"gap=5ms", reply, 200, whole, false},
		{"hang=first", reply, 200, frames[0], true},
		{"hang=end", reply, 200, frames[0] + frames[1], true},
		{"cut=end", reply, 200, frames[0] + frames[1], false},
		{"ping=5ms/8ms", reply, 200, ping() + ping() + whole, false},
		{"gap=5ms", broken, 200, string(broken.Body), false},
		{"hang", reply, 0, "", true},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			s := start(t, &Options{Script: []Turn{{Reply: tt.reply}}})
			r := ordered(tt.fault)
			var got cloudtest.Outcome
			if tt.hangs {
				got = r.to(t, s).Leave(t, func(o cloudtest.Outcome) bool {
					return o.Status == tt.status && o.Body == tt.body && len(s.Requests()) == 1
				})
			} else {
				got = r.to(t, s).Outcome(t)
			}
			if got.Status != tt.status || got.Body != tt.body {
				t.Errorf("%d %q, want %d %q", got.Status, got.Body, tt.status, tt.body)
			}
		})
	}
	s := start(t, &Options{Script: []Turn{{Reply: reply}}})
	for fault, want := range map[string]string{"status=429": "ThrottlingException", "status=429,at=stream": "BadFault"} {
		resp, body, err := ordered(fault).to(t, s).Answer(t)
		if err != nil || exceptionOf(resp) != want {
			t.Errorf("%s: %v %s %s", fault, err, exceptionOf(resp), body)
		}
	}
}

// TestAuthoritySigned: over HTTP/2 clients sign ":authority" in place of the host.
func TestAuthoritySigned(t *testing.T) {
	s := start(t, &Options{AccessKey: "AKID", SecretKey: "secret"})
	for _, secret := range []string{"secret", "another"} {
		r := request{http2: true, header: map[string]string{}}
		req := r.to(t, s).Request
		date := time.Now().UTC().Format(timeFormat)
		sig := signed{
			accessKey: "AKID", date: date[:8], region: "us-east-1", service: "bedrock", terminal: "aws4_request",
			headers: []string{":authority", "content-type", "x-amz-date"},
		}
		req.Header.Set("X-Amz-Date", date)
		signature := sig.sign(req, secret, date, hexHash([]byte(hello)))
		r.header["X-Amz-Date"] = date
		r.header["Authorization"] = algorithm + " Credential=AKID/" + date[:8] + "/us-east-1/bedrock/aws4_request, " +
			"SignedHeaders=" + strings.Join(sig.headers, ";") + ", Signature=" + signature
		want := map[string]int{"secret": 200, "another": 403}[secret]
		if got := r.to(t, s).Outcome(t); got.Status != want {
			t.Errorf("signed with %q: %d %s, want %d", secret, got.Status, got.Body, want)
		}
	}
}
