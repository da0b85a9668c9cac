package bedrock

import (
	"slices"
	"strings"
)

// checkMessages: the texts for empty and blank content, for the order of roles and for results are reported.
func (c *call) checkMessages() *refusal {
	messages := c.body.Messages
	for i := range messages {
		p := at("messages").item(i)
		if len(messages[i].Content) == 0 {
			return invalid("The content field in the Message object at %s is empty. Add a ContentBlock object to the "+
				"content field and try again.", p.dotted)
		}
		for j := range messages[i].Content {
			if no := messages[i].Content[j].check(p.field("content").item(j), *messages[i].Role); no != nil {
				return no
			}
		}
	}
	if no := checkRoles(messages); no != nil {
		return no
	}
	return c.checkUses()
}

func checkRoles(messages []message) *refusal {
	if len(messages) == 0 || *messages[0].Role != "user" {
		return invalid("A conversation must start with a user message. Try again with a conversation that starts with a " +
			"user message.")
	}
	for i := 1; i < len(messages); i++ {
		if *messages[i].Role == *messages[i-1].Role {
			return invalid("A conversation must alternate between user and assistant roles. Make sure the conversation " +
				"alternates between user and assistant roles and try again.")
		}
	}
	return nil
}

// check looks at what a block says, and who says it.
func (b *block) check(p place, role string) *refusal {
	if count(b.Text != nil, b.Image != nil, b.Document != nil, b.Video != nil, b.Audio != nil, b.ToolUse != nil,
		b.ToolResult != nil, b.GuardContent != nil, b.CachePoint != nil, b.ReasoningContent != nil,
		given(b.CitationsContent), given(b.SearchResult)) != 1 {
		return mustSet("ContentBlock", p, "text", "image", "toolUse", "toolResult", "document", "video", "cachePoint",
			"reasoningContent", "citationsContent", "searchResult")
	}
	if blank(b.Text) {
		return blankText("ContentBlock", p)
	}
	if no := b.checkRole(role); no != nil {
		return no
	}
	switch {
	case b.Image != nil:
		return b.Image.Source.check("ImageSource", p.field("image"))
	case b.Video != nil:
		return b.Video.Source.check("VideoSource", p.field("video"))
	case b.Document != nil:
		return b.Document.check(p.field("document"))
	case b.ToolUse != nil && !isObject(b.ToolUse.Input):
		return badFormat(p.field("toolUse").field("input"))
	case b.ToolResult != nil:
		return b.ToolResult.check(p.field("toolResult"))
	case b.ReasoningContent != nil && (b.ReasoningContent.ReasoningText == nil) == (b.ReasoningContent.RedactedContent == nil):
		return mustSet("ReasoningContentBlock", p.field("reasoningContent"), "reasoningText", "redactedContent")
	default:
		return nil
	}
}

// blankText is reported for ContentBlock; for the others it follows that pattern.
func blankText(what string, p place) *refusal {
	return invalid("The text field in the %s object at %s is blank. Add text to the text field, and try again.", what, p.dotted)
}

// badFormat is reported for inputSchema.json.
func badFormat(p place) *refusal {
	return invalid("The format of the value at %s is invalid. Provide a json object for the field and try again.", p.dotted)
}

// unsupported is reported for images and for toolChoice; for other fields it follows that pattern.
func unsupported(field, where string) *refusal {
	return invalid("This model doesn't support the %s field%s. Remove %[1]s and try again.", field, where)
}

// checkRole refuses what only the other side says. The text is that for images, with other words: unverified.
func (b *block) checkRole(role string) *refusal {
	where := " for " + role + " messages"
	switch {
	case role == "user" && b.ToolUse != nil:
		return unsupported("toolUse", where)
	case role == "user" && b.ReasoningContent != nil:
		return unsupported("reasoningContent", where)
	case role == "assistant" && b.ToolResult != nil:
		return unsupported("toolResult", where)
	case role == "assistant" && b.Image != nil:
		return unsupported("image", where)
	case role == "assistant" && b.Document != nil:
		return unsupported("document", where)
	case role == "assistant" && b.Video != nil:
		return unsupported("video", where)
	default:
		return nil
	}
}

func (t *toolResult) check(p place) *refusal {
	for i := range t.Content {
		b, item := &t.Content[i], p.field("content").item(i)
		switch {
		case count(b.Text != nil, given(b.JSON), b.Image != nil, b.Document != nil, b.Video != nil, given(b.SearchResult)) != 1:
			return mustSet("ToolResultContentBlock", item, "text", "image", "json", "document", "video", "searchResult")
		case blank(b.Text):
			return blankText("ToolResultContentBlock", item)
		case given(b.JSON) && !isObject(b.JSON):
			return badFormat(item.field("json"))
		case b.Document != nil:
			if no := b.Document.check(item.field("document")); no != nil {
				return no
			}
		case b.Image != nil:
			if no := b.Image.Source.check("ImageSource", item.field("image")); no != nil {
				return no
			}
		}
	}
	return nil
}

// uses are the ids of the tools that a message uses, results those of the results that it brings.
func (m *message) uses() (uses, results []string) {
	for i := range m.Content {
		if u := m.Content[i].ToolUse; u != nil {
			uses = append(uses, *u.ToolUseID)
		}
		if r := m.Content[i].ToolResult; r != nil {
			results = append(results, *r.ToolUseID)
		}
	}
	return uses, results
}

// checkUses looks at who answers whom: all tool uses of a turn in the next message, and nothing else. For a
// conversation that ends with a use, which nobody answers, the text is unverified.
func (c *call) checkUses() *refusal {
	var asked []string
	for i := range c.body.Messages {
		p := at("messages").item(i).field("content")
		uses, results := c.body.Messages[i].uses()
		if no := first(
			func() *refusal { return distinct("toolUse", p, uses) },
			func() *refusal { return distinct("toolResult", p, results) },
			func() *refusal { return answered(p, asked, results) },
		); no != nil {
			return no
		}
		asked = uses
	}
	return answered(at("messages").item(len(c.body.Messages)).field("content"), asked, nil)
}

func distinct(kind string, p place, ids []string) *refusal {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return invalid("The %s blocks at %s contain duplicate Ids: %s", kind, p.dotted, id)
		}
	}
	return nil
}

func answered(p place, asked, results []string) *refusal {
	open := slices.DeleteFunc(slices.Clone(asked), func(id string) bool { return slices.Contains(results, id) })
	switch {
	case len(results) > len(asked):
		return invalid("The number of toolResult blocks at %s exceeds the number of toolUse blocks of previous turn.", p.dotted)
	case len(open) > 0:
		return invalid("Expected toolResult blocks at %s for the following Ids: %s", p.dotted, strings.Join(open, ", "))
	default:
		return nil
	}
}

func (c *call) checkSystem() *refusal {
	for i, b := range c.body.System {
		p := at("system").item(i)
		if count(b.Text != nil, b.GuardContent != nil, b.CachePoint != nil) != 1 {
			return mustSet("SystemContentBlock", p, "text", "guardContent", "cachePoint")
		}
		if blank(b.Text) {
			return blankText("SystemContentBlock", p)
		}
	}
	return nil
}
