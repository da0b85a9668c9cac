package llm

import (
	"bytes"
	"maps"
	"slices"
)

// Clone returns a deep copy: no slice, map or pointer is shared. Accept is the same function.
func (r *Request) Clone() *Request {
	if r == nil {
		return nil
	}
	c := *r
	c.Messages = cloneMessages(r.Messages)
	c.Tools = slices.Clone(r.Tools)
	for i := range c.Tools {
		c.Tools[i].Parameters = bytes.Clone(c.Tools[i].Parameters)
	}
	if r.Output != nil {
		output := *r.Output
		output.JSON = bytes.Clone(output.JSON)
		c.Output = &output
	}
	c.Temperature, c.TopP, c.Seed = clonePointer(r.Temperature), clonePointer(r.TopP), clonePointer(r.Seed)
	c.Stop = slices.Clone(r.Stop)
	c.Route.Only, c.Route.Tags = slices.Clone(r.Route.Only), slices.Clone(r.Route.Tags)
	c.Metadata, c.Extra = maps.Clone(r.Metadata), maps.Clone(r.Extra)
	for name, raw := range c.Extra {
		c.Extra[name] = bytes.Clone(raw)
	}
	return &c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func cloneMessages(messages []Message) []Message {
	c := slices.Clone(messages)
	for i := range c {
		c[i].Parts = cloneParts(c[i].Parts)
	}
	return c
}

func cloneParts(parts Parts) Parts {
	c := slices.Clone(parts)
	for i := range c {
		c[i] = clonePart(c[i])
	}
	return c
}

func clonePart(part Part) Part {
	switch p := part.(type) {
	case Text:
		p.Signature = bytes.Clone(p.Signature)
		return p
	case Media:
		p.Data = bytes.Clone(p.Data)
		return p
	case Reasoning:
		p.Signature = bytes.Clone(p.Signature)
		return p
	case ToolCall:
		p.Signature = bytes.Clone(p.Signature)
		return p
	case ToolResult:
		p.Parts = cloneParts(p.Parts)
		return p
	case Opaque:
		p.Data = bytes.Clone(p.Data)
		return p
	default: // CachePoint, nil, and what validation refuses
		return part
	}
}

// clone returns a deep copy.
func (r *Response) clone() *Response {
	c := *r
	c.Message.Parts = cloneParts(r.Message.Parts)
	c.Attempts, c.Skipped, c.Warnings = slices.Clone(r.Attempts), slices.Clone(r.Skipped), slices.Clone(r.Warnings)
	return &c
}
