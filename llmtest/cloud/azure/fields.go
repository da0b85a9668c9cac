package azure

import (
	"encoding/json"
	"slices"
	"strings"
)

// checkFields refuses a body that the service refuses. Its first complaint is the only one, as there.
func (c *call) checkFields() *refusal {
	for _, test := range []func() *refusal{
		c.checkNames, c.checkMessages, c.checkStream, c.checkNumbers, c.checkLimits, c.checkStop, c.checkOther,
		c.checkEffort, c.checkFormat, c.checkTools, c.checkToolChoice, c.checkWindow,
	} {
		if no := test(); no != nil {
			return no
		}
	}
	return nil
}

// parameters are all that chat completions know.
func parameters() []string {
	return []string{
		"audio", "data_sources", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
		"max_completion_tokens", "max_tokens", "messages", "metadata", "modalities", "model", "n",
		"parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_retention",
		"reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
		"stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user",
		"user_security_context", "verbosity", "web_search_options",
	}
}

func (c *call) checkNames() *refusal {
	var unknown []string
	for name := range c.fields {
		if !slices.Contains(parameters(), name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return invalid("", "", "Unrecognized request argument supplied: %s", unknown[0])
	default:
		return invalid("", "", "Unrecognized request arguments supplied: %s", strings.Join(unknown, ", "))
	}
}

func (c *call) checkStream() *refusal {
	if no := c.want("stream", "boolean"); no != nil {
		return no
	}
	if !c.fields.has("stream_options") {
		return nil
	}
	if !c.stream {
		return invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	return c.want("stream_options", "object")
}

// want refuses a value of another type.
func (c *call) want(name string, kinds ...string) *refusal {
	return want(c.fields, name, name, kinds...)
}

// want refuses the value of o[name], known to the client as path, if it has another type. null is no value.
func want(o object, name, path string, kinds ...string) *refusal {
	if !o.has(name) {
		return nil
	}
	got := kindOf(o[name])
	if slices.Contains(kinds, got) {
		return nil
	}
	return wrongType(path, words(kinds), got)
}

func wrongType(path, wanted, got string) *refusal {
	return invalid(path, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.", path, wanted, article(got))
}

// words joins the names of types as the service does.
func words(kinds []string) string {
	if slices.Equal(kinds, []string{"decimal", "integer"}) {
		return "a decimal"
	}
	if len(kinds) == 1 {
		return article(kinds[0])
	}
	return "one of " + article(kinds[0]) + " or " + strings.Join(kinds[1:], " or ")
}

func missing(path string) *refusal {
	return invalid(path, "missing_required_parameter", "Missing required parameter: '%s'.", path)
}

// oneOf refuses a word that is not among those known.
func oneOf(path, got string, known ...string) *refusal {
	if slices.Contains(known, got) {
		return nil
	}
	return invalid(path, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", got, quoted(known))
}

// quoted lists words as "'a', 'b', and 'c'".
func quoted(list []string) string {
	last := len(list) - 1
	if last == 0 {
		return "'" + list[0] + "'"
	}
	comma := ","
	if last == 1 {
		comma = ""
	}
	return "'" + strings.Join(list[:last], "', '") + "'" + comma + " and '" + list[last] + "'"
}

func emptyArray(path string) *refusal {
	return invalid(path, "empty_array",
		"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", path)
}

func longArray(path string, most, got int) *refusal {
	return invalid(path, "array_above_max_length", "Invalid '%s': array too long. Expected an array with maximum "+
		"length %d, but got an array with length %d instead.", path, most, got)
}

// longText refuses a text that is longer than most.
func longText(path, s string, most int) *refusal {
	if n := len([]rune(s)); n > most {
		return invalid(path, "string_above_max_length", "Invalid '%s': string too long. Expected a string with maximum "+
			"length %d, but got a string with length %d instead.", path, most, n)
	}
	return nil
}

// name refuses what is no name for a tool or a schema: missing, of other characters, or longer than 64.
func name(o object, path string) *refusal {
	s, ok := o.text("name")
	switch {
	case !o.has("name"):
		return missing(path)
	case !ok:
		return wrongType(path, "a string", kindOf(o["name"]))
	case !namePattern(s):
		return invalid(path, "invalid_value", "Invalid '%s': string does not match pattern. Expected a string that "+
			"matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
	}
	return longText(path, s, 64)
}

func namePattern(s string) bool {
	bad := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	return s != "" && bad < 0
}

// decode reads an object, or is nil.
func decode(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}
