package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// How the three wires say a conversation, brought to one form for TestCrossCloud.

// readTurn is one turn of a request.
type readTurn struct {
	assistant      bool
	text           string
	calls, results []readCall
	parts          []readPart // of an assistant
}

// readPart is a part of an assistant's turn. A proof is a signature, or a thought that only its maker can read.
type readPart struct{ kind, thought, proof string }

// readCall is a call, or the result of one.
type readCall struct {
	id, name string
	content  json.RawMessage // arguments, or what came out
}

func (c readCall) String() string { return fmt.Sprintf("%s %s %s", c.id, c.name, c.content) }

// readBody reads strictly: what is not expected of these requests is a fault.
func readBody(t *testing.T, body []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
}

// readChat reads chat completions. They have no message for several results, so those in a row are one turn.
func readChat(t *testing.T, body []byte) []readTurn {
	t.Helper()
	var in struct {
		Model, Tools, Stream, ReasoningEffort json.RawMessage
		StreamOptions                         json.RawMessage `json:"stream_options"`
		Messages                              []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			ToolCallID string `json:"tool_call_id"`
		}
	}
	readBody(t, body, &in)
	var turns []readTurn
	behindTool := false
	for _, m := range in.Messages {
		if m.Role != "tool" || !behindTool {
			turns = append(turns, readTurn{assistant: m.Role == "assistant"})
		}
		turn := &turns[len(turns)-1]
		if behindTool = m.Role == "tool"; behindTool {
			turn.results = append(turn.results, readCall{id: m.ToolCallID, content: m.Content})
			continue
		}
		if json.Unmarshal(m.Content, &turn.text) == nil && turn.text != "" {
			turn.parts = append(turn.parts, readPart{kind: "text"})
		}
		for _, c := range m.ToolCalls {
			turn.parts = append(turn.parts, readPart{kind: "call"})
			turn.calls = append(turn.calls, readCall{c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)})
		}
	}
	return turns
}

func readConverse(t *testing.T, body []byte) []readTurn {
	t.Helper()
	var in struct {
		ToolConfig, AdditionalModelRequestFields json.RawMessage
		Messages                                 []struct {
			Role    string
			Content []struct {
				Text             string
				ReasoningContent struct {
					ReasoningText   struct{ Text, Signature string }
					RedactedContent string
				}
				ToolUse struct {
					ToolUseID, Name string
					Input           json.RawMessage
				}
				ToolResult struct {
					ToolUseID, Status string
					Content           json.RawMessage
				}
			}
		}
	}
	readBody(t, body, &in)
	var turns []readTurn
	for _, m := range in.Messages {
		turn := readTurn{assistant: m.Role == "assistant"}
		for _, b := range m.Content {
			thought, use, result := b.ReasoningContent, b.ToolUse, b.ToolResult
			switch {
			case b.Text != "":
				turn.text += b.Text
				turn.parts = append(turn.parts, readPart{kind: "text"})
			case use.Name != "":
				turn.calls = append(turn.calls, readCall{use.ToolUseID, use.Name, use.Input})
				turn.parts = append(turn.parts, readPart{kind: "call"})
			case result.ToolUseID != "":
				turn.results = append(turn.results, readCall{id: result.ToolUseID, content: result.Content})
			default:
				proof := thought.ReasoningText.Signature + thought.RedactedContent // one of the two
				turn.parts = append(turn.parts, readPart{"thought", thought.ReasoningText.Text, proof})
			}
		}
		turns = append(turns, turn)
	}
	return turns
}

func readGemini(t *testing.T, body []byte) []readTurn {
	t.Helper()
	type function struct {
		ID, Name       string
		Args, Response json.RawMessage
	}
	var in struct {
		Model, Tools, GenerationConfig json.RawMessage
		Contents                       []struct {
			Role  string
			Parts []struct {
				Text                           string
				Thought                        bool
				ThoughtSignature               []byte
				FunctionCall, FunctionResponse *function
			}
		}
	}
	readBody(t, body, &in)
	var turns []readTurn
	for _, c := range in.Contents {
		turn := readTurn{assistant: c.Role == "model"}
		for _, p := range c.Parts {
			one := readPart{kind: "text", proof: string(p.ThoughtSignature)}
			switch {
			case p.FunctionCall != nil:
				one.kind = "call"
				turn.calls = append(turn.calls, readCall{p.FunctionCall.ID, p.FunctionCall.Name, p.FunctionCall.Args})
			case p.FunctionResponse != nil:
				one.kind = "result"
				turn.results = append(turn.results, readCall{p.FunctionResponse.ID, p.FunctionResponse.Name, p.FunctionResponse.Response})
			case p.Thought:
				one.kind, one.thought = "thought", p.Text
			default:
				turn.text += p.Text
			}
			turn.parts = append(turn.parts, one)
		}
		turns = append(turns, turn)
	}
	return turns
}
