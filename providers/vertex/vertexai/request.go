package vertexai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/splice"
	"github.com/punctual-llm/punctual/llm"
)

// encode makes a message of a request in JSON. What the message has no place for is Unsupported, by name.
func encode(body []byte, model string) (*aiplatformpb.GenerateContentRequest, *llm.Error) {
	body, parts, err := takeParts(body)
	if err != nil {
		return nil, unsupported("messages", "holds a part of this engine that cannot be read")
	}
	req := new(aiplatformpb.GenerateContentRequest)
	err = protojson.Unmarshal(body, req)
	if err != nil || hasLongNumber(body) {
		if e := explain(body, req.ProtoReflect().Descriptor()); e != nil {
			return nil, e
		}
	}
	if err != nil { // its text quotes the request
		return nil, unsupported("request", "holds a value that gRPC has no form for")
	}
	for at, p := range parts {
		req.Contents[at.content].Parts[at.part] = p
	}
	req.Model = model
	return req, nil
}

// putBack puts long values in the places of their stand-ins.
func putBack(m protoreflect.Message, long *splice.Values) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, inner protoreflect.Value) bool {
					putBack(inner.Message(), long)
					return true
				})
			}
		case f.IsList():
			for i := 0; f.Message() != nil && i < v.List().Len(); i++ {
				putBack(v.List().Get(i).Message(), long)
			}
		case f.Message() != nil:
			putBack(v.Message(), long)
		case f.Kind() == protoreflect.StringKind:
			if text, ok := long.TextOf(v.String()); ok {
				m.Set(f, protoreflect.ValueOfString(text))
			}
		case f.Kind() == protoreflect.BytesKind:
			if data, ok := long.BytesOf(v.Bytes()); ok {
				m.Set(f, protoreflect.ValueOfBytes(data))
			}
		}
		return true
	})
}

func unsupported(field, problem string) *llm.Error {
	e, _ := llm.Unsupported(field, problem, useGenai).(*llm.Error) //nolint:errorlint // it is one
	return e
}

// unknownPart is a part in JSON that stands for the bytes of one that the definitions do not know.
type unknownPart struct {
	Bytes []byte `json:"vertexaiPart"`
}

type place struct{ content, part int }

// takeParts takes the parts that stand for bytes out of a body, and leaves empty ones in their places.
func takeParts(body []byte) ([]byte, map[place]*aiplatformpb.Part, error) {
	if !bytes.Contains(body, []byte(`"`+gemini.BytesMember+`"`)) {
		return body, nil, nil
	}
	var all map[string]json.RawMessage
	var contents []struct {
		Role  string            `json:"role,omitempty"`
		Parts []json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(all["contents"], &contents); err != nil {
		return nil, nil, err
	}
	parts := map[place]*aiplatformpb.Part{}
	for i := range contents {
		for j, raw := range contents[i].Parts {
			var u unknownPart
			if json.Unmarshal(raw, &u) != nil || u.Bytes == nil {
				continue
			}
			p := new(aiplatformpb.Part)
			if err := proto.Unmarshal(u.Bytes, p); err != nil {
				return nil, nil, err
			}
			parts[place{i, j}] = p
			contents[i].Parts[j] = json.RawMessage("{}")
		}
	}
	var err error
	if all["contents"], err = json.Marshal(contents); err != nil {
		return nil, nil, err
	}
	body, err = json.Marshal(all)
	return body, parts, err
}

// hasLongNumber reports whether there are so many digits in a row that a float may lose some.
func hasLongNumber(body []byte) bool {
	const exact = 15
	row := 0
	for _, b := range body {
		if b < '0' || b > '9' {
			row = 0
			continue
		}
		if row++; row > exact {
			return true
		}
	}
	return false
}

// explain finds what a message has no place for. nil: nothing, or the body is no JSON.
func explain(body []byte, message protoreflect.MessageDescriptor) *llm.Error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	_ = dec.Decode(&value)
	return explainMessage(value, message, "")
}

func explainMessage(value any, message protoreflect.MessageDescriptor, path string) *llm.Error {
	switch message.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return inexact(value, path)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		field := message.Fields().ByJSONName(name)
		if field == nil {
			field = message.Fields().ByTextName(name)
		}
		if field == nil && object[name] != nil {
			return unsupported(asked(inner), "is newer than the published gRPC definitions")
		}
		if field == nil {
			continue
		}
		if e := explainField(object[name], field, inner); e != nil {
			return e
		}
	}
	return nil
}

func explainField(value any, field protoreflect.FieldDescriptor, path string) *llm.Error {
	if list, ok := value.([]any); ok && field.IsList() {
		for i := range list {
			if e := explainOne(list[i], field, path+"["+strconv.Itoa(i)+"]"); e != nil {
				return e
			}
		}
		return nil
	}
	if field.IsMap() {
		object, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if e := explainOne(object[key], field.MapValue(), path+".*"); e != nil {
				return e
			}
		}
		return nil
	}
	return explainOne(value, field, path)
}

func explainOne(value any, field protoreflect.FieldDescriptor, path string) *llm.Error {
	switch {
	case value == nil:
	case field.Message() != nil:
		return explainMessage(value, field.Message(), path)
	case field.Enum() != nil:
		if name, ok := value.(string); ok && field.Enum().Values().ByName(protoreflect.Name(name)) == nil {
			return unsupported(asked(path), "has a value that is newer than the published gRPC definitions")
		}
	}
	return nil
}

// asked is the name that a request has for a member of the wire, where it has one.
func asked(path string) string {
	if path == "generationConfig.thinkingConfig.thinkingLevel" {
		return "thinking.effort"
	}
	return path
}

// inexact finds an integer that a float would change.
func inexact(value any, path string) *llm.Error {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if e := inexact(v[name], path); e != nil {
				return e
			}
		}
	case []any:
		for _, one := range v {
			if e := inexact(one, path); e != nil {
				return e
			}
		}
	case json.Number:
		if changes(string(v)) {
			return unsupported(path, "holds an integer that gRPC would round")
		}
	}
	return nil
}

// changes reports whether a number is an integer that is another one as a float.
func changes(number string) bool {
	n, ok := new(big.Int).SetString(number, 10)
	if !ok {
		return false // it has a fraction or an exponent, and is approximate as it is
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	back, _ := big.NewFloat(f).Int(nil)
	return back == nil || back.Cmp(n) != 0
}

// encodeUnknown is the part in JSON that stands for p.
func encodeUnknown(p *aiplatformpb.Part) json.RawMessage {
	raw, err := proto.Marshal(p)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"%s":"%s"}`, gemini.BytesMember, base64.StdEncoding.EncodeToString(raw))
}
