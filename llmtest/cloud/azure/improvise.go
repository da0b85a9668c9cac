package azure

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// greeting is the text of an improvised answer, if nothing else is asked for.
const greeting = "Hello from a simulated Azure OpenAI account."

// improvise is an answer that fits the request; see [Options.Improvise].
func (c *call) improvise() *llm.Response {
	if f := c.chosen(); f != nil {
		name, _ := f.text("name")
		return cloud.Improvised(llm.ToolCall{
			ID: "call_sim" + strconv.FormatInt(c.id, 10), Name: name, Arguments: cloud.Arguments(f["parameters"]),
		})
	}
	return cloud.Improvised(llm.Text{Text: c.words()})
}

// chosen is the function that the model has to call, or may call and has no result of yet; nil: it answers.
func (c *call) chosen() object {
	mode, only := c.toolChoice()
	if mode == "none" || mode == "auto" && len(c.results()) > 0 {
		return nil
	}
	list, _ := c.fields.list("tools")
	for _, raw := range list {
		f, ok := decode(raw).object("function") // a custom tool takes no JSON: it is never called
		if name, _ := f.text("name"); ok && (only == nil || slices.Contains(only, name)) {
			return f
		}
	}
	return nil
}

// toolChoice is what tool_choice says: a mode, and the names that it allows; nil: all.
func (c *call) toolChoice() (mode string, only []string) {
	if mode, ok := c.fields.text("tool_choice"); ok {
		return mode, nil
	}
	choice, ok := c.fields.object("tool_choice")
	if !ok {
		return "auto", nil
	}
	if allowed, ok := choice.object("allowed_tools"); ok {
		mode, _ = allowed.text("mode")
		list, _ := allowed.list("tools")
		return mode, functionNames(list)
	}
	return "required", functionNames([]json.RawMessage{marshal(choice)})
}

// functionNames are the names in a list of {"function": {"name": …}}, never nil.
func functionNames(list []json.RawMessage) []string {
	names := make([]string, 0, len(list))
	for _, raw := range list {
		f, _ := decode(raw).object("function")
		if name, ok := f.text("name"); ok {
			names = append(names, name)
		}
	}
	return names
}

// results are the tools that the conversation has results of.
func (c *call) results() []string {
	names := map[string]string{} // by the id of the call
	var all []string
	list, _ := c.fields.list("messages")
	for _, raw := range list {
		m := decode(raw)
		calls, _ := m.list("tool_calls")
		for _, raw := range calls {
			call := decode(raw)
			id, _ := call.text("id")
			f, _ := call.object("function")
			names[id], _ = f.text("name")
		}
		if role, _ := m.text("role"); role == "tool" {
			id, _ := m.text("tool_call_id")
			all = append(all, names[id])
		}
	}
	return all
}

// words are the content in the format that the request asks for.
func (c *call) words() string {
	text := greeting
	if c.afterTool() {
		text = cloud.ResultsText(c.results())
	}
	format, _ := c.fields.object("response_format")
	switch kind, _ := format.text("type"); kind {
	case "json_schema":
		schema, _ := format.object("json_schema")
		return cloud.Arguments(schema["schema"])
	case "json_object":
		return string(marshal(map[string]string{"answer": text}))
	default:
		return text
	}
}

// afterTool reports whether the last message is the result of a tool.
func (c *call) afterTool() bool {
	list, _ := c.fields.list("messages")
	if len(list) == 0 {
		return false
	}
	role, _ := decode(list[len(list)-1]).text("role")
	return role == "tool"
}
