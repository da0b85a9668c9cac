package llm

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// validate reports the first field that no target could accept, by its path. It looks at shapes and
// relations inside the request; what a single provider cannot carry is that provider's [ErrUnsupported].
func (r *Request) validate() error {
	if r == nil {
		return Invalid("request", "is nil", "pass a *llm.Request with at least one message")
	}
	for _, check := range []func(*Request) error{
		checkMessages, checkTools, checkOutput, checkSampling, checkLimits, checkExtra,
	} {
		if err := check(r); err != nil {
			e := err.(*Error) //nolint:errorlint,forcetypeassert // every check returns Invalid
			e.Operation = r.Operation
			return e
		}
	}
	return nil
}

func checkMessages(r *Request) error {
	if len(r.Messages) == 0 {
		return Invalid("messages", "is empty", "give at least one message, such as llm.User(text)")
	}
	called := map[string]bool(nil) // ids of the tool calls so far; made when the first one comes
	for i := range r.Messages {
		m := &r.Messages[i]
		path := fmt.Sprintf("messages[%d]", i)
		if err := checkMessage(path, m); err != nil {
			return err
		}
		for j, p := range m.Parts {
			switch p := p.(type) {
			case ToolCall:
				if called == nil {
					called = map[string]bool{}
				}
				called[p.ID] = true
			case ToolResult:
				if !called[p.CallID] {
					return Invalid(fmt.Sprintf("%s.parts[%d].call_id", path, j), "answers no tool call of an earlier message",
						"keep the assistant message with the call in front of its results")
				}
			}
		}
	}
	return nil
}

func checkMessage(path string, m *Message) error {
	switch m.Role {
	case RoleUser, RoleAssistant, RoleTool:
	case "":
		return Invalid(path+".role", "is empty", "use user, assistant or tool")
	default:
		next := "use user, assistant or tool"
		if strings.EqualFold(string(m.Role), "system") || strings.EqualFold(string(m.Role), "developer") {
			next = "put the system prompt into Request.System"
		}
		return Invalid(path+".role", "is unknown", next)
	}
	if len(m.Parts) == 0 {
		return Invalid(path+".parts", "is empty", "leave the message out or give it a part")
	}
	content := false
	for j, p := range m.Parts {
		if err := checkPart(fmt.Sprintf("%s.parts[%d]", path, j), m.Role, p); err != nil {
			return err
		}
		text, isText := p.(Text)
		_, isMark := p.(CachePoint)
		content = content || !isMark && (!isText || text.Text != "")
	}
	if !content && m.Role != RoleAssistant { // an assistant's empty text is history and is not sent
		return Invalid(path+".parts", "hold no content, only empty text", "give the message some text")
	}
	return nil
}

func checkPart(path string, role Role, p Part) error {
	switch p := p.(type) {
	case Text, CachePoint:
		return notIn(path, role, RoleTool, "put it into a ToolResult")
	case Media:
		if err := notIn(path, role, RoleTool, "put it into a ToolResult"); err != nil {
			return err
		}
		return checkMedia(path, p)
	case Reasoning:
		return onlyIn(path, role, RoleAssistant)
	case ToolCall:
		return checkToolCall(path, role, p)
	case ToolResult:
		return checkToolResult(path, role, p)
	case Opaque:
		if p.Type == "" || knownType(p.Type) {
			return Invalid(path+".type", "is not an opaque part's own", "keep opaque parts as they were received")
		}
		return nil
	case nil:
		return Invalid(path, "is nil", "use a value such as llm.Text{Text: …}")
	default:
		return Invalid(path, fmt.Sprintf("is a %T", p), "parts are values, not pointers: llm.Text{Text: …}")
	}
}

func notIn(path string, role, bad Role, next string) error {
	if role == bad {
		return Invalid(path, "cannot stand in a message of role "+string(bad), next)
	}
	return nil
}

func onlyIn(path string, role, good Role) error {
	if role != good {
		return Invalid(path, "can only stand in a message of role "+string(good), "move it there")
	}
	return nil
}

func checkMedia(path string, m Media) error {
	switch {
	case m.MediaType == "":
		return Invalid(path+".media_type", "is empty", "give a MIME type such as image/png")
	case !strings.Contains(m.MediaType, "/"):
		return Invalid(path+".media_type", "is no MIME type", "write it as image/png")
	case m.URI == "" && len(m.Data) == 0:
		return Invalid(path, "has neither data nor uri", "set one of the two")
	case m.URI != "" && len(m.Data) != 0:
		return Invalid(path, "has both data and uri", "set one of the two")
	}
	return nil
}

