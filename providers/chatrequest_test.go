package providers_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// unfit is what a request has and this SDK has not.
type unfit string

func (u unfit) Error() string { return string(u) }

// chatRequest builds the request that a recorded body of chat completions means.
func chatRequest(rec *recording) (*llm.Request, error) {
	if string(rec.Request.Body) == "null" || len(rec.Request.Body) == 0 {
		return &llm.Request{Messages: []llm.Message{llm.User("hello")}}, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
		return nil, err
	}
	c := chatConverter{req: new(llm.Request), extra: azure.Extra{Fields: map[string]json.RawMessage{}}}
	for name, raw := range body {
		if err := c.member(name, raw); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := c.extra.Set(c.req); err != nil {
		return nil, err
	}
	for _, m := range c.req.Messages {
		if m.Role == llm.RoleUser && m.Text() == "" && len(m.Parts) == 1 && emptyText(m.Parts[0]) {
			return nil, unfit("a user's message without content")
		}
	}
	return c.req, nil
}

type chatConverter struct {
	req   *llm.Request
	extra azure.Extra
}

// member takes one member of the body: a field of the request if there is one for it, else a private field.
func (c *chatConverter) member(name string, raw json.RawMessage) error {
	r := c.req
	switch name {
	case "model", "stream": // settings of the target, and the sink
		return nil
	case "messages":
		return c.messages(raw)
	case "max_tokens", "max_completion_tokens":
		return json.Unmarshal(raw, &r.MaxTokens)
	case "temperature":
		return json.Unmarshal(raw, &r.Temperature)
	case "top_p":
		return json.Unmarshal(raw, &r.TopP)
	case "seed":
		return json.Unmarshal(raw, &r.Seed)
	case "stop":
		if json.Unmarshal(raw, &r.Stop) != nil {
			r.Stop = make([]string, 1)
			return json.Unmarshal(raw, &r.Stop[0])
		}
		return nil
	case "reasoning_effort":
		if slices.Contains([]string{`"none"`, `"low"`, `"medium"`, `"high"`}, string(raw)) {
			return json.Unmarshal(raw, &r.Thinking.Effort)
		}
	case "metadata":
		return json.Unmarshal(raw, &r.Metadata)
	case "tools":
		if c.tools(raw) {
			return nil
		}
	case "tool_choice":
		if c.toolChoice(raw) {
			return nil
		}
	case "parallel_tool_calls":
		if string(raw) == "false" {
			r.ToolChoice.Single = true
			return nil
		}
	case "response_format":
		if c.output(raw) {
			return nil
		}
	case "stream_options":
		if sameJSON(raw, []byte(`{"include_usage":true}`)) {
			return nil // always sent
		}
	}
	c.extra.Fields[name] = raw
	return nil
}

type chatMessage struct {
	Role      string
	Content   json.RawMessage
	Refusal   string
	ToolCalls []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	ToolCallID   string          `json:"tool_call_id"`
	FunctionCall json.RawMessage `json:"function_call"`
}

func (c *chatConverter) messages(raw json.RawMessage) error {
	var list []chatMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for i, m := range list {
		parts, err := chatParts(m.Content)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if m.Role == "function" || len(m.FunctionCall) > 0 && string(m.FunctionCall) != "null" {
			return unfit("a history with function_call, from before tools")
		}
		switch m.Role {
		case "assistant":
			for _, call := range m.ToolCalls {
				if call.Type == "custom" {
					return unfit("a history with calls of custom tools, which have no results here")
				}
				parts = append(parts, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
			}
			c.add(llm.RoleAssistant, parts...)
		case "tool":
			c.result(llm.ToolResult{CallID: m.ToolCallID, Parts: parts})
		case "system", "developer":
			if text, ok := lone(parts); ok && i == 0 && len(list) > 1 {
				c.req.System = text
				continue
			}
			c.add(llm.RoleUser, parts...) // the request has one system prompt, and it does not stand alone
		default:
			c.add(llm.RoleUser, parts...)
		}
	}
	return nil
}

func (c *chatConverter) add(role llm.Role, parts ...llm.Part) {
	if len(parts) == 0 {
		parts = llm.Parts{llm.Text{}}
	}
	c.req.Messages = append(c.req.Messages, llm.Message{Role: role, Parts: parts})
}

// result puts the results of one turn into one message.
func (c *chatConverter) result(r llm.ToolResult) {
	if n := len(c.req.Messages); n > 0 && c.req.Messages[n-1].Role == llm.RoleTool {
		c.req.Messages[n-1].Parts = append(c.req.Messages[n-1].Parts, r)
		return
	}
	c.add(llm.RoleTool, r)
}

func lone(parts llm.Parts) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	t, ok := parts[0].(llm.Text)
	return t.Text, ok
}

func chatParts(raw json.RawMessage) (llm.Parts, error) {
	var text *string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return nil, nil
		}
		return llm.Parts{llm.Text{Text: *text}}, nil
	}
	var list []struct {
		Type, Text string
		ImageURL   struct{ URL string }          `json:"image_url"`
		InputAudio struct{ Data, Format string } `json:"input_audio"`
		File       struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var parts llm.Parts
	for _, p := range list {
		switch p.Type {
		case "text":
			parts = append(parts, llm.Text{Text: p.Text})
		case "image_url":
			parts = append(parts, media("image/png", p.ImageURL.URL))
		case "input_audio":
			parts = append(parts, media("", "data:audio/"+p.InputAudio.Format+";base64,"+p.InputAudio.Data))
		case "file":
			m := media("application/pdf", p.File.Data)
			if m.Name = p.File.Name; p.File.Data == "" {
				return nil, unfit("a file by its id")
			}
			parts = append(parts, m)
		default:
			return nil, unfit("a part of type " + p.Type)
		}
	}
	return parts, nil
}

