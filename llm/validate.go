package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// validate reports the first field that no target could accept, by its path. It looks at shapes and
// relations inside the request; what a single provider cannot carry is that provider's [ErrUnsupported]. It
// allocates nothing for a request that is right: paths are written when something is wrong.
func (r *Request) validate() error {
	for _, check := range [...]func(*Request) *Error{
		checkMessages, checkTools, checkToolChoice, checkOutput, checkSampling, checkLimits, checkExtra,
	} {
		if e := check(r); e != nil {
			e.Operation = r.Operation
			return e
		}
	}
	return nil
}

func invalid(field, problem, next string) *Error { return fieldError(ErrInvalid, field, problem, next) }

// place is a part of a message, or a part inside a tool result: what a path begins with.
type place struct {
	message, part, inner int // inner is -1 outside a tool result
}

func (at place) invalid(field, problem, next string) *Error {
	path := index("messages", at.message) + index(".parts", at.part)
	if at.inner >= 0 {
		path += index(".parts", at.inner)
	}
	return invalid(path+field, problem, next)
}

func index(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

func checkMessages(r *Request) *Error {
	if len(r.Messages) == 0 {
		return invalid("messages", "is empty", "give at least one message")
	}
	for i := range r.Messages {
		if e := checkMessage(r, i); e != nil {
			return e
		}
	}
	for i := range r.Messages { // last, since what is wrong with a result leaves its call without one
		if e := checkAnswered(r.Messages, i); e != nil {
			return e
		}
	}
	return nil
}

func checkMessage(r *Request, i int) *Error {
	m := &r.Messages[i]
	if e := checkRole(m.Role, i); e != nil {
		return e
	}
	if len(m.Parts) == 0 {
		return invalid(index("messages", i)+".parts", "is empty", "leave the message out or give it a part")
	}
	content := false
	for j, p := range m.Parts {
		at := place{i, j, -1}
		if e := checkPart(at, m.Role, p); e != nil {
			return e
		}
		if t, ok := p.(ToolResult); ok && !called(r.Messages[:i], t.CallID) {
			return at.invalid(".call_id", "answers no tool call of an earlier message",
				"keep the message with the call in front")
		}
		text, isText := p.(Text)
		_, isMark := p.(CachePoint)
		content = content || !isMark && (!isText || text.Text != "")
	}
	if !content && m.Role != RoleAssistant { // an assistant's empty text is history and is not sent
		return invalid(index("messages", i)+".parts", "hold no content, only empty text", "give the message some text")
	}
	return nil
}

// checkAnswered wants a result for every tool call of message i in the messages of role tool right behind it:
// no vendor takes a conversation that goes on, or ends, without.
func checkAnswered(messages []Message, i int) *Error {
	end := i + 1
	for end < len(messages) && messages[end].Role == RoleTool {
		end++
	}
	for j, p := range messages[i].Parts {
		if c, ok := p.(ToolCall); ok && !answered(messages[i+1:end], c.ID) {
			return place{i, j, -1}.invalid("", "is a tool call without a result right behind it",
				"put a tool message with the results of all its calls behind it")
		}
	}
	return nil
}

func answered(results []Message, id string) bool {
	for i := range results {
		for _, p := range results[i].Parts {
			if r, ok := p.(ToolResult); ok && r.CallID == id {
				return true
			}
		}
	}
	return false
}

func checkRole(role Role, i int) *Error {
	switch role {
	case RoleUser, RoleAssistant, RoleTool:
		return nil
	case "":
		return invalid(index("messages", i)+".role", "is empty", "use user, assistant or tool")
	}
	next := "use user, assistant or tool"
	if strings.EqualFold(string(role), "system") || strings.EqualFold(string(role), "developer") {
		next = "put the system prompt into the request's system field"
	}
	return invalid(index("messages", i)+".role", "is unknown", next)
}

// called reports whether one of the messages holds the tool call id. The search begins at the end, where
// the call nearly always is.
func called(messages []Message, id string) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		for _, p := range messages[i].Parts {
			if c, ok := p.(ToolCall); ok && c.ID == id {
				return true
			}
		}
	}
	return false
}

func checkPart(at place, role Role, p Part) *Error {
	switch p := p.(type) {
	case CachePoint: // everywhere: behind the last tool result is where an agent wants it most
		return nil
	case Text:
		return notInTool(at, role)
	case Media:
		if e := notInTool(at, role); e != nil {
			return e
		}
		return checkMedia(at, p)
	case Reasoning:
		return onlyIn(at, role, RoleAssistant)
	case ToolCall:
		return checkToolCall(at, role, p)
	case ToolResult:
		return checkToolResult(at, role, p)
	case Opaque:
		return checkOpaque(at, p)
	case nil:
		return at.invalid("", "is nil", "leave it out")
	default:
		return at.invalid("", "is none of the part types", "parts are values, not pointers")
	}
}

func notInTool(at place, role Role) *Error {
	if role == RoleTool {
		return at.invalid("", "cannot stand in a message of role tool", "put it into the parts of a tool result")
	}
	return nil
}

func onlyIn(at place, role, good Role) *Error {
	if role != good {
		return at.invalid("", "can only stand in a message of role "+string(good), "move it there")
	}
	return nil
}

func checkMedia(at place, m Media) *Error {
	kind, form, _ := strings.Cut(m.MediaType, "/")
	switch {
	case m.MediaType == "":
		return at.invalid(".media_type", "is empty", "give a MIME type such as image/png")
	case kind == "" || form == "":
		return at.invalid(".media_type", "is no MIME type", "write it as image/png")
	case m.URI == "" && len(m.Data) == 0:
		return at.invalid("", "has neither data nor uri", "set one of the two")
	case m.URI != "" && len(m.Data) != 0:
		return at.invalid("", "has both data and uri", "set one of the two")
	}
	return nil
}

