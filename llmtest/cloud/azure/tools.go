package azure

import (
	"encoding/json"
	"fmt"
)

func (c *call) checkTools() *refusal {
	list, ok := c.fields.list("tools")
	switch {
	case !ok:
		return c.withoutTools()
	case len(list) == 0:
		return emptyArray("tools")
	case len(list) > 128:
		return longArray("tools", 128, len(list))
	case c.fields.has("parallel_tool_calls") && oSeries(c.model):
		return unsupported("parallel_tool_calls", "")
	}
	for i, raw := range list {
		if no := checkTool(decode(raw), raw, fmt.Sprintf("tools[%d]", i)); no != nil {
			return no
		}
	}
	return nil
}

// withoutTools refuses what only goes with tools.
func (c *call) withoutTools() *refusal {
	for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
		if c.fields.has(name) {
			return invalid(name, "", "Invalid value for '%s': '%[1]s' is only allowed when 'tools' are specified.", name)
		}
	}
	return nil
}

func checkTool(o object, raw json.RawMessage, path string) *refusal {
	if o == nil {
		return wrongType(path, "an object", kindOf(raw))
	}
	kind, ok := o.text("type")
	if !ok {
		return missing(path + ".type")
	}
	if no := oneOf(path+".type", kind, "function", "custom"); no != nil {
		return no
	}
	f, ok := o.object(kind)
	if !ok {
		return missing(path + "." + kind)
	}
	path += "." + kind
	if no := name(f, path+".name"); no != nil || kind == "custom" {
		return no
	}
	if description, ok := f.text("description"); ok {
		if no := longText(path+".description", description, 1024); no != nil {
			return no
		}
	}
	return checkParameters(f, path+".parameters")
}

// checkParameters looks at the schema of a function, closely if it is strict.
func checkParameters(f object, path string) *refusal {
	tool, _ := f.text("name")
	s := schema{
		what: "function '" + tool + "'", param: path, code: "invalid_function_parameters", strict: f.boolean("strict"),
	}
	if !f.has("parameters") {
		if s.strict {
			return s.refuse(nil, "'additionalProperties' is required to be supplied and to be false.")
		}
		return nil
	}
	if no := want(f, "parameters", path, "object"); no != nil {
		return no
	}
	return s.check(f["parameters"])
}

// checkToolChoice: the text for a name that no tool has is unverified.
func (c *call) checkToolChoice() *refusal {
	if no := c.want("tool_choice", "string", "object"); no != nil || !c.fields.has("tool_choice") {
		return no
	}
	if mode, ok := c.fields.text("tool_choice"); ok {
		return oneOf("tool_choice", mode, "none", "auto", "required")
	}
	choice, _ := c.fields.object("tool_choice")
	kind, ok := choice.text("type")
	if !ok {
		return missing("tool_choice.type")
	}
	if no := oneOf("tool_choice.type", kind, "function", "allowed_tools", "custom"); no != nil || kind == "allowed_tools" {
		return no
	}
	chosen, ok := choice.object(kind)
	if !ok {
		return missing("tool_choice." + kind)
	}
	wanted, ok := chosen.text("name")
	if !ok {
		return missing("tool_choice." + kind + ".name")
	}
	list, _ := c.fields.list("tools")
	for _, raw := range list {
		tool, _ := decode(raw).object(kind)
		if got, _ := tool.text("name"); got == wanted {
			return nil
		}
	}
	return invalid("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", kind)
}
