package bedrock

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// greeting is the text of an improvised answer, if nothing else is asked for.
const greeting = "Hello from a simulated Bedrock account."

// improvise is an answer that fits the request; see [Options.Improvise]. A lenient server has checked nothing.
func (c *call) improvise() *llm.Response {
	if t := c.chosen(); t != nil {
		var schema json.RawMessage
		if t.InputSchema != nil {
			schema = t.InputSchema.JSON
		}
		return cloud.Improvised(llm.ToolCall{
			ID: "tooluse_sim" + strconv.FormatInt(c.id, 10), Name: *t.Name, Arguments: cloud.Arguments(schema),
		})
	}
	return cloud.Improvised(llm.Text{Text: c.words()})
}

// chosen is the tool that the model has to use, or may use and has no result of yet; nil: it answers.
func (c *call) chosen() *toolSpec {
	config := c.body.ToolConfig
	if config == nil || !c.body.forced() && len(c.body.results()) > 0 {
		return nil
	}
	for _, t := range config.Tools {
		if t.ToolSpec == nil || t.ToolSpec.Name == nil {
			continue
		}
		if only := config.only(); only == nil || *only == *t.ToolSpec.Name {
			return t.ToolSpec
		}
	}
	return nil
}

// only is the name of the one tool that may be used; nil: any.
func (t *toolConfig) only() *string {
	if t.ToolChoice == nil || t.ToolChoice.Tool == nil {
		return nil
	}
	return t.ToolChoice.Tool.Name
}

// results are the names of the tools that the conversation has results of.
func (r *conversation) results() []string {
	names := map[string]string{} // by the id of the use
	var all []string
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if u := b.ToolUse; u != nil && u.ToolUseID != nil && u.Name != nil {
				names[*u.ToolUseID] = *u.Name
			}
			if b.ToolResult != nil && b.ToolResult.ToolUseID != nil {
				all = append(all, names[*b.ToolResult.ToolUseID])
			}
		}
	}
	return all
}

// words are the content in the format that the request asks for.
func (c *call) words() string {
	if o := c.body.OutputConfig; o != nil && o.TextFormat != nil && o.TextFormat.Structure != nil &&
		o.TextFormat.Structure.JSONSchema != nil && o.TextFormat.Structure.JSONSchema.Schema != nil {
		return cloud.Arguments(json.RawMessage(*o.TextFormat.Structure.JSONSchema.Schema))
	}
	if !c.body.endsWithResult() {
		return greeting
	}
	return cloud.ResultsText(c.body.results())
}

func (r *conversation) endsWithResult() bool {
	if len(r.Messages) == 0 {
		return false
	}
	return slices.ContainsFunc(r.Messages[len(r.Messages)-1].Content, func(b block) bool { return b.ToolResult != nil })
}
