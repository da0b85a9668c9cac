package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is one key of a struct, read from its tags.
type field struct {
	name, doc, def string
	min, max       string
	enum           []string
	secret         bool
	index          []int
	typ            reflect.Type
}

// fields are the keys of a struct type, in order, and the index of the field for all other keys, -1 for none.
func fields(t reflect.Type) (all []field, rest int) {
	rest = -1
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
			continue
		case option == "inline" && f.Type.Kind() == reflect.Map:
			rest = i
			continue
		case option == "inline" && f.Type.Kind() == reflect.Struct:
			inner, _ := fields(f.Type)
			for _, d := range inner {
				d.index = append([]int{i}, d.index...)
				all = append(all, d)
			}
			continue
		case name == "":
			name = strings.ToLower(f.Name)
		}
		d := field{
			name: name, doc: f.Tag.Get("doc"), def: f.Tag.Get("default"), min: f.Tag.Get("min"), max: f.Tag.Get("max"),
			secret: f.Tag.Get("secret") == "true" || secretKey(name), index: []int{i}, typ: f.Type,
		}
		if e, ok := f.Tag.Lookup("enum"); ok {
			d.enum = strings.Split(e, ",")
		}
		all = append(all, d)
	}
	return all, rest
}

func names(all []field) []string {
	n := make([]string, len(all))
	for i := range all {
		n[i] = all[i].name
	}
	return n
}

// secretKey reports whether the value of a key of this name may be a secret.
func secretKey(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "password", "credential", "cert", "proxy", "cookie", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "parameters" || name == "headers"
}

// decoder puts a tree into Go values, strictly.
type decoder struct {
	report *report
	origin map[string]place // where the value of a path came from
	extra  []string         // keys that may stand in an inline map's struct beside its own
}

var (
	durationTypes = []reflect.Type{reflect.TypeFor[time.Duration](), reflect.TypeFor[Duration]()}
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawType       = reflect.TypeFor[json.RawMessage]()
)

func (d *decoder) fail(n *node, path, what, fix, note string) {
	if n.broken {
		return
	}
	n.broken = true
	d.report.add(n.at, path, what, fix, note)
}

// value decodes n into v, which can be set.
func (d *decoder) value(path string, n *node, v reflect.Value, f *field) {
	if n.broken {
		return
	}
	if d.origin != nil && n.kind.scalar() {
		d.origin[path] = n.at
	}
	switch {
	case v.Kind() == reflect.Pointer:
		if n.kind == nullKind && v.Type().Elem().Kind() == reflect.Struct {
			return
		}
		p := reflect.New(v.Type().Elem())
		if d.value(path, n, p.Elem(), f); !n.broken {
			v.Set(p)
		}
	case slices.Contains(durationTypes, v.Type()):
		d.duration(path, n, v, f)
	case v.Type() == rawType:
		d.raw(path, n, v)
	case v.Kind() != reflect.Struct && v.CanAddr() && v.Addr().Type().Implements(textType):
		if text, ok := d.text(path, n, f); ok && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) != nil {
			d.fail(n, path, "the value is not of the form that is wanted", "", d.next(f))
		}
	default:
		d.kind(path, n, v, f)
	}
}

func (d *decoder) next(f *field) string {
	if f == nil || f.doc == "" {
		return ""
	}
	return "it is: " + f.doc
}

func (d *decoder) kind(path string, n *node, v reflect.Value, f *field) {
	switch v.Kind() {
	case reflect.Struct:
		d.structure(path, n, v)
	case reflect.Map:
		d.mapping(path, n, v, f)
	case reflect.Slice:
		d.list(path, n, v, f)
	case reflect.Interface:
		if x := d.free(n); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.String:
		if text, ok := d.text(path, n, f); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		d.boolean(path, n, v, f)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		d.number(path, n, v, f)
	default:
		d.fail(n, path, "this setting cannot be written in a file", "leave it out", "")
	}
}

// want tells that a value has the wrong form.
func (d *decoder) want(path string, n *node, f *field, form, fix string) {
	if n.kind == nullKind {
		d.fail(n, path, "has no value", "write "+form+", or leave the key out", "")
		return
	}
	what := n.kind.String() + " stands where " + form + " is wanted"
	if harmless := f != nil && !f.secret && n.kind.scalar(); harmless { // text in place of keys may be anything: api_key:SECRET
		n.show()
		if n.kind == stringKind && !n.changed() && !n.risky() {
			what = quoteKey(n.quote()) + " is not " + form
		}
	}
	if len(n.vars) > 0 {
		what = "the value of " + list(n.vars) + " is not " + form
	}
	d.fail(n, path, what, fix, "")
}

func (d *decoder) structure(path string, n *node, v reflect.Value) {
	switch n.kind {
	case nullKind:
		return
	case mapKind:
	default:
		d.want(path, n, nil, "a map of keys", "write { KEY: VALUE }, or the keys on lines of their own")
		return
	}
	all, rest := fields(v.Type())
	var others []entry
	for _, e := range n.entries {
		i := slices.IndexFunc(all, func(f field) bool { return f.name == e.key })
		switch {
		case i >= 0:
			d.value(join(path, e.key), e.value, v.FieldByIndex(all[i].index), &all[i])
		case rest >= 0:
			others = append(others, e)
		default:
			d.unknown(path, e, append(names(all), d.extra...))
		}
	}
	if d.origin != nil {
		for _, e := range others {
			d.trace(join(path, e.key), e.value)
		}
	}
}

