package azure

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// bound is a parameter that is a number between two others.
type bound struct {
	name        string
	least, most float64
	integer     bool
}

func (c *call) checkNumbers() *refusal {
	for _, b := range []bound{
		{"temperature", 0, 2, false},
		{"top_p", 0, 1, false},
		{"presence_penalty", -2, 2, false},
		{"frequency_penalty", -2, 2, false},
		{"n", 1, 128, true},
		{"top_logprobs", 0, 20, true},
		{"max_tokens", 1, 1 << 31, true},
		{"max_completion_tokens", 1, 1 << 31, true},
	} {
		if no := c.checkBound(b); no != nil {
			return no
		}
	}
	if no := c.want("seed", "integer"); no != nil {
		return no
	}
	return c.checkSampling()
}

func (c *call) checkBound(b bound) *refusal {
	kind := "decimal"
	if b.integer {
		kind = "integer"
	}
	kinds := slices.Compact([]string{kind, "integer"})
	if no := c.want(b.name, kinds...); no != nil || !c.fields.has(b.name) {
		return no
	}
	got, err := strconv.ParseFloat(string(c.fields[b.name]), 64)
	if err == nil && got >= b.least && got <= b.most {
		return nil
	}
	side, sign, limit, code := "above maximum", "<=", b.most, "above_max_value"
	if got < b.least {
		side, sign, limit, code = "below minimum", ">=", b.least, "below_min_value"
	}
	return invalid(b.name, kind+"_"+code, "Invalid '%s': %s %s value. Expected a value %s %v, but got %s instead.",
		b.name, kind, side, sign, strconv.FormatFloat(limit, 'f', -1, 64), c.fields[b.name])
}

// checkSampling: models that reason take temperature 1 and no other way to sample. Which message is whose
// varies from model to model; those for temperature and the forms of "Unsupported parameter" are reported.
func (c *call) checkSampling() *refusal {
	if !reasons(c.model) {
		return nil
	}
	var t float64
	if c.fields.has("temperature") && json.Unmarshal(c.fields["temperature"], &t) == nil && t != 1 {
		return invalid("temperature", "unsupported_value", "Unsupported value: 'temperature' does not support %s with "+
			"this model. Only the default (1) value is supported.", c.fields["temperature"])
	}
	for _, name := range []string{"top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "stop"} {
		if c.fields.has(name) {
			return unsupported(name, "")
		}
	}
	return nil
}

func unsupported(name, hint string) *refusal {
	return invalid(name, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.%s", name, hint)
}

// checkLimits looks at the limits of output.
func (c *call) checkLimits() *refusal {
	old, both := c.fields.has("max_tokens"), c.fields.has("max_completion_tokens")
	switch {
	case old && both:
		return invalid("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case old && reasons(c.model):
		return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		var n int
		if json.Unmarshal(c.fields[name], &n) == nil && n > longest(c.model) {
			return invalid(name, "invalid_value", "%s is too large: %d. This model supports at most %d completion tokens, "+
				"whereas you provided %[2]d.", name, n, longest(c.model))
		}
	}
	return nil
}

func (c *call) checkStop() *refusal {
	if no := c.want("stop", "string", "array"); no != nil {
		return no
	}
	list, ok := c.fields.list("stop")
	if !ok {
		return nil
	}
	for i, item := range list {
		if kind := kindOf(item); kind != "string" {
			return wrongType(fmt.Sprintf("stop[%d]", i), "a string", kind)
		}
	}
	if len(list) > 4 {
		return longArray("stop", 4, len(list))
	}
	return nil
}

// checkOther looks at what has little to go wrong.
func (c *call) checkOther() *refusal {
	for _, p := range []struct{ name, kind string }{
		{"user", "string"},
		{"logprobs", "boolean"},
		{"store", "boolean"},
		{"metadata", "object"},
		{"logit_bias", "object"},
		{"parallel_tool_calls", "boolean"},
		{"response_format", "object"},
		{"reasoning_effort", "string"},
		{"tools", "array"},
		{"prompt_cache_key", "string"},
		{"safety_identifier", "string"},
		{"verbosity", "string"},
		{"service_tier", "string"},
	} {
		if no := c.want(p.name, p.kind); no != nil {
			return no
		}
	}
	if c.fields.has("top_logprobs") && !c.fields.boolean("logprobs") {
		return invalid("top_logprobs", "", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	}
	return c.checkMetadata()
}

// checkMetadata: the rule that it needs store is reported, the limits are documented, their texts unverified.
func (c *call) checkMetadata() *refusal {
	metadata, ok := c.fields.object("metadata")
	if !ok {
		return nil
	}
	if !c.fields.boolean("store") {
		return invalid("metadata", "", "The 'metadata' parameter is only allowed when 'store' is enabled.")
	}
	if n := len(metadata); n > 16 {
		return invalid("metadata", "object_above_max_properties", "Invalid 'metadata': too many properties. Expected an "+
			"object with at most 16 properties, but got an object with %d properties instead.", n)
	}
	for key, value := range metadata {
		s, ok := metadata.text(key)
		if !ok {
			return wrongType("metadata."+key, "a string", kindOf(value))
		}
		if no := longText("metadata."+key, s, 512); no != nil {
			return no
		}
	}
	return nil
}

// checkEffort: a model that does not reason does not know the parameter at all.
func (c *call) checkEffort() *refusal {
	effort, ok := c.fields.text("reasoning_effort")
	if !ok {
		return nil
	}
	if !reasons(c.model) {
		return invalid("", "", "Unrecognized request argument supplied: reasoning_effort")
	}
	return oneOf("reasoning_effort", effort, efforts(c.model)...)
}
