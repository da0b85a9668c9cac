package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The "type" words of the parts. A type that is none of these is an Opaque's own.
const (
	typeText       = "text"
	typeMedia      = "media"
	typeReasoning  = "reasoning"
	typeToolCall   = "tool_call"
	typeToolResult = "tool_result"
	typeCachePoint = "cache_point"
)

func knownType(t string) bool {
	switch t {
	case typeText, typeMedia, typeReasoning, typeToolCall, typeToolResult, typeCachePoint:
		return true
	default:
		return false
	}
}

// MarshalJSON writes an array of objects with a "type". A part that is nil, a pointer, or an Opaque without
// a type of its own is an error.
func (p Parts) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, part := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		one, err := marshalPart(part)
		if err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		b.Write(one)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

func marshalPart(p Part) ([]byte, error) {
	switch p := p.(type) {
	case Text:
		return tagged(typeText, p)
	case Media:
		return tagged(typeMedia, p)
	case Reasoning:
		return tagged(typeReasoning, p)
	case ToolCall:
		return tagged(typeToolCall, p)
	case ToolResult:
		return tagged(typeToolResult, p)
	case CachePoint:
		return tagged(typeCachePoint, p)
	case Opaque:
		return marshalOpaque(p)
	default:
		return nil, fmt.Errorf("%T is no part; parts are values of the types of package llm", p)
	}
}

// tagged marshals v, a struct, with "type" as its first member.
func tagged(typ string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	head := `{"type":"` + typ + `"`
	if len(body) > len("{}") {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

// marshalOpaque writes the value as it was read when it carries its own type, else wrapped as
// {"type":…,"data":…}. unmarshalOpaque is its inverse.
func marshalOpaque(o Opaque) ([]byte, error) {
	if o.Type == "" || knownType(o.Type) {
		return nil, fmt.Errorf("an opaque part cannot have the type %q", clean(o.Type, 40))
	}
	if fields, ok := object(o.Data); ok && typeOf(fields) == o.Type && !isWrapped(fields) {
		return o.Data, nil
	}
	type wrapped Opaque
	return json.Marshal(wrapped(o))
}

func unmarshalOpaque(typ string, raw json.RawMessage, fields map[string]json.RawMessage) Opaque {
	if isWrapped(fields) {
		return Opaque{Type: typ, Data: bytes.Clone(fields["data"])}
	}
	return Opaque{Type: typ, Data: bytes.Clone(raw)}
}

// isWrapped reports whether an object is {"type":…,"data":…} or {"type":…}.
func isWrapped(fields map[string]json.RawMessage) bool {
	_, data := fields["data"]
	return len(fields) == 1 || len(fields) == 2 && data
}

func object(raw json.RawMessage) (fields map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &fields)
	return fields, err == nil && fields != nil
}

func typeOf(fields map[string]json.RawMessage) string {
	var typ string
	if json.Unmarshal(fields["type"], &typ) != nil {
		return ""
	}
	return typ
}

// UnmarshalJSON reads what MarshalJSON writes. An object of an unknown type becomes Opaque; an element
// without a type is an error that names its index.
func (p *Parts) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	if raws == nil {
		*p = nil
		return nil
	}
	parts := make(Parts, 0, len(raws))
	for i, raw := range raws {
		part, err := unmarshalPart(raw)
		if err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
		parts = append(parts, part)
	}
	*p = parts
	return nil
}

func unmarshalPart(raw json.RawMessage) (Part, error) {
	fields, ok := object(raw)
	if !ok {
		return nil, fmt.Errorf("is no object")
	}
	switch typ := typeOf(fields); typ {
	case "":
		return nil, fmt.Errorf(`has no "type"`)
	case typeText:
		return decodePart[Text](raw)
	case typeMedia:
		return decodePart[Media](raw)
	case typeReasoning:
		return decodePart[Reasoning](raw)
	case typeToolCall:
		return decodePart[ToolCall](raw)
	case typeToolResult:
		return decodePart[ToolResult](raw)
	case typeCachePoint:
		return CachePoint{}, nil
	default:
		return unmarshalOpaque(typ, raw, fields), nil
	}
}

func decodePart[P Part](raw json.RawMessage) (Part, error) {
	var p P
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	return p, nil
}
