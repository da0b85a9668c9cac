package vertex

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// read takes the body apart. What cannot be read is refused later, behind path and credential.
func (c *call) read(body []byte) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	if !json.Valid(body) {
		c.bad = notJSON(body)
		return
	}
	r := reader{gemini: c.surface == gemini}
	fields := r.message(requestType(), body, "")
	if len(r.problems) > 0 {
		c.odd = badRequest(r.problems)
		return
	}
	c.fields = fields
}

// reader reads JSON as a message of the service.
type reader struct {
	gemini   bool
	problems []problem
}

// problem is one thing that cannot be read.
type problem struct{ field, text string }

func (r *reader) refuse(field, format string, args ...any) {
	r.problems = append(r.problems, problem{field, fmt.Sprintf(format, args...)})
}

// invalid: a value of another type. Its text is widely reported.
func (r *reader) invalid(path, kind string, raw json.RawMessage) {
	r.refuse(path, "Invalid value at '%s' (%s), %s", path, kind, raw)
}

func (r *reader) message(md protoreflect.MessageDescriptor, raw json.RawMessage, path string) message {
	all, ok := members(raw)
	if !ok {
		r.invalid(path, "type.googleapis.com/"+string(md.FullName()), raw)
		return nil
	}
	m := message{}
	data := ""
	for _, f := range all {
		field := r.find(md, f.name)
		switch {
		case field == nil:
			r.unknown(f.name, path)
			continue
		case string(f.value) == "null":
			continue
		}
		at := strings.TrimPrefix(path+"."+snake(field.name), ".")
		if field.oneof && data != "" {
			// Widely reported.
			r.refuse(path, "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, field.name)
			continue
		} else if field.oneof {
			data = field.name
		}
		m[field.name] = r.field(field, f.value, at)
	}
	return m
}

func (r *reader) unknown(name, path string) {
	if path == "" {
		r.refuse("", `Invalid JSON payload received. Unknown name "%s": Cannot find field.`, name)
		return
	}
	r.refuse(path, `Invalid JSON payload received. Unknown name "%s" at '%s': Cannot find field.`, name, path)
}

// field reads the value of a field.
func (r *reader) field(f *field, raw json.RawMessage, path string) any {
	switch d := f.descriptor; {
	case d == nil:
		return raw
	case d.IsMap():
		return r.entries(d, raw, path)
	case d.IsList():
		var all list
		for i, e := range elements(raw) {
			all = append(all, r.value(d, e, path+"["+strconv.Itoa(i)+"]"))
		}
		if all == nil {
			all = list{}
		}
		return all
	default:
		return r.value(d, raw, path)
	}
}

// entries reads a map: one of messages into entries, any other stays JSON.
func (r *reader) entries(d protoreflect.FieldDescriptor, raw json.RawMessage, path string) any {
	all, ok := members(raw)
	if !ok {
		r.invalid(path, "Map", raw) // unverified
		return nil
	}
	if d.MapValue().Message() == nil {
		for i, e := range all {
			r.value(d.MapValue(), e.value, path+"["+strconv.Itoa(i)+"].value")
		}
		return raw
	}
	into := entries{}
	for i, e := range all {
		at := path + "[" + strconv.Itoa(i) + "].value"
		into = append(into, entry{e.name, r.message(d.MapValue().Message(), e.value, at)})
	}
	return into
}

// value reads one value.
func (r *reader) value(d protoreflect.FieldDescriptor, raw json.RawMessage, path string) any {
	if raw[0] == '[' && !takesAny(d) {
		at := path
		if i := strings.LastIndexByte(path, '.'); i > 0 {
			at = path[:i]
		}
		// Widely reported.
		r.refuse(at, `Invalid JSON payload received. Unknown name "%s" at '%s': Proto field is not repeating, cannot start list.`, d.JSONName(), at)
		return raw
	}
	if md := d.Message(); md != nil {
		switch {
		case known(md):
			return r.message(md, raw, path)
		case md.Name() == "Struct" && raw[0] != '{':
			r.invalid(path, "type.googleapis.com/google.protobuf.Struct", raw)
		}
		return raw
	}
	if d.Kind() == protoreflect.EnumKind {
		return r.enum(d, raw, path)
	}
	r.scalar(d, raw, path)
	return raw
}

// enum reads a name, in any case, or a number, and is the name if there is one.
func (r *reader) enum(d protoreflect.FieldDescriptor, raw json.RawMessage, path string) json.RawMessage {
	word := strings.Trim(string(raw), `"`)
	values := d.Enum().Values()
	value := values.ByName(protoreflect.Name(strings.ToUpper(word)))
	if n, err := strconv.ParseInt(word, 10, 32); err == nil {
		if value = values.ByNumber(protoreflect.EnumNumber(n)); value == nil {
			return raw // of a newer kind
		}
	}
	if value == nil {
		r.invalid(path, "type.googleapis.com/"+string(d.Enum().FullName()), raw)
		return raw
	}
	return json.RawMessage(strconv.Quote(string(value.Name())))
}

// takesAny reports whether a field holds any JSON.
func takesAny(d protoreflect.FieldDescriptor) bool {
	return d.Message() != nil && !known(d.Message())
}

func (r *reader) scalar(d protoreflect.FieldDescriptor, raw json.RawMessage, path string) {
	text, quoted, number := "", raw[0] == '"', ""
	if !quoted {
		number = string(raw)
	} else if d.Kind() != protoreflect.StringKind {
		_ = json.Unmarshal(raw, &text)
		number = text
	}
	var ok bool
	switch d.Kind() {
	case protoreflect.StringKind:
		ok = quoted
	case protoreflect.BoolKind:
		ok = string(raw) == "true" || string(raw) == "false"
	case protoreflect.BytesKind:
		if ok = quoted; ok && !isBase64(text) {
			r.refuse(path, "Invalid value at '%s' (TYPE_BYTES), Base64 decoding failed for %s", path, raw)
			return
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		_, err := strconv.ParseFloat(number, 64)
		ok = err == nil
	default: // integers; 5.0 is one
		n, err := strconv.ParseFloat(number, 64)
		ok = err == nil && n == float64(int64(n)) && (d.Kind() != protoreflect.Int32Kind || n == float64(int32(n)))
	}
	if !ok {
		r.invalid(path, "TYPE_"+strings.ToUpper(d.Kind().String()), raw)
	}
}

// isBase64: either alphabet, with or without padding.
func isBase64(s string) bool {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	_, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil
}

// snake is a JSON name as the service writes it in its errors.
func snake(name string) string {
	var b strings.Builder
	for _, letter := range name {
		if letter >= 'A' && letter <= 'Z' {
			b.WriteByte('_')
			letter += 'a' - 'A'
		}
		b.WriteRune(letter)
	}
	return b.String()
}