// media reads a data URL; any other address is kept.
func media(mediaType, address string) llm.Media {
	head, data, ok := strings.Cut(address, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(data)
	if !ok || err != nil {
		return llm.Media{MediaType: mediaType, URI: address}
	}
	return llm.Media{MediaType: strings.TrimPrefix(head, "data:"), Data: raw}
}

func (c *chatConverter) tools(raw json.RawMessage) bool {
	var list []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
			Strict            bool
		}
	}
	if json.Unmarshal(raw, &list) != nil {
		return false
	}
	var tools []llm.Tool
	for _, t := range list {
		if t.Type != "function" {
			return false
		}
		f := t.Function
		if string(f.Parameters) == "null" {
			f.Parameters = nil
		}
		tools = append(tools, llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters, Lenient: !f.Strict})
	}
	c.req.Tools = tools
	return true
}

func (c *chatConverter) toolChoice(raw json.RawMessage) bool {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word != "auto" {
			c.req.ToolChoice.Mode = llm.ToolMode(word)
		}
		return true
	}
	var named struct{ Function struct{ Name string } }
	if json.Unmarshal(raw, &named) != nil || named.Function.Name == "" {
		return false
	}
	c.req.ToolChoice.Mode, c.req.ToolChoice.Name = llm.ToolNamed, named.Function.Name
	return true
}

func (c *chatConverter) output(raw json.RawMessage) bool {
	var f struct {
		Type   string
		Schema struct {
			Name, Description string
			Schema            json.RawMessage
			Strict            bool
		} `json:"json_schema"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return false
	}
	switch f.Type {
	case "json_object":
		c.req.Output = &llm.Schema{}
	case "json_schema":
		c.req.Output = &llm.Schema{
			Name: f.Schema.Name, Description: f.Schema.Description, JSON: f.Schema.Schema, Lenient: !f.Schema.Strict,
		}
	default:
		return false
	}
	return true
}

func emptyText(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && t.Text == ""
}