// trace notes where values came from that are decoded later.
func (d *decoder) trace(path string, n *node) {
	switch n.kind {
	case mapKind:
		for _, e := range n.entries {
			d.trace(join(path, e.key), e.value)
		}
	case listKind:
		for i, item := range n.items {
			d.trace(fmt.Sprintf("%s[%d]", path, i), item)
		}
	default:
		d.origin[path] = n.at
	}
}

// unknown tells of a key that nothing reads.
func (d *decoder) unknown(path string, e entry, known []string) {
	at := e.at
	if at.line == 0 {
		at = e.value.at // merged in
	}
	fix, note := "", "there are: "+list(known)
	if near := nearest(e.key, known); near != "" {
		fix, note = fmt.Sprintf("did you mean %q?", near), ""
	} else if owner := ownerOf(e.key); owner != "" {
		fix = "it belongs under " + owner
	}
	d.report.add(at, path, "unknown key "+quoteKey(e.key), fix, note)
	e.value.broken = true
}

func (d *decoder) mapping(path string, n *node, v reflect.Value, f *field) {
	if n.kind == nullKind {
		return
	}
	if n.kind != mapKind {
		d.want(path, n, nil, "a map", "write { NAME: … }, or the names on lines of their own")
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		item := reflect.New(v.Type().Elem()).Elem()
		if v.Type().Elem().Kind() == reflect.Interface {
			if x := d.free(e.value); x != nil {
				item.Set(reflect.ValueOf(x))
			}
		} else {
			d.value(join(path, e.key), e.value, item, f)
		}
		m.SetMapIndex(reflect.ValueOf(e.key).Convert(v.Type().Key()), item)
	}
	v.Set(m)
}

func (d *decoder) list(path string, n *node, v reflect.Value, f *field) {
	if n.kind == nullKind {
		return
	}
	if n.kind != listKind {
		fix := "write a list, such as [A, B]"
		if n.kind.scalar() && v.Type().Elem().Kind() == reflect.String && n.kind != nullKind {
			n.show()
			if f == nil || !f.secret {
				fix = fmt.Sprintf("write [%s]", n.quote())
			}
		}
		d.want(path, n, f, "a list", fix)
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		p := fmt.Sprintf("%s[%d]", path, i)
		d.value(itemPath(path, p, item), item, s.Index(i), f)
	}
	v.Set(s)
}

// free is a value of any form, for parameters that go to the provider as they are.
func (d *decoder) free(n *node) any {
	switch n.kind {
	case mapKind:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = d.free(e.value)
		}
		return m
	case listKind:
		s := make([]any, len(n.items))
		for i, item := range n.items {
			s[i] = d.free(item)
		}
		return s
	case boolKind:
		return n.text == "true"
	case intKind:
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 0, 64); err == nil && !leadingZero(n.text) {
			return i
		}
		return d.jsonNumber(n)
	case floatKind:
		return d.jsonNumber(n)
	case stringKind:
		return n.text
	default:
		return nil
	}
}

func leadingZero(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9'
}

// jsonNumber keeps all digits of a number, if JSON can.
func (d *decoder) jsonNumber(n *node) any {
	text := strings.TrimPrefix(n.text, "+")
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
		return x
	}
	return n.text
}

func (d *decoder) raw(path string, n *node, v reflect.Value) {
	data, err := json.Marshal(d.free(n))
	if err != nil {
		d.fail(n, path, "this cannot be written as JSON", "use text, numbers, lists and maps", "")
		return
	}
	v.SetBytes(data)
}

// text is a text, or a number as it was written: a project of Google's has a number for its name.
func (d *decoder) text(path string, n *node, f *field) (string, bool) {
	switch n.kind {
	case stringKind, intKind, floatKind:
	case boolKind:
		d.want(path, n, f, "text", "put it in quotes")
		return "", false
	default:
		d.want(path, n, f, "text", "write one value")
		return "", false
	}
	if f == nil || !f.secret {
		n.show()
	}
	if f != nil && len(f.enum) > 0 && !slices.Contains(f.enum, n.text) {
		d.word(path, n, f.enum)
		return "", false
	}
	return n.text, true
}

// word tells that a value is none of the words that are possible.
func (d *decoder) word(path string, n *node, words []string) {
	known := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	what := "this word is not known"
	if !n.risky() {
		what = quoteKey(n.quote()) + " is not known"
	}
	if len(n.vars) > 0 {
		what = "the value of " + list(n.vars) + " is not known"
	}
	fix := ""
	if near := nearest(n.text, known); near != "" && len(n.vars) == 0 {
		fix = fmt.Sprintf("%q?", near)
	}
	d.fail(n, path, what, fix, "there are: "+list(known))
}

func (d *decoder) boolean(path string, n *node, v reflect.Value, f *field) {
	switch {
	case n.kind.scalar() && n.text == "true":
		v.SetBool(true)
	case n.kind.scalar() && n.text == "false":
		v.SetBool(false)
	default:
		fix := "write true or false"
		if yes, ok := truth(n.text); ok && n.kind.scalar() {
			fix = fmt.Sprintf("write %t", yes)
		}
		d.want(path, n, f, "true or false", fix)
		return
	}
	n.show()
}

// truth is what people mean by yes, on and the like.
func truth(word string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "true", "yes", "on", "1", "y", "t":
		return true, true
	case "false", "no", "off", "0", "n", "f":
		return false, true
	default:
		return false, false
	}
}
