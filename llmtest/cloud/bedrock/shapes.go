package bedrock

import (
	"regexp"
	"strings"
)

// toolName and toolUseID are the service's patterns, as reported; the second is that of its documentation, wide
// enough for the ids that the service itself hands out.
var (
	toolName  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	toolUseID = regexp.MustCompile(`^[a-zA-Z0-9_.:-]+$`)
)

func (p place) toolName(name *string) *refusal {
	switch {
	case name == nil:
		return p.missing()
	case !toolName.MatchString(*name):
		return p.broken(*name, "satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	default:
		return p.length(*name, 1, 64)
	}
}

func (p place) toolUseID(id *string) *refusal {
	switch {
	case id == nil:
		return p.missing()
	case !toolUseID.MatchString(*id):
		return p.broken(*id, "satisfy regular expression pattern: [a-zA-Z0-9_.:-]+")
	default:
		return p.length(*id, 1, 64)
	}
}

// shapeMessages looks at the form of all messages.
func (r *conversation) shapeMessages() *refusal {
	for i := range r.Messages {
		m, p := &r.Messages[i], at("messages").item(i)
		if no := p.field("role").need(m.Role != nil); no != nil {
			return no
		}
		if no := p.field("role").oneOf(m.Role, "user", "assistant"); no != nil {
			return no
		}
		if no := p.field("content").need(m.Content != nil); no != nil {
			return no
		}
		for j := range m.Content {
			if no := m.Content[j].shape(p.field("content").item(j)); no != nil {
				return no
			}
		}
	}
	return nil
}

func (b *block) shape(p place) *refusal {
	switch {
	case b.Image != nil:
		return b.Image.shapeImage(p.field("image"), "png", "jpeg", "gif", "webp")
	case b.Document != nil:
		return b.Document.shape(p.field("document"))
	case b.Video != nil:
		return b.Video.shapeImage(p.field("video"), "mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")
	case b.ToolUse != nil:
		return first(
			func() *refusal { return p.field("toolUse").field("toolUseId").toolUseID(b.ToolUse.ToolUseID) },
			func() *refusal { return p.field("toolUse").field("name").toolName(b.ToolUse.Name) },
			func() *refusal { return p.field("toolUse").field("input").need(len(b.ToolUse.Input) > 0) },
		)
	case b.ToolResult != nil:
		return b.ToolResult.shape(p.field("toolResult"))
	case b.GuardContent != nil && b.GuardContent.Image != nil: // reported: fewer than elsewhere
		return b.GuardContent.Image.shapeImage(p.field("guardContent").field("image"), "jpeg", "png")
	case b.ReasoningContent != nil && b.ReasoningContent.ReasoningText != nil: // reported
		return p.field("reasoningContent").field("reasoningText").field("text").need(b.ReasoningContent.ReasoningText.Text != nil)
	default:
		return p.cachePoint(b.CachePoint)
	}
}

// shapeImage: that the words are in lower case only is reported.
func (m *media) shapeImage(p place, formats ...string) *refusal {
	return first(
		func() *refusal { return p.field("format").need(m.Format != nil) },
		func() *refusal { return p.field("format").oneOf(m.Format, formats...) },
		func() *refusal { return p.field("source").need(m.Source != nil) },
	)
}

func (d *document) shape(p place) *refusal {
	return first(
		func() *refusal {
			return p.field("format").oneOf(d.Format, "docx", "csv", "html", "txt", "pdf", "md", "doc", "xlsx", "xls")
		},
		func() *refusal { return p.field("name").need(d.Name != nil) },
		func() *refusal { return p.field("name").length(*d.Name, 1, 200) },
		func() *refusal { return p.field("source").need(d.Source != nil) },
	)
}

func (t *toolResult) shape(p place) *refusal {
	no := first(
		func() *refusal { return p.field("toolUseId").toolUseID(t.ToolUseID) },
		func() *refusal { return p.field("content").need(t.Content != nil) },
		func() *refusal { return p.field("status").oneOf(t.Status, "success", "error") },
	)
	for i := range t.Content {
		if no != nil {
			return no
		}
		b := &block{Image: t.Content[i].Image, Document: t.Content[i].Document, Video: t.Content[i].Video}
		no = b.shape(p.field("content").item(i))
	}
	return no
}

// mustSet is the refusal of a union that is none. The text is reported for two unions.
func mustSet(union string, p place, keys ...string) *refusal {
	return invalid("%s object at %s must set one of the following keys: %s.", union, p.dotted, strings.Join(keys, ", "))
}

// count is how many of the members are set.
func count(members ...bool) int {
	n := 0
	for _, set := range members {
		if set {
			n++
		}
	}
	return n
}

// shapeTools: the patterns and lengths are reported.
func (r *conversation) shapeTools() *refusal {
	if r.ToolConfig == nil {
		return nil
	}
	p := at("toolConfig")
	if r.ToolConfig.Tools == nil {
		return p.field("tools").missing()
	}
	if len(r.ToolConfig.Tools) == 0 {
		return p.field("tools").broken("[]", "have length greater than or equal to 1")
	}
	for i, t := range r.ToolConfig.Tools {
		item := p.field("tools").item(i)
		if no := item.cachePoint(t.CachePoint); no != nil {
			return no
		}
		if t.ToolSpec == nil {
			continue
		}
		if no := t.ToolSpec.shape(item.field("toolSpec")); no != nil {
			return no
		}
	}
	if choice := r.ToolConfig.ToolChoice; choice != nil && choice.Tool != nil {
		return p.field("toolChoice").field("tool").field("name").toolName(choice.Tool.Name)
	}
	return nil
}

func (t *toolSpec) shape(p place) *refusal {
	if no := p.field("name").toolName(t.Name); no != nil {
		return no
	}
	if t.Description != nil && *t.Description == "" {
		return p.field("description").broken("", "have length greater than or equal to 1")
	}
	return p.field("inputSchema").need(t.InputSchema != nil)
}
