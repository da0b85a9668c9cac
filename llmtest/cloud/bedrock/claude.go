package bedrock

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// checkClaude refuses what a Claude model itself refuses, in its words, which the service passes on. All are
// reported, here or for the model's own API; that an answer cannot be begun for it is so from 4.6 on.
func (c *call) checkClaude() *refusal {
	if c.claude() == 0 {
		return nil
	}
	return first(c.claudeFields, c.claudeSampling, c.claudeThinking, c.claudeCache, c.claudeImages, c.claudeMedia,
		c.claudeEnd, c.claudeSchema)
}

// claudeFields: the members that are known are those of the model's own API.
func (c *call) claudeFields() *refusal {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(c.body.AdditionalModelRequestFields, &fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{
			"anthropic_beta", "anthropic_version", "cache_control", "container", "context_management", "mcp_servers",
			"metadata", "output_config", "output_format", "reasoning_config", "stop_sequences", "temperature", "thinking",
			"tool_choice", "tools", "top_k", "top_p",
		}, name) {
			return byModel("%s: Extra inputs are not permitted", name)
		}
	}
	return nil
}

func (c *call) claudeSampling() *refusal {
	f := c.body.InferenceConfig
	if f == nil {
		return nil
	}
	if c.claude() >= 41 && f.Temperature != nil && f.TopP != nil {
		return byModel("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	for _, stop := range f.StopSequences {
		if strings.TrimSpace(stop) == "" {
			return byModel("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

// thinking is the part of the request in which a Claude model is told to think.
func (r *conversation) thinking() (budget int64, on bool) {
	var fields struct {
		Thinking struct {
			Type   string
			Budget *int64 `json:"budget_tokens"`
		}
	}
	_ = json.Unmarshal(r.AdditionalModelRequestFields, &fields)
	switch {
	case fields.Thinking.Type != "enabled":
		return 0, fields.Thinking.Type == "adaptive"
	case fields.Thinking.Budget == nil:
		return 0, true
	default:
		return *fields.Thinking.Budget, true
	}
}

func (c *call) claudeThinking() *refusal {
	budget, on := c.body.thinking()
	f := c.body.InferenceConfig
	switch {
	case !on:
		return nil
	case budget > 0 && budget < 1024:
		return byModel("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case f != nil && f.MaxTokens != nil && budget >= *f.MaxTokens:
		return byModel("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case f != nil && f.Temperature != nil && *f.Temperature != 1:
		return byModel("`temperature` may only be set to 1 when thinking is enabled.")
	case c.body.forced():
		return byModel("Thinking may not be enabled when tool_choice forces tool use.")
	case c.body.adapts():
		return nil // then a turn may begin with anything
	default:
		return c.body.thoughtless()
	}
}

// adapts reports whether the model decides itself how much it thinks.
func (r *conversation) adapts() bool {
	var fields struct{ Thinking struct{ Type string } }
	_ = json.Unmarshal(r.AdditionalModelRequestFields, &fields)
	return fields.Thinking.Type == "adaptive"
}

// thoughtless refuses to think on behind calls that no thought led to: those of another model, say. The text is
// reported, https://github.com/anomalyco/opencode/issues/3077; its spelling is the model's.
func (r *conversation) thoughtless() *refusal {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := &r.Messages[i]
		if *m.Role != "assistant" {
			continue
		}
		calls := slices.ContainsFunc(m.Content, func(b block) bool { return b.ToolUse != nil })
		begins := &m.Content[0]
		if !calls || begins.ReasoningContent != nil {
			return nil
		}
		found := "tool_use"
		if begins.Text != nil {
			found = "text"
		}
		return byModel("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "+ //nolint:misspell // theirs
			"set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid "+
			"this requirement, disable `thinking`. Please consult our documentation at "+
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking", i, found)
	}
	return nil
}

func (c *call) claudeCache() *refusal {
	if n := len(c.body.cachePoints()); n > 4 {
		return byModel("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return nil
}

func (c *call) claudeImages() *refusal {
	if images, documents := c.body.pictured(); images+documents > 20 {
		return byModel("messages: too many images and documents: %d + %d > 20", images, documents)
	}
	return nil
}

// claudeMedia: a Claude model reads no S3. The text, which names no culprit, is recorded.
func (c *call) claudeMedia() *refusal {
	for i := range c.body.Messages {
		for j := range c.body.Messages[i].Content {
			b, p := &c.body.Messages[i].Content[j], at("messages").item(i).field("content").item(j)
			switch {
			case b.Document != nil && given(b.Document.Source.S3Location):
				return byModel("%s.document.source.type: Field required", p.dotted)
			case b.Image != nil && given(b.Image.Source.S3Location):
				return byModel("%s.image.source.type: Field required", p.dotted)
			}
		}
	}
	return nil
}

// claudeEnd looks at the beginning of an answer that the request itself brings.
func (c *call) claudeEnd() *refusal {
	last := &c.body.Messages[len(c.body.Messages)-1]
	if *last.Role != "assistant" {
		return nil
	}
	if c.claude() >= 46 {
		return byModel("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if text := last.Content[len(last.Content)-1].Text; text != nil && *text != strings.TrimRightFunc(*text, unicode.IsSpace) {
		return byModel("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

// claudeSchema: objects of an output's schema are closed.
func (c *call) claudeSchema() *refusal {
	text := c.body.outputSchema()
	if text == nil {
		return nil
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal([]byte(*text), &schema) != nil {
		return byModel("output_config.format.schema: Input should be a valid dictionary") // unverified
	}
	if string(schema["type"]) == `"object"` && string(schema["additionalProperties"]) != "false" {
		return byModel("output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
	}
	return nil
}
