package providers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/llm"
)

// spoken are the pieces of a stream on one wire. An error is that of a service that has no capacity.
type spoken struct {
	contentType        string
	text               func(s string) string
	mark, fail, broken string
	grpc               bool // fail is the status at the end, and broken is none
}

func wires(t *testing.T) map[string]spoken {
	t.Helper()
	chat := spoken{
		contentType: "text/event-stream",
		text: func(s string) string {
			return `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}` + "\n\n"
		},
		mark:   `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		fail:   `data: {"error":{"code":"503","message":"overloaded","type":"server_error"}}` + "\n\n",
		broken: "data: }\n\n",
	}
	gemini := func(parts, finish string) string {
		return `{"modelVersion":"m","candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + finish + `}]}`
	}
	said := func(s string) string { return gemini(`{"text":"`+s+`"}`, "") }
	const finish = `,"finishReason":"STOP"`
	framed := func(kind, name, payload string) string {
		var b bytes.Buffer
		m := eventstream.Message{Payload: []byte(payload)}
		m.Headers.Set(":message-type", eventstream.StringValue(kind))
		m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
		if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	message := func(text string) string {
		m := new(aiplatformpb.GenerateContentResponse)
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))), raw...))
	}
	return map[string]spoken{
		"azure": chat, "compatible": chat,
		"bedrock": {
			contentType: "application/vnd.amazon.eventstream",
			text: func(s string) string {
				return framed("event", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+s+`"}}`)
			},
			mark: framed("event", "messageStop", `{"stopReason":"end_turn"}`),
			fail: framed("exception", "serviceUnavailableException", `{"message":"overloaded"}`), broken: strings.Repeat("x", 64),
		},
		"vertex": {
			contentType: "text/event-stream",
			text:        func(s string) string { return "data: " + said(s) + "\n\n" },
			mark:        "data: " + gemini("", finish) + "\n\n",
			fail:        `data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}` + "\n\n", broken: "data: }\n\n",
		},
		"vertexai": {
			contentType: "application/grpc", text: func(s string) string { return message(said(s)) },
			mark: message(gemini("", finish)), fail: "14", grpc: true,
		},
	}
}

// An answer is complete at the end mark of its provider. What goes wrong behind it takes nothing from it, unless more
// content came: then the mark was not the end. Servers that write one into every event have been recorded; there the
// service's own word for a failure counts behind any of them.
func TestAnAnswerIsCompleteAtItsEndMark(t *testing.T) {
	t.Parallel()
	const cut = "\x00cut"
	for name, w := range wires(t) {
		for what, c := range map[string]struct {
			pieces []string
			kind   llm.Kind
			text   string
		}{
			"an error":             {[]string{w.text("a"), w.fail}, llm.ErrUnavailable, "a"},
			"mark, error":          {[]string{w.text("a"), w.mark, w.fail}, "", "a"},
			"mark, noise":          {[]string{w.text("a"), w.mark, w.broken}, "", "a"},
			"mark, cut":            {[]string{w.text("a"), w.mark, cut}, "", "a"},
			"mark, content, error": {[]string{w.text("a"), w.mark, w.text("b"), w.fail}, llm.ErrUnavailable, "ab"},
			"mark, content, cut":   {[]string{w.text("a"), w.mark, w.text("b"), cut}, llm.ErrInterrupted, "ab"},
			"vague marks, error":   {[]string{w.text("a"), w.mark, w.text("b"), w.mark, w.fail}, llm.ErrUnavailable, "ab"},
			"vague marks, cut":     {[]string{w.text("a"), w.mark, w.text("b"), w.mark, cut}, "", "ab"},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					rw.Header().Set("Content-Type", w.contentType)
					for _, p := range c.pieces {
						switch {
						case p == cut:
							_ = http.NewResponseController(rw).Flush()
							panic(http.ErrAbortHandler)
						case w.grpc && p == w.fail:
							rw.Header().Set(http.TrailerPrefix+"Grpc-Status", p)
						default:
							_, _ = io.WriteString(rw, p)
							_ = http.NewResponseController(rw).Flush()
						}
					}
					if w.grpc && rw.Header().Get(http.TrailerPrefix+"Grpc-Status") == "" {
						rw.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
					}
				}))
				s.Config.Protocols = new(http.Protocols)
				s.Config.Protocols.SetHTTP1(true)
				s.Config.Protocols.SetUnencryptedHTTP2(true)
				s.Start()
				t.Cleanup(s.Close)
				p, err := connecting[name](s.URL)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.Close() })
				resp, err := p.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}}, func(llm.Event) error { return nil })
				if llm.KindOf(err) != c.kind || resp.Text() != c.text {
					t.Errorf("%v, %+v", err, resp)
				}
				if e, ok := errors.AsType[*llm.Error](err); ok && e.Partial != resp {
					t.Error("the partial answer is another one")
				}
			})
		}
	}
}