func checkToolCall(at place, role Role, c ToolCall) *Error {
	switch {
	case role != RoleAssistant:
		return onlyIn(at, role, RoleAssistant)
	case c.ID == "":
		return at.invalid(".id", "is empty", "keep the id that the answer had")
	case c.Name == "":
		return at.invalid(".name", "is empty", "give the tool's name")
	}
	return nil
}

func checkToolResult(at place, role Role, t ToolResult) *Error {
	if role != RoleTool {
		return onlyIn(at, role, RoleTool)
	}
	if t.CallID == "" {
		return at.invalid(".call_id", "is empty", "give the id of the tool call it answers")
	}
	for i, p := range t.Parts {
		inner := place{at.message, at.part, i}
		var e *Error
		switch p := p.(type) {
		case Text:
		case Media:
			e = checkMedia(inner, p)
		case Opaque:
			e = checkOpaque(inner, p)
		default:
			e = inner.invalid("", "cannot stand in a tool result", "a tool result holds text and media, as values")
		}
		if e != nil {
			return e
		}
	}
	return nil
}

func checkOpaque(at place, o Opaque) *Error {
	switch {
	case o.Type == "" || knownType(o.Type):
		return at.invalid(".type", "is not an opaque part's own", "keep opaque parts as they were received")
	case len(o.Data) != 0 && !json.Valid(o.Data):
		return at.invalid(".data", "is no JSON", "keep opaque parts as they were received")
	}
	return nil
}

func checkTools(r *Request) *Error {
	for i := range r.Tools {
		t := &r.Tools[i]
		switch {
		case t.Name == "":
			return invalid(index("tools", i)+".name", "is empty", "give the tool a name")
		case hasTool(r.Tools[:i], t.Name):
			return invalid(index("tools", i)+".name", "is used twice", "give each tool a name of its own")
		case !isObject(t.Parameters):
			return invalid(index("tools", i)+".parameters", "is no JSON object", "give a JSON Schema of type object, or nothing")
		}
	}
	return nil
}

func hasTool(tools []Tool, name string) bool {
	for i := range tools {
		if tools[i].Name == name {
			return true
		}
	}
	return false
}

func checkToolChoice(r *Request) *Error {
	c := r.ToolChoice
	switch c.Mode {
	case ToolAuto, ToolNone, ToolRequired, ToolNamed:
	default:
		return invalid("tool_choice.mode", "is unknown", "use none, required or named, or leave it out")
	}
	switch {
	case len(r.Tools) == 0 && (c.Mode == ToolRequired || c.Mode == ToolNamed):
		return invalid("tool_choice.mode", "asks for a tool call, but there are no tools", "fill tools, or leave it out")
	case c.Mode == ToolNamed && !hasTool(r.Tools, c.Name):
		return invalid("tool_choice.name", "names no tool of this request", "use the name of one of tools")
	case c.Mode != ToolNamed && c.Name != "":
		return invalid("tool_choice.name", "is set without the mode named", "set the mode to named")
	}
	return nil
}

func checkOutput(r *Request) *Error {
	if r.Output != nil && !isObject(r.Output.JSON) {
		return invalid("output.json", "is no JSON object", "give a JSON Schema, or nothing for any object")
	}
	return nil
}

func checkSampling(r *Request) *Error {
	switch {
	case r.MaxTokens < 0:
		return invalid("max_tokens", "is negative", "give a positive number, or 0 for the default")
	case r.Temperature != nil && !between(*r.Temperature, 0, math.MaxFloat64):
		return invalid("temperature", "is no number of 0 or more", "leave it out or give 0 to 2")
	case r.TopP != nil && !between(*r.TopP, 0, 1):
		return invalid("top_p", "is outside 0 to 1", "leave it out or give a number from 0 to 1")
	case r.Thinking.MaxTokens < 0:
		return invalid("thinking.max_tokens", "is negative", "give a positive number, or 0")
	case r.Thinking.MaxTokens > 0 && r.Thinking.Effort != "":
		return invalid("thinking", "has both an effort and a limit of tokens", "set one of the two")
	}
	switch r.Thinking.Effort {
	case "", "none", "low", "medium", "high":
	default:
		return invalid("thinking.effort", "is unknown", "use none, low, medium or high")
	}
	for i, s := range r.Stop {
		if s == "" {
			return invalid(index("stop", i), "is empty", "leave it out")
		}
	}
	return nil
}

// between is false for NaN.
func between(x, low, high float64) bool { return x >= low && x <= high }

func checkLimits(r *Request) *Error {
	l := &r.Limits
	var name string
	switch {
	case l.Attempt < 0:
		name = "attempt"
	case l.Connect < 0:
		name = "connect"
	case l.FirstContent < 0:
		name = "first_content"
	case l.Idle < 0:
		name = "idle"
	case l.Total < 0:
		name = "total"
	case l.Tries < 0:
		name = "tries"
	default:
		return nil
	}
	return invalid("limits."+name, "is negative", "give a positive value, or 0 for the plan's")
}

// checkExtra reports the first wrong name by the alphabet, so that the same request gives the same error.
func checkExtra(r *Request) *Error {
	wrong, found := "", false
	for name, raw := range r.Extra {
		if !json.Valid(raw) && (!found || name < wrong) {
			wrong, found = name, true
		}
	}
	if !found {
		return nil
	}
	return invalid("extra."+clean(wrong, 40), "is no JSON", "write it with the provider's own type for extra fields")
}

// isObject reports whether raw is empty or a JSON object.
func isObject(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) && json.Valid(raw)
}
