package providers_test

import (
	"context"
	"encoding/base64"
	"regexp"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	azurecloud "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	vertexcloud "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// The clouds of TestCrossCloud: a new one is a row of crossings.

// crossing is a cloud that a conversation may begin on, move to and come back to.
type crossing struct {
	name  string
	maker string // who reads the proofs that are made here
	open  func(t *testing.T, script ...cloud.Turn) (llm.Generator, recorder)
	parts func(label string) llm.Parts               // what it answers, with two calls
	read  func(t *testing.T, body []byte) []readTurn // what it was sent
	// id checks the id that a call has on this wire; from is the maker of the message that it is in.
	id func(from *crossing, own, wire string) bool
	// gathers: the results of a turn are one message, in the order of its calls. Else each is one, as it was given.
	gathers bool
	standIn string // signature of the first call of another maker's turn
}

// recorder is a simulated cloud, after the fact.
type recorder interface {
	Requests() []cloud.Request
	Wait(ctx context.Context, n int) error
}

// The ids are ones that the services, or those who stand in for them, have been seen to give. Some wires do not
// take them: a chat completion has no more than 40 characters, Converse no dots and colons.
var crossings = []*crossing{
	{
		name: "azure", maker: "openai", open: crossAzure, read: readChat,
		parts: func(label string) llm.Parts {
			return llm.Parts{
				llm.Reasoning{Text: "thought of " + label},
				llm.Text{Text: "I look, says " + label + "."},
				weatherCall("functions.weather:0"+label, ""), clockCall("call_kZJMlvQmRJ6eAyJE5GIl7Q" + label),
			}
		},
		id: func(_ *crossing, own, wire string) bool {
			return wire != "" && len(wire) <= 40 && (wire == own || len(own) > 40)
		},
	},
	{
		name: "bedrock", maker: "claude", open: crossBedrock, read: readConverse, gathers: true,
		parts: func(label string) llm.Parts {
			return llm.Parts{
				llm.Reasoning{Text: "thought of " + label, Signature: []byte("EqoBCkgIBxABGAIiQJ+" + label + "/x==")},
				llm.Opaque{Type: bedrock.BlockType, Data: []byte(`{"reasoningContent":{"redactedContent":"` + redacted(label) + `"}}`)},
				llm.Text{Text: "I look, says " + label + "."},
				weatherCall("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"+label, ""), clockCall("chatcmpl-tool-bb8d35ad6b7d45fbb4ab3a7fa4d2a74d" + label),
			}
		},
		id: func(from *crossing, own, wire string) bool {
			return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(wire) && (wire == own || from.maker != "claude")
		},
	},
	geminiCrossing("vertex-genai", "gemini-3", "gemini-3.5-flash", vertex.Engine{}),
	geminiCrossing("vertex-vertexai", "gemini-3", "gemini-3.5-flash", vertexai.Engine),
	geminiCrossing("vertex-genai-2.5", "gemini-2", "gemini-2.5-flash", vertex.Engine{}),
}

func geminiCrossing(name, maker, model string, engine vertex.Engine) *crossing {
	standIn := ""
	if maker == "gemini-3" { // which refuses calls without one
		standIn = "skip_thought_signature_validator"
	}
	return &crossing{
		name: name, maker: maker, read: readGemini, gathers: true, standIn: standIn,
		open: func(t *testing.T, script ...cloud.Turn) (llm.Generator, recorder) {
			t.Helper()
			return crossVertex(t, model, engine, script)
		},
		parts: func(label string) llm.Parts {
			return llm.Parts{
				llm.Reasoning{Text: "thought of " + label, Signature: []byte("\x0a\xff thought\x00 " + label)},
				llm.Text{Text: "I look, says " + label + ".", Signature: []byte("\x0a\xfe text\x00 " + label)},
				weatherCall("adk.7f:q/1"+label, "\x0a\xfd call\x00 "+label), clockCall("ZX9IviSb" + label), // of parallel calls, the first is signed
			}
		},
		// An id goes back only if the service made it.
		id: func(from *crossing, own, wire string) bool {
			if from.maker == "gemini-3" {
				return wire == own
			}
			return wire == ""
		},
	}
}

func weatherCall(id, signature string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "weather", Arguments: `{"city":"Łódź <&> \"x\""}`, Signature: []byte(signature)}
}

func clockCall(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "clock", Arguments: "{}"} }

func redacted(label string) string {
	return base64.StdEncoding.EncodeToString([]byte("\xffredacted " + label))
}

// labelOf is the label that parts were made with.
func labelOf(parts llm.Parts) string {
	for _, p := range parts {
		if r, ok := p.(llm.Reasoning); ok {
			return r.Text[len("thought of "):]
		}
	}
	return ""
}

// signatures are those of the parts that a wire with proofs sends, in order.
func signatures(parts llm.Parts) []string {
	var all []string
	for _, p := range parts {
		var s []byte
		switch p := p.(type) {
		case llm.Reasoning:
			s = p.Signature
		case llm.Text:
			s = p.Signature
		case llm.ToolCall:
			s = p.Signature
		default:
		}
		if len(s) > 0 {
			all = append(all, string(s))
		}
	}
	return all
}

func crossAzure(t *testing.T, script ...cloud.Turn) (llm.Generator, recorder) {
	t.Helper()
	server := azurecloud.StartOptions(&azurecloud.Options{Script: script, Key: "key"})
	t.Cleanup(server.Close)
	p, err := azure.New(&azure.Options{Endpoint: server.URL, Deployment: "gpt-5-mini", APIVersion: "2024-10-21", Key: "key"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, server
}

func crossBedrock(t *testing.T, script ...cloud.Turn) (llm.Generator, recorder) {
	t.Helper()
	server := startBedrock(t, &bedrockcloud.Options{
		Script: script, AccessKey: "AKIDEXAMPLE", SecretKey: sharedSecret, SessionToken: "session", Region: "us-east-1",
	})
	return bedrockOnServer(t, server), server
}

func crossVertex(t *testing.T, model string, engine vertex.Engine, script []cloud.Turn) (llm.Generator, recorder) {
	t.Helper()
	server := vertexcloud.StartOptions(&vertexcloud.Options{Script: script, Token: "token", Project: "p1", Location: "us-central1"})
	t.Cleanup(server.Close)
	p, err := vertex.New(&vertex.Options{
		Project: "p1", Location: "us-central1", Model: model, Endpoint: server.URL, Engine: engine,
		TokenSource: func(context.Context) (string, error) { return "token", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, server
}
