package vertex

import (
	"slices"
	"strconv"
)

// declarations are the functions that the request declares.
func (c *call) declarations() []message {
	var all []message
	for _, tool := range c.fields.list("tools").messages() {
		all = append(all, tool.list("functionDeclarations").messages()...)
	}
	return all
}

// checkTools: the texts for functions beside other tools, for a second function of a name and for a tool of no kind are
// reported.
func (c *call) checkTools() *refusal {
	var names []string
	others := 0
	for i, tool := range c.fields.list("tools").messages() {
		path := "tools[" + strconv.Itoa(i) + "]"
		kinds := len(tool)
		if kinds == 0 {
			return fault(path+".tool_type", "required one_of 'tool_type' must have one initialized field")
		}
		if tool.has("functionDeclarations") {
			kinds--
		}
		others += kinds
		for j, f := range tool.list("functionDeclarations").messages() {
			if no := c.checkDeclaration(f, path+".function_declarations["+strconv.Itoa(j)+"]"); no != nil {
				return no
			}
			if slices.Contains(names, f.text("name")) {
				return invalid("Duplicate function declaration found: %s", f.text("name"))
			}
			names = append(names, f.text("name"))
		}
	}
	if others > 0 && len(names) > 0 && !c.signs() {
		return c.either(invalid("Multiple tools are supported only when they are all search tools."),
			invalid("Tool use with function calling is unsupported"))
	}
	return nil
}

// checkDeclaration: the text of the Gemini API for a name is widely reported, that of Vertex AI and those for two
// schemas are unverified.
func (c *call) checkDeclaration(f message, path string) *refusal {
	name := f.text("name")
	if !functionName(name) {
		return c.either(unable("the function name %s is not valid. It must start with a letter or an underscore, and must be "+
			"alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
			strconv.Quote(name)),
			fault(path+".name", "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, "+
				"A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."))
	}
	for _, field := range []string{"parameters", "response"} {
		if f.has(field) && f.has(field+"JsonSchema") {
			return c.either(unable("functionDeclaration `%s` has both `%s` and `%s_json_schema`. Set only one of them.", name, field, field),
				fault(path+"."+field, "must not be set beside "+field+"_json_schema."))
		}
	}
	s := schema{call: c, path: path + ".parameters", what: "functionDeclaration `parameters`", function: name}
	parameters := f.message("parameters")
	if parameters == nil {
		return nil
	}
	if kind := parameters.text("type"); kind != "OBJECT" {
		return c.either(invalid("Unable to submit request because `%s` functionDeclaration `parameters` schema should be of type "+
			"OBJECT. Learn more: %s", name, learnFunctions), fault(path+".parameters.type", "must be OBJECT")) // the latter is unverified
	}
	return s.check(parameters)
}

// functionName is the pattern that both services document.
func functionName(s string) bool {
	letter := func(r byte) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }
	if s == "" || len(s) > 64 || !letter(s[0]) {
		return false
	}
	for i := range len(s) {
		if r := s[i]; !letter(r) && (r < '0' || r > '9') && r != '.' && r != ':' && r != '-' {
			return false
		}
	}
	return true
}

// checkToolConfig: the text for streamed arguments is reported, that for a mode without functions too; the others are
// unverified.
func (c *call) checkToolConfig() *refusal {
	calling := c.fields.message("toolConfig").message("functionCallingConfig")
	if calling == nil {
		return nil
	}
	if calling.truth("streamFunctionCallArguments") && !c.stream {
		return unable("streaming function call is not supported in unary API.")
	}
	var declared []string
	for _, f := range c.declarations() {
		declared = append(declared, f.text("name"))
	}
	mode := calling.text("mode")
	if len(declared) == 0 && !c.vertex() && !c.fields.has("cachedContent") {
		return invalid("Function calling config is set without function_declarations.")
	}
	if mode == "ANY" && len(declared) == 0 && !c.fields.has("cachedContent") {
		return unable("function calling config mode is ANY but no function_declarations are set.")
	}
	for _, name := range calling.list("allowedFunctionNames").texts() {
		switch {
		case mode != "ANY" && mode != "VALIDATED":
			return c.either(unable("allowed_function_names is set but the function calling config mode is not ANY."),
				fault("tool_config.function_calling_config.allowed_function_names", "only allowed when mode is ANY."))
		case !slices.Contains(declared, name):
			return c.either(unable("allowed_function_names has %s, which is not declared.", name),
				fault("tool_config.function_calling_config.allowed_function_names", name+" is not declared."))
		}
	}
	return nil
}
