package llm

import (
	"bytes"
	"encoding/json"
	"errors"
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

// maxNesting bounds tool results inside tool results, which no vendor knows: each level is read anew, so
// without a bound a short text of brackets would take seconds.
const maxNesting = 16

var errNesting = errors.New("tool results are nested too deep")

func knownType(t string) bool {
	switch t {
	case typeText, typeMedia, typeReasoning, typeToolCall, typeToolResult, typeCachePoint:
		return true
	default:
		return false
	}
}

// MarshalJSON writes an array of objects with a "type". A part that is nil, a pointer, or an Opaque without
// a type of its own is an error that names its index.
func (p Parts) MarshalJSON() ([]byte, error) { return marshalParts(p, 0) }

func marshalParts(p Parts, depth int) ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	if depth > maxNesting {
		return nil, errNesting
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, part := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		one, err := marshalPart(part, depth)
		if err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		b.Write(one)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

func marshalPart(p Part, depth int) ([]byte, error) {
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
		return marshalToolResult(p, depth)
	case CachePoint:
		return tagged(typeCachePoint, p)
	case Opaque:
		return marshalOpaque(p)
	case nil:
		return nil, errors.New("is nil")
	default:
		return nil, errors.New("is none of the part types; parts are values, not pointers")
	}
}

// tagged marshals v, a struct, with "type" as its first member.
func tagged(typ string, v any) ([]byte, error) {
	body, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	head := `{"type":"` + typ + `"`
	if len(body) > len("{}") {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

// toolResultJSON is a ToolResult whose parts are read and written by hand, to count the levels.
type toolResultJSON struct {
	plainToolResult

	Parts json.RawMessage `json:"parts,omitempty"` // hides the other Parts
}

type plainToolResult ToolResult

func marshalToolResult(t ToolResult, depth int) ([]byte, error) {
	j := toolResultJSON{plainToolResult: plainToolResult(t)}
	if len(t.Parts) > 0 {
		parts, err := marshalParts(t.Parts, depth+1)
		if err != nil {
			return nil, err
		}
		j.Parts = parts
	}
	return tagged(typeToolResult, j)
}

func unmarshalToolResult(raw json.RawMessage, depth int) (Part, error) {
	var j toolResultJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	t := ToolResult(j.plainToolResult)
	if len(j.Parts) > 0 {
		parts, err := unmarshalParts(j.Parts, depth+1)
		if err != nil {
			return nil, err
		}
		t.Parts = parts
	}
	return t, nil
}

// marshalOpaque writes the value as it was read when it carries its own type, else wrapped as
// {"type":…,"data":…}. unmarshalOpaque is its inverse.
func marshalOpaque(o Opaque) ([]byte, error) {
	if o.Type == "" || knownType(o.Type) {
		return nil, fmt.Errorf("an opaque part cannot have the type %q", clean(o.Type, 40))
	}
	if fields, ok := object(o.Data); ok && typeOf(fields) == o.Type && !isWrapped(fields) {
		return compact(o.Data), nil
	}
	return plainJSON(o)
}

// plainJSON leaves <, > and & as they are. Whoever encodes the parts decides on that: json.Marshal escapes
// them in what a MarshalJSON returns, too, but an encoder that was told not to could not take it back.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func unmarshalOpaque(typ string, raw json.RawMessage, fields map[string]json.RawMessage) Opaque {
	if isWrapped(fields) {
		return Opaque{Type: typ, Data: compact(fields["data"])}
	}
	return Opaque{Type: typ, Data: compact(raw)}
}

// compact is a copy of raw, valid JSON, without blanks between values; nil of nothing.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return bytes.Clone(raw)
	}
	return b.Bytes()
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
	parts, err := unmarshalParts(data, 0)
	if err != nil {
		return err
	}
	*p = parts
	return nil
}

func unmarshalParts(data []byte, depth int) (Parts, error) {
	if depth > maxNesting {
		return nil, errNesting
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, err
	}
	if raws == nil {
		return nil, nil
	}
	parts := make(Parts, 0, len(raws))
	for i, raw := range raws {
		part, err := unmarshalPart(raw, depth)
		if err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func unmarshalPart(raw json.RawMessage, depth int) (Part, error) {
	fields, ok := object(raw)
	if !ok {
		return nil, errors.New("is no object")
	}
	switch typ := typeOf(fields); typ {
	case "":
		return nil, errors.New(`has no "type"`)
	case typeText:
		return decodePart[Text](raw)
	case typeMedia:
		return decodePart[Media](raw)
	case typeReasoning:
		return decodePart[Reasoning](raw)
	case typeToolCall:
		return decodePart[ToolCall](raw)
	case typeToolResult:
		return unmarshalToolResult(raw, depth)
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
