package bedrock

import "encoding/json"

// checkTools: the texts for a missing toolConfig, for a schema and for its type are reported.
func (c *call) checkTools() *refusal {
	config := c.body.ToolConfig
	if config == nil {
		for i := range c.body.Messages {
			if uses, results := c.body.Messages[i].uses(); len(uses)+len(results) > 0 {
				return invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
			}
		}
		return nil
	}
	seen := map[string]int{}
	for i, t := range config.Tools {
		p := at("toolConfig").field("tools").item(i)
		if count(t.ToolSpec != nil, given(t.SystemTool), t.CachePoint != nil) != 1 {
			return mustSet("Tool", p, "toolSpec", "systemTool", "cachePoint")
		}
		if t.ToolSpec == nil {
			continue
		}
		if no := t.ToolSpec.check(p.field("toolSpec"), seen, i); no != nil {
			return no
		}
	}
	return config.checkChoice(seen)
}

// check: that a name is defined once is reported, in these words.
func (t *toolSpec) check(p place, seen map[string]int, index int) *refusal {
	if before, ok := seen[*t.Name]; ok {
		return invalid("The tool %s is already defined at toolConfig.tools.%d.", *t.Name, before)
	}
	seen[*t.Name] = index
	p = p.field("inputSchema")
	schema := t.InputSchema.JSON
	switch {
	case !given(schema):
		return mustSet("ToolInputSchema", p, "json")
	case !isObject(schema):
		return badFormat(p.field("json"))
	}
	var root struct{ Type json.RawMessage }
	_ = json.Unmarshal(schema, &root)
	if string(root.Type) != `"object"` {
		return invalid("The value at %s must be one of the following: object.", p.field("json").field("type").dotted)
	}
	return nil
}

// checkChoice: the text for a tool that nobody defines is the model's own, unverified here.
func (t *toolConfig) checkChoice(defined map[string]int) *refusal {
	choice := t.ToolChoice
	if choice == nil {
		return nil
	}
	if count(choice.Auto != nil, choice.Any != nil, choice.Tool != nil) != 1 {
		return mustSet("ToolChoice", at("toolConfig").field("toolChoice"), "auto", "any", "tool")
	}
	if choice.Tool == nil {
		return nil
	}
	if _, ok := defined[*choice.Tool.Name]; !ok {
		return byModel("Tool '%s' not found in provided tools", *choice.Tool.Name)
	}
	return nil
}

// forced reports whether the model must use a tool.
func (r *conversation) forced() bool {
	return r.ToolConfig != nil && r.ToolConfig.ToolChoice != nil && r.ToolConfig.ToolChoice.Auto == nil
}
