package providers_test

import (
	"encoding/json"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

type converseBlock struct {
	Text     *string
	Image    *converseMedia
	Document *converseMedia
	ToolUse  *struct {
		ID    string `json:"toolUseId"`
		Name  string
		Input json.RawMessage
	}
	ToolResult *struct {
		ID      string `json:"toolUseId"`
		Content []json.RawMessage
		Status  string
	}
	Reasoning *struct {
		Text struct{ Text, Signature string } `json:"reasoningText"`
	} `json:"reasoningContent"`
	CachePoint *struct{ Type string }
}

type converseMedia struct {
	Name, Format string
	Source       struct {
		Bytes []byte
		S3    *struct{ URI string } `json:"s3Location"`
	}
}

func (c *converseConverter) messages(raw json.RawMessage) error {
	var list []struct {
		Role    string
		Content []json.RawMessage
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, m := range list {
		for _, block := range m.Content {
			part := c.part(block)
			role := llm.Role(m.Role)
			if _, ok := part.(llm.ToolResult); ok {
				role = llm.RoleTool
			}
			c.add(role, part)
		}
	}
	return nil
}

// add appends a part to the message of its role.
func (c *converseConverter) add(role llm.Role, part llm.Part) {
	n := len(c.req.Messages)
	if n == 0 || c.req.Messages[n-1].Role != role {
		m := llm.Message{Role: role}
		if role == llm.RoleAssistant {
			m.From = c.from
		}
		c.req.Messages = append(c.req.Messages, m)
		n++
	}
	c.req.Messages[n-1].Parts = append(c.req.Messages[n-1].Parts, part)
}

// part is the part that a block means. One that llm has no part for, or that this package would send otherwise, is
// passed through.
func (c *converseConverter) part(raw json.RawMessage) llm.Part {
	var b converseBlock
	if !known(raw, &b) || c.odd(&b) {
		return llm.Opaque{Type: bedrock.BlockType, Data: raw}
	}
	switch {
	case b.Text != nil:
		return llm.Text{Text: *b.Text}
	case b.Image != nil:
		return b.Image.media("image/" + b.Image.Format)
	case b.Document != nil:
		return b.Document.media(documentTypes[b.Document.Format])
	case b.ToolUse != nil:
		return llm.ToolCall{ID: b.ToolUse.ID, Name: b.ToolUse.Name, Arguments: string(b.ToolUse.Input)}
	case b.ToolResult != nil:
		r := llm.ToolResult{CallID: b.ToolResult.ID, IsError: b.ToolResult.Status == "error"}
		for _, inner := range b.ToolResult.Content {
			r.Parts = append(r.Parts, c.part(inner))
		}
		return r
	case b.Reasoning != nil:
		return llm.Reasoning{Text: b.Reasoning.Text.Text, Signature: []byte(b.Reasoning.Text.Signature)}
	case b.CachePoint != nil:
		return llm.CachePoint{}
	default:
		return llm.Opaque{Type: bedrock.BlockType, Data: raw}
	}
}

// odd reports whether a block is one that is not sent like that: blank texts, thoughts without a signature, results
// without content, and the status of results for models that may not know it.
func (c *converseConverter) odd(b *converseBlock) bool {
	switch {
	case b.Text != nil:
		return strings.TrimSpace(*b.Text) == ""
	case b.Reasoning != nil:
		return b.Reasoning.Text.Signature == ""
	case b.ToolResult != nil:
		tells := strings.Contains(c.from.Model, "anthropic") || strings.Contains(c.from.Model, "amazon.nova")
		return len(b.ToolResult.Content) == 0 || b.ToolResult.Status == "error" && !tells
	default:
		return false
	}
}

var documentTypes = map[string]string{
	"pdf": "application/pdf", "csv": "text/csv", "html": "text/html", "txt": "text/plain", "md": "text/markdown",
	"doc": "application/msword", "xls": "application/vnd.ms-excel",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

func (m *converseMedia) media(mediaType string) llm.Part {
	out := llm.Media{MediaType: mediaType, Name: m.Name, Data: m.Source.Bytes}
	if m.Source.S3 != nil {
		out.URI = m.Source.S3.URI
	}
	return out
}
