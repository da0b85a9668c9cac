package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Parts is the content of a message, in order. Its JSON form is an array of objects that each carry a
// "type"; an object of an unknown type becomes [Opaque] and keeps its value.
type Parts []Part

// Part is one piece of a message. The set of types is sealed: [Text], [Media], [Reasoning], [ToolCall],
// [ToolResult], [CachePoint] and [Opaque], always as values, never as pointers (validation refuses
// pointers). A switch over it needs a default case, since types may be added.
type Part interface{ part() }

// Text is plain text.
type Text struct {
	Text      string `json:"text,omitempty"`
	Signature []byte `json:"signature,omitempty"` // the maker's own proof of its thoughts; sent back to it alone
}

// Media is an image, document, audio or video, told apart by MediaType. Exactly one of URI and Data is set.
type Media struct {
	MediaType string `json:"media_type,omitempty"` // for example "image/png"
	URI       string `json:"uri,omitempty"`
	Name      string `json:"name,omitempty"` // of a document
	Data      []byte `json:"data,omitempty"`
}

// Reasoning is what a model thought before it answered. Signature proves it to the model that made it.
type Reasoning struct {
	Text      string `json:"text,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// ToolCall asks the application to run a tool. Arguments is JSON as the model wrote it: it may be cut or
// malformed, and [ToolCall.Decode] says so. A call without arguments has "{}".
type ToolCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// ToolResult answers the ToolCall whose ID is CallID.
type ToolResult struct {
	CallID  string `json:"call_id,omitempty"`
	Name    string `json:"name,omitempty"` // of the tool; some vendors want it, adapters look it up if empty
	Parts   Parts  `json:"parts,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

// CachePoint marks the end of a prefix that the provider may cache. Providers without such marks ignore it.
type CachePoint struct{}

// Opaque is a part that this version does not know. It goes back unchanged to the provider that made it and
// is left out for others. Data is the part's whole JSON object when that has the "type" in it, else whatever
// JSON belongs to the Type. Decoding keeps every byte but blanks between values; encoding/json may write the
// letters <, > and & of it as escapes, as it does everywhere.
type Opaque struct {
	Type string          `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

func (Text) part()       {}
func (Media) part()      {}
func (Reasoning) part()  {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (CachePoint) part() {}
func (Opaque) part()     {}

// Result returns the result of c with one text, for [ToolResults].
func (c ToolCall) Result(text string) ToolResult {
	return ToolResult{CallID: c.ID, Name: c.Name, Parts: Parts{Text{Text: text}}}
}

// Decode unmarshals the arguments into v, a non-nil pointer; empty arguments are "{}". It fails with
// [ErrBadOutput] if the arguments are no JSON (an answer cut by MaxTokens ends in the middle) or do not fit
// v. The error names the field, never its value, and errors.As reaches the error of encoding/json.
func (c ToolCall) Decode(v any) error {
	args := c.Arguments
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	err := json.Unmarshal([]byte(args), v)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		return Invalid("v", "is no pointer to decode into", "pass the address of a variable")
	}
	field, problem := "arguments", "cannot be decoded"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		problem = fmt.Sprintf("are no JSON at byte %d of %d", syntax.Offset, len(args))
	} else if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if typ.Field != "" {
			field += "." + typ.Field
		}
		problem = fmt.Sprintf("do not fit at byte %d: %s is wanted", typ.Offset, jsonWord(typ.Type))
	}
	return &Error{Kind: ErrBadOutput, Err: errors.Join(&FieldError{
		Field: "tool call " + clean(c.Name, 64) + ": " + field, Problem: problem,
		Next: "answer the call with an error result",
	}, err)}
}

// jsonWord says in JSON's terms what a Go type is decoded from.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "a whole number in range"
	default:
		return "another value"
	}
}