func checkToolCall(path string, role Role, c ToolCall) error {
	switch {
	case role != RoleAssistant:
		return onlyIn(path, role, RoleAssistant)
	case c.ID == "":
		return Invalid(path+".id", "is empty", "keep the id that the answer had")
	case c.Name == "":
		return Invalid(path+".name", "is empty", "give the tool's name")
	}
	return nil
}

func checkToolResult(path string, role Role, t ToolResult) error {
	if role != RoleTool {
		return onlyIn(path, role, RoleTool)
	}
	if t.CallID == "" {
		return Invalid(path+".call_id", "is empty", "give the ID of the ToolCall it answers")
	}
	for i, p := range t.Parts {
		inner := fmt.Sprintf("%s.parts[%d]", path, i)
		switch p := p.(type) {
		case Text, Opaque:
		case Media:
			if err := checkMedia(inner, p); err != nil {
				return err
			}
		default:
			return Invalid(inner, fmt.Sprintf("is a %T", p), "a tool result holds text and media")
		}
	}
	return nil
}

func checkTools(r *Request) error {
	names := make([]string, 0, len(r.Tools))
	for i := range r.Tools {
		t := &r.Tools[i]
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Name == "":
			return Invalid(path+".name", "is empty", "give the tool a name")
		case slices.Contains(names, t.Name):
			return Invalid(path+".name", "is used twice", "give each tool a name of its own")
		case !isObject(t.Parameters):
			return Invalid(path+".parameters", "is no JSON object", "give a JSON Schema of type object, or nothing")
		}
		names = append(names, t.Name)
	}
	switch c := r.ToolChoice; c.Mode {
	case ToolAuto, ToolNone:
	case ToolRequired, ToolNamed:
		if len(r.Tools) == 0 {
			return Invalid("tool_choice.mode", "asks for a tool call, but there are no tools", "fill tools, or leave it out")
		}
		if c.Mode == ToolNamed && !slices.Contains(names, c.Name) {
			return Invalid("tool_choice.name", "names no tool of this request", "use the name of one of tools")
		}
	default:
		return Invalid("tool_choice.mode", "is unknown", `use "none", "required", "named", or leave it out`)
	}
	if r.ToolChoice.Name != "" && r.ToolChoice.Mode != ToolNamed {
		return Invalid("tool_choice.name", "is set without the mode named", `set mode to "named"`)
	}
	return nil
}

func checkOutput(r *Request) error {
	if r.Output != nil && !isObject(r.Output.JSON) {
		return Invalid("output.json", "is no JSON object", "give a JSON Schema, or nothing for any object")
	}
	return nil
}

func checkSampling(r *Request) error {
	switch {
	case r.MaxTokens < 0:
		return Invalid("max_tokens", "is negative", "give a positive number, or 0 for the default")
	case r.Temperature != nil && !(*r.Temperature >= 0 && !math.IsInf(*r.Temperature, 0)):
		return Invalid("temperature", "is no number of 0 or more", "leave it out or give 0 to 2")
	case r.TopP != nil && !(*r.TopP >= 0 && *r.TopP <= 1):
		return Invalid("top_p", "is outside 0 to 1", "leave it out or give a number from 0 to 1")
	case r.Thinking.MaxTokens < 0:
		return Invalid("thinking.max_tokens", "is negative", "give a positive number, or 0")
	case r.Thinking.MaxTokens > 0 && r.Thinking.Effort != "":
		return Invalid("thinking", "has both an effort and a limit of tokens", "set one of the two")
	case !slices.Contains([]string{"", "none", "low", "medium", "high"}, r.Thinking.Effort):
		return Invalid("thinking.effort", "is unknown", "use none, low, medium or high")
	}
	for i, s := range r.Stop {
		if s == "" {
			return Invalid(fmt.Sprintf("stop[%d]", i), "is empty", "leave it out")
		}
	}
	return nil
}

func checkLimits(r *Request) error {
	l := r.Limits
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"attempt", int64(l.Attempt)},
		{"connect", int64(l.Connect)},
		{"first_content", int64(l.FirstContent)},
		{"idle", int64(l.Idle)},
		{"total", int64(l.Total)},
		{"tries", int64(l.Tries)},
	} {
		if f.value < 0 {
			return Invalid("limits."+f.name, "is negative", "give a positive value, or 0 for the plan's")
		}
	}
	return nil
}

func checkExtra(r *Request) error {
	for name, raw := range r.Extra {
		if !json.Valid(raw) {
			return Invalid("extra."+clean(name, 40), "is no JSON", "write it with the provider's Extra.Set")
		}
	}
	return nil
}

// isObject reports whether raw is empty or a JSON object.
func isObject(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	_, ok := object(raw)
	return ok
}
