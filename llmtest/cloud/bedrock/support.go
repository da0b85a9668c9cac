package bedrock

// checkSupport refuses what the model has no use for. The texts for tools, toolChoice, images, system prompts and
// cache points, and that for text beside results, are reported; those for documents and for the output's form
// follow that for images. Which model has what is as of its documentation, for those that tests name most.
func (c *call) checkSupport() *refusal {
	r := &c.body
	switch {
	case c.model == "":
		return nil
	case len(r.System) > 0 && c.is("amazon.titan", "mistral.mistral-7b", "mistral.mixtral", "cohere.command-text", "ai21.j2"):
		return invalid("This model doesn't support system messages. Try again without a system message or use a model " +
			"that supports system messages.")
	case r.outputSchema() != nil && c.is("amazon.titan", "anthropic.claude-3", "meta.llama3"):
		return unsupported("outputConfig.textFormat", "")
	case r.caches() && !c.is("anthropic.claude", "amazon.nova") || r.caches() && c.claude() == 30:
		return except("AccessDeniedException",
			"You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.")
	}
	if no := c.supportTools(); no != nil {
		return no
	}
	return c.supportMedia()
}

func (c *call) supportTools() *refusal {
	config := c.body.ToolConfig
	if config == nil {
		return nil
	}
	switch {
	case c.is("amazon.titan", "deepseek.r1", "mistral.mistral-7b", "mistral.mixtral", "meta.llama3-8b", "meta.llama3-70b",
		"meta.llama3-2-1b", "meta.llama3-2-3b"):
		return invalid("This model doesn't support tool use.")
	case c.stream && c.is("meta.llama", "mistral.mistral-large-2402"):
		return invalid("This model doesn't support tool use in streaming mode.")
	}
	if choice := config.ToolChoice; choice != nil && c.is("meta.llama", "cohere.") {
		switch {
		case choice.Any != nil:
			return unsupported("toolConfig.toolChoice.any", "")
		case choice.Tool != nil:
			return unsupported("toolConfig.toolChoice.tool", "")
		}
	}
	if !c.is("meta.llama", "mistral.") {
		return nil
	}
	for i := range c.body.Messages {
		_, results := c.body.Messages[i].uses()
		if n := len(results); n > 0 && n < len(c.body.Messages[i].Content) {
			return invalid("%s: Conversation blocks and tool result blocks cannot be provided in the same turn.",
				at("messages").item(i).field("content").dotted)
		}
	}
	return nil
}

func (c *call) supportMedia() *refusal {
	const user = " for user messages"
	blind := c.is("amazon.titan", "amazon.nova-micro", "mistral.mistral-7b", "mistral.mistral-large", "mistral.mixtral",
		"meta.llama3-1", "meta.llama3-3", "meta.llama3-8b", "meta.llama3-70b", "deepseek.", "cohere.", "ai21.")
	inside := c.is("anthropic.claude", "amazon.nova", "meta.llama4") // images in the results of tools
	unread := c.is("amazon.nova-micro", "deepseek.v3")
	for i := range c.body.Messages {
		for j := range c.body.Messages[i].Content {
			b := &c.body.Messages[i].Content[j]
			switch {
			case b.Image != nil && blind:
				return unsupported("image", user)
			case b.Document != nil && unread:
				return unsupported("document", user)
			case b.Video != nil && !c.is("amazon.nova", "twelvelabs."):
				return unsupported("video", user)
			}
			for _, r := range b.results() {
				switch {
				case r.Image != nil && !inside:
					return unsupported("image", user)
				case r.Document != nil && given(r.Document.Source.S3Location) && c.is("amazon.nova"): // recorded
					return byModel("Malformed input request: #/messages/%d/content/%d: extraneous key [toolResult] is not "+
						"permitted, please reformat your input and try again.", i, j)
				}
			}
		}
	}
	return nil
}

// checkLimits: the text for the tokens of an answer is reported.
func (c *call) checkLimits() *refusal {
	f := c.body.InferenceConfig
	if most := c.longest(); f != nil && f.MaxTokens != nil && most > 0 && *f.MaxTokens > int64(most) {
		return invalid("The maximum tokens you requested exceeds the model limit of %d. Try again with a maximum tokens "+
			"value that is lower than %[1]d.", most)
	}
	return nil
}

// checkWindow estimates tokens at four bytes each. Both texts are reported.
func (c *call) checkWindow() *refusal {
	most := c.window()
	tokens := c.body.textBytes() / 4
	switch {
	case most == 0 || tokens <= most:
		return nil
	case c.claude() > 0:
		return byModel("prompt is too long: %d tokens > %d maximum", tokens, most)
	default:
		return invalid("Input is too long for requested model.")
	}
}

// textBytes is how much there is to read, images and documents apart.
func (r *conversation) textBytes() (n int) {
	add := func(s *string) {
		if s != nil {
			n += len(*s)
		}
	}
	for _, b := range r.System {
		add(b.Text)
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Content {
			b := &r.Messages[i].Content[j]
			add(b.Text)
			for _, result := range b.results() {
				add(result.Text)
				n += len(result.JSON)
			}
		}
	}
	return n
}
