package llm

import "strings"

// Role says who a message is from.
type Role string

// The roles. The system prompt is no message: it is Request.System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the results of tool calls
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role  `json:"role,omitempty"`
	Parts Parts `json:"parts,omitempty"`
	// From is who wrote an assistant message. Adapters send signatures and opaque parts back only to the
	// model family that made them, and a chain prefers it for the next turn. Zero: unknown.
	From ModelRef `json:"from,omitzero"`
}

// User returns a user message with one text part.
func User(text string) Message {
	return Message{Role: RoleUser, Parts: Parts{Text{Text: text}}}
}

// ToolResults returns the message that answers the tool calls of one assistant turn. Every vendor wants the
// results of all calls of a turn together, so pass all of them.
func ToolResults(results ...ToolResult) Message {
	parts := make(Parts, len(results))
	for i, r := range results {
		parts[i] = r
	}
	return Message{Role: RoleTool, Parts: parts}
}

// Text returns the text parts joined, without reasoning.
func (m Message) Text() string {
	switch len(m.Parts) {
	case 0:
		return ""
	case 1: // the usual answer: no copy
		t, _ := m.Parts[0].(Text)
		return t.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// ToolCalls returns the tool calls in order, nil if there are none.
func (m Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// ModelRef names a model at a provider. It is comparable, and stays so.
type ModelRef struct {
	Provider string `json:"provider,omitempty"` // "azure", "bedrock", "vertex", …
	Model    string `json:"model,omitempty"`    // the deployment or model name as configured
}

// String returns "azure/gpt-4o"; with one of the two missing, the other alone.
func (m ModelRef) String() string {
	if m.Provider == "" || m.Model == "" {
		return m.Provider + m.Model
	}
	return m.Provider + "/" + m.Model
}
