package azure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// message is one message as it is checked.
type message struct {
	object
	index int
	path  string // messages[2]
	role  string
	calls []string // ids of its tool calls
}

// checkMessages: the service names places in two ways, messages.2 by its older checks and messages[2] by the
// newer ones; each text here has the form in which it was reported.
func (c *call) checkMessages() *refusal {
	list, ok := c.fields.list("messages")
	switch {
	case !c.fields.has("messages"):
		return invalid("", "", "'messages' is a required property")
	case !ok:
		return wrongType("messages", "an array of objects", kindOf(c.fields["messages"]))
	case len(list) == 0:
		return invalid("", "", "[] is too short - 'messages'")
	}
	messages := make([]message, len(list))
	for i, raw := range list {
		m := message{object: decode(raw), index: i, path: fmt.Sprintf("messages[%d]", i)}
		if m.object == nil {
			return wrongType(m.path, "an object", kindOf(raw))
		}
		if no := c.checkMessage(&m); no != nil {
			return no
		}
		messages[i] = m
	}
	return checkOrder(messages)
}

func (c *call) checkMessage(m *message) *refusal {
	var ok bool
	if m.role, ok = m.text("role"); !ok {
		return missing(m.path + ".role")
	}
	if no := oneOf(m.path+".role", m.role, "system", "assistant", "user", "function", "tool", "developer"); no != nil {
		return no
	}
	if m.role == "assistant" {
		if no := m.checkCalls(); no != nil {
			return no
		}
	}
	if no := c.checkContent(m); no != nil {
		return no
	}
	if m.role == "tool" && !m.has("tool_call_id") {
		return missing(m.path + ".tool_call_id")
	}
	return want(m.object, "tool_call_id", m.path+".tool_call_id", "string")
}

// checkContent: Azure wants the property in every message, null in it only next to tool calls.
func (c *call) checkContent(m *message) *refusal {
	busy := m.role == "assistant" && (len(m.calls) > 0 || m.has("function_call") || m.has("refusal") || m.has("audio"))
	if _, given := m.object["content"]; !given && (c.azure() || !busy) {
		return invalid("", "", "'content' is a required property - 'messages.%d'", m.index)
	}
	if !m.has("content") {
		if busy {
			return nil
		}
		return invalid(fmt.Sprintf("messages.[%d].content", m.index), "",
			"Invalid value for 'content': expected a string, got null.")
	}
	path := m.path + ".content"
	parts, ok := m.list("content")
	if !ok {
		if kind := kindOf(m.object["content"]); kind != "string" {
			return wrongType(path, "one of a string or array of objects", kind)
		}
		return nil
	}
	if len(parts) == 0 {
		return emptyArray(path)
	}
	for i, raw := range parts {
		if no := m.checkPart(decode(raw), raw, fmt.Sprintf("%s[%d]", path, i)); no != nil {
			return no
		}
	}
	return nil
}

func (m *message) checkPart(part object, raw json.RawMessage, path string) *refusal {
	if part == nil {
		return wrongType(path, "an object", kindOf(raw))
	}
	kind, ok := part.text("type")
	if !ok {
		return missing(path + ".type")
	}
	known := []string{"text", "image_url", "input_audio", "refusal", "audio", "file"}
	if no := oneOf(path+".type", kind, known...); no != nil {
		return no
	}
	if !part.has(kind) {
		return missing(path + "." + kind)
	}
	switch kind {
	case "text", "refusal":
		return want(part, kind, path+"."+kind, "string")
	case "image_url":
		if m.role != "user" {
			return invalid(m.path, "invalid_value", "Image URLs are only allowed for messages with role 'user', but this "+
				"message with role '%s' contains an image URL.", m.role)
		}
		return checkImage(part, path+".image_url")
	default:
		return want(part, kind, path+"."+kind, "object")
	}
}

// checkCalls looks at the tool calls of an assistant message and notes their ids.
func (m *message) checkCalls() *refusal {
	path := m.path + ".tool_calls"
	if no := want(m.object, "tool_calls", path, "array"); no != nil {
		return no
	}
	list, ok := m.list("tool_calls")
	if ok && len(list) == 0 {
		return emptyArray(path)
	}
	for i, raw := range list {
		id, no := checkCall(decode(raw), fmt.Sprintf("%s[%d]", path, i))
		if no != nil {
			return no
		}
		m.calls = append(m.calls, id)
	}
	return nil
}

func checkCall(o object, path string) (id string, no *refusal) {
	for _, name := range []string{"id", "type"} {
		if !o.has(name) {
			return "", missing(path + "." + name)
		}
	}
	id, _ = o.text("id")
	if no := longText(path+".id", id, 40); no != nil {
		return "", no
	}
	kind, _ := o.text("type")
	if no := oneOf(path+".type", kind, "function", "custom"); no != nil {
		return "", no
	}
	f, ok := o.object(kind)
	if !ok {
		return "", missing(path + "." + kind)
	}
	path += "." + kind
	if no := name(f, path+".name"); no != nil {
		return "", no
	}
	input := map[string]string{"function": "arguments", "custom": "input"}[kind]
	if !f.has(input) {
		return "", missing(path + "." + input)
	}
	return id, want(f, input, path+"."+input, "string")
}

// checkOrder looks at who answers whom: all tool calls of a turn, right after it, and nobody else.
func checkOrder(messages []message) *refusal {
	var open []string // calls that wait for their answer
	var asked []string
	var by int
	for _, m := range messages {
		if m.role != "tool" {
			if len(open) > 0 {
				return unanswered(by, open)
			}
			open, asked, by = slices.Clone(m.calls), m.calls, m.index
			continue
		}
		if len(asked) == 0 {
			return invalid(fmt.Sprintf("messages.[%d].role", m.index), "", "Invalid parameter: messages with role 'tool' "+
				"must be a response to a preceeding message with 'tool_calls'.") //nolint:misspell // the service's own
		}
		id, _ := m.text("tool_call_id")
		if !slices.Contains(asked, id) {
			return invalid(fmt.Sprintf("messages.[%d].tool_call_id", m.index), "", "Invalid parameter: 'tool_call_id' of "+
				"'%s' not found in 'tool_calls' of previous message.", id)
		}
		open = slices.DeleteFunc(open, func(s string) bool { return s == id })
	}
	if len(open) > 0 {
		return unanswered(by, open)
	}
	return nil
}

func unanswered(index int, ids []string) *refusal {
	return invalid(fmt.Sprintf("messages.[%d].role", index), "", "An assistant message with 'tool_calls' must be "+
		"followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response "+
		"messages: %s", strings.Join(ids, ", "))
}

// checkWindow estimates tokens at four bytes each, over the whole body.
func (c *call) checkWindow() *refusal {
	tokens, most := len(c.fields["messages"])/4, window(c.model)
	if tokens <= most {
		return nil
	}
	return tooLong(most, tokens)
}

func tooLong(most, tokens int) *refusal {
	return refuse(http.StatusBadRequest, "invalid_request_error", "messages", "context_length_exceeded",
		fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. "+
			"Please reduce the length of the messages.", most, tokens))
}
