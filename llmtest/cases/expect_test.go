package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expects are the checks on a request by their names; some have the place of a message in the name.
var expects = map[string]func(f *fake, q *request, raw json.RawMessage) error{
	"path_has":                         expectPathHas,
	"path_ends":                        expectPathEnds,
	"configured_host":                  expectHost,
	"model_id_decoded_once":            expectModel,
	"auth":                             expectAuth,
	"access_key":                       expectAccessKey,
	"body_same_as_request":             expectSameBody,
	"json_lacks":                       expectLacks,
	"json_present":                     expectPresent,
	"json_at":                          expectAt,
	"contents_count":                   expectCount("contents"),
	"messages_count":                   expectCount("messages"),
	"first_role":                       expectFirstRole,
	"system_not_in_messages":           expectSystemApart,
	"no_blank_text_block":              expectNoBlank,
	"function_responses_in_call_order": expectOrder,
	"in_one_content":                   expectOneContent,
	"schema_lacks_keywords":            expectNoKeywords,
	"schema_has_property":              expectProperty,
	"tool_names_match":                 expectNames,
	"tool_names_distinct":              expectDistinct,
}

var (
	kindsName = regexp.MustCompile(`^(?:content|message)_([0-9]+)_kinds$`)
	textsName = regexp.MustCompile(`^texts_([0-9]+)$`)
	partsName = regexp.MustCompile(`^parts_in_(?:content|message)_([0-9]+)$`)
)

// expectation is the check of that name; nil: there is none.
func expectation(name string) func(*fake, *request, json.RawMessage) error {
	if check := expects[name]; check != nil {
		return check
	}
	for pattern, make := range map[*regexp.Regexp]func(int) func(*fake, *request, json.RawMessage) error{
		kindsName: expectKinds, textsName: expectTexts, partsName: expectParts,
	} {
		if at := pattern.FindStringSubmatch(name); at != nil {
			n, _ := strconv.Atoi(at[1])
			return make(n)
		}
	}
	return nil
}

// want decodes what a check wants.
func want[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

// wantAll decodes one value or a list of them.
func wantAll[T any](raw json.RawMessage) ([]T, error) {
	if one, err := want[T](raw); err == nil {
		return []T{one}, nil
	}
	return want[[]T](raw)
}

// same compares a value with what is wanted of it.
func same[T any](got T, raw json.RawMessage) error {
	w, err := want[T](raw)
	if err == nil && !reflect.DeepEqual(got, w) {
		err = fmt.Errorf("got %v", got)
	}
	return err
}

func expectPathHas(_ *fake, q *request, raw json.RawMessage) error {
	all, err := wantAll[string](raw)
	for _, w := range all {
		if !strings.Contains(q.path, w) && !strings.Contains(q.escaped, w) {
			return fmt.Errorf("the path is %s", q.escaped)
		}
	}
	return err
}

func expectPathEnds(_ *fake, q *request, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err == nil && !strings.HasSuffix(q.path, w) && !strings.HasSuffix(q.escaped, w) {
		err = fmt.Errorf("the path is %s", q.escaped)
	}
	return err
}

// expectHost wants the request sent to the host that was configured (true), or to the one that the settings mean.
func expectHost(f *fake, q *request, raw json.RawMessage) error {
	if yes, err := want[bool](raw); err == nil {
		if at := "http://" + q.host; yes != (at == f.server.URL) {
			return fmt.Errorf("the host is %s, configured was %s", at, f.server.URL)
		}
		return nil
	}
	w, err := want[string](raw)
	if err == nil && q.host != w && strings.TrimSuffix(q.host, ":443") != w {
		err = fmt.Errorf("the host is %s", q.host)
	}
	return err
}

// modelSegment is what stands between /model/ and the operation, decoded once.
func (q *request) modelSegment() string {
	_, rest, _ := strings.Cut(q.escaped, "/model/")
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		rest = rest[:i]
	}
	name, err := url.PathUnescape(rest)
	if err != nil {
		return rest
	}
	return name
}

func expectModel(f *fake, q *request, raw json.RawMessage) error {
	if yes, err := want[bool](raw); err == nil {
		if name := f.call.model(f.provider); yes != (q.modelSegment() == name) {
			return fmt.Errorf("got %s, configured was %s", q.modelSegment(), name)
		}
		return nil
	}
	return same(q.modelSegment(), raw)
}

func expectAuth(_ *fake, q *request, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	for _, name := range []string{"Authorization", "Api-Key", "X-Goog-Api-Key"} {
		if got := q.header.Get(name); got == w || got == "Bearer "+w {
			return nil
		}
	}
	return errors.New("another credential was sent")
}

func expectAccessKey(_ *fake, q *request, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err == nil && !strings.Contains(q.header.Get("Authorization"), "Credential="+w+"/") {
		err = errors.New("another key has signed")
	}
	return err
}

func expectSameBody(f *fake, q *request, raw json.RawMessage) error {
	n, err := want[int](raw)
	switch {
	case err != nil:
		return err
	case n < 1 || n > len(f.requests):
		return fmt.Errorf("there is no request %d", n)
	case q.rpc && !reflect.DeepEqual(f.requests[n-1].body, q.body), !q.rpc && !bytes.Equal(f.requests[n-1].raw, q.raw):
		return errors.New("the body is another")
	}
	return nil
}

// has reports whether there is a member of that name anywhere, or something at a dotted path.
func has(v any, name string) bool {
	if strings.Contains(name, ".") {
		_, ok := lookUp(v, strings.Split(name, "."))
		return ok
	}
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[name]; ok {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), func(inner any) bool { return has(inner, name) })
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return has(inner, name) })
	}
	return false
}

func expectLacks(_ *fake, q *request, raw json.RawMessage) error {
	names, err := wantAll[string](raw)
	for _, name := range names {
		if has(q.body, name) {
			return fmt.Errorf("%s is there", name)
		}
	}
	return err
}

func expectPresent(_ *fake, q *request, raw json.RawMessage) error {
	names, err := wantAll[string](raw)
	for _, name := range names {
		if !has(q.body, name) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return err
}

// expectAt wants [path, value], or a list of such.
func expectAt(_ *fake, q *request, raw json.RawMessage) error {
	list, err := want[[]json.RawMessage](raw)
	if err != nil {
		return err
	}
	pairs := [][]json.RawMessage{list}
	if len(list) > 0 && bytes.HasPrefix(bytes.TrimSpace(list[0]), []byte("[")) {
		if pairs, err = want[[][]json.RawMessage](raw); err != nil {
			return err
		}
	}
	for _, pair := range pairs {
		if len(pair) != 2 {
			return errors.New("is no path with a value")
		}
		path, err := want[string](pair[0])
		if err != nil {
			return err
		}
		if got := encode(q.at(path)); !sameJSON(got, pair[1]) {
			return fmt.Errorf("at %s is %s", path, got)
		}
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func expectCount(name string) func(*fake, *request, json.RawMessage) error {
	return func(_ *fake, q *request, raw json.RawMessage) error {
		list, _ := q.at(name).([]any)
		return same(len(list), raw)
	}
}

// message is one turn of a request, whatever the provider calls it.
type message struct {
	role  string
	plain bool // its content is a text and no list of blocks
	parts []map[string]any
}

// messages are the turns of a request.
func (q *request) messages() (all []message) {
	list, _ := q.at("messages").([]any)
	if list == nil {
		list, _ = q.at("contents").([]any)
	}
	for _, one := range list {
		object, _ := one.(map[string]any)
		m := message{}
		m.role, _ = object["role"].(string)
		content := object["content"]
		if content == nil {
			content = object["parts"]
		}
		if text, ok := content.(string); ok {
			m.plain, m.parts = true, append(m.parts, map[string]any{"text": text})
		}
		parts, _ := content.([]any)
		for _, p := range parts {
			if part, ok := p.(map[string]any); ok {
				m.parts = append(m.parts, part)
			}
		}
		all = append(all, m)
	}
	return all
}

// kind is the member of a part that says what it is.
func kindOfPart(part map[string]any) string {
	if kind, ok := part["type"].(string); ok {
		return kind
	}
	for _, name := range slices.Sorted(maps.Keys(part)) {
		switch name {
		case "thoughtSignature", "thought", "partMetadata", "videoMetadata":
		default:
			return name
		}
	}
	return ""
}

func (m message) texts() (all []string) {
	for _, p := range m.parts {
		if text, ok := p["text"].(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func (q *request) message(n int) (message, error) {
	all := q.messages()
	if n >= len(all) {
		return message{}, fmt.Errorf("there are %d messages", len(all))
	}
	return all[n], nil
}

func expectKinds(n int) func(*fake, *request, json.RawMessage) error {
	return func(_ *fake, q *request, raw json.RawMessage) error {
		m, err := q.message(n)
		if err != nil {
			return err
		}
		kinds := []string{}
		for _, p := range m.parts {
			kinds = append(kinds, kindOfPart(p))
		}
		return same(kinds, raw)
	}
}

func expectTexts(n int) func(*fake, *request, json.RawMessage) error {
	return func(_ *fake, q *request, raw json.RawMessage) error {
		m, err := q.message(n)
		if err != nil {
			return err
		}
		return same(m.texts(), raw)
	}
}

func expectParts(n int) func(*fake, *request, json.RawMessage) error {
	return func(_ *fake, q *request, raw json.RawMessage) error {
		m, err := q.message(n)
		if err != nil {
			return err
		}
		return same(len(m.parts), raw)
	}
}

func expectFirstRole(_ *fake, q *request, raw json.RawMessage) error {
	m, err := q.message(0)
	if err != nil {
		return err
	}
	return same(m.role, raw)
}

func expectSystemApart(f *fake, q *request, raw json.RawMessage) error {
	inside := false
	for _, m := range q.messages() {
		inside = inside || m.role == "system" || m.role == "developer" ||
			f.call.System != "" && slices.Contains(m.texts(), f.call.System)
	}
	return same(!inside, raw)
}

func expectNoBlank(_ *fake, q *request, raw json.RawMessage) error {
	blank := false
	for _, m := range q.messages() {
		blank = blank || !m.plain && slices.ContainsFunc(m.texts(), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	return same(!blank, raw)
}

// responses are the results of tools in a request, in JSON, and the messages they stand in.
func (q *request) responses() (texts []string, in map[int]bool) {
	in = map[int]bool{}
	for i, m := range q.messages() {
		for _, p := range m.parts {
			for _, name := range []string{"functionResponse", "toolResult"} {
				if p[name] != nil {
					texts, in[i] = append(texts, string(encode(p[name]))), true
				}
			}
		}
		if m.role == "tool" {
			texts, in[i] = append(texts, strings.Join(m.texts(), "")), true
		}
	}
	return texts, in
}

func expectOrder(_ *fake, q *request, raw json.RawMessage) error {
	w, err := want[[]string](raw)
	got, _ := q.responses()
	switch {
	case err != nil:
		return err
	case len(got) != len(w):
		return fmt.Errorf("there are %d results", len(got))
	}
	for i := range w {
		if !strings.Contains(got[i], w[i]) {
			return fmt.Errorf("result %d is %s", i, got[i])
		}
	}
	return nil
}

func expectOneContent(_ *fake, q *request, raw json.RawMessage) error {
	_, in := q.responses()
	return same(len(in) == 1, raw)
}

// jsonSchemaMember is where Gemini takes JSON Schema; its other place takes a smaller language.
const jsonSchemaMember = "parametersJsonSchema"

// jsonSchemaKeywords are what Gemini documents for that place and refuses in the other.
var jsonSchemaKeywords = []string{
	"$id", "$defs", "$ref", "$anchor", "prefixItems", "oneOf", "anyOf", "additionalProperties", "title", "default",
	"propertyOrdering",
}

// declaredSchema is the schema of a tool.
type declaredSchema struct {
	member string // where it was
	value  any
}

// declared are the tools of a request: name and schema.
func (q *request) declared() (names []string, schemas []declaredSchema) {
	add := func(o map[string]any) {
		if name, ok := o["name"].(string); ok {
			names = append(names, name)
			for _, key := range []string{"parameters", jsonSchemaMember, "inputSchema"} {
				if s, ok := o[key]; ok {
					schemas = append(schemas, declaredSchema{key, s})
				}
			}
		}
	}
	list, _ := q.at("tools").([]any)
	if list == nil {
		list, _ = q.at("toolConfig.tools").([]any)
	}
	for _, one := range list {
		o, _ := one.(map[string]any)
		for _, key := range []string{"function", "toolSpec"} {
			if inner, ok := o[key].(map[string]any); ok {
				add(inner)
			}
		}
		functions, _ := o["functionDeclarations"].([]any)
		for _, fn := range functions {
			if inner, ok := fn.(map[string]any); ok {
				add(inner)
			}
		}
	}
	return names, schemas
}

// firstTool is the name under which the first tool was sent.
func (q *request) firstTool() string {
	if names, _ := q.declared(); len(names) > 0 {
		return names[0]
	}
	return "none"
}

// keywords calls yield for each keyword of a schema, and property for each name of a property.
func keywords(schema any, keyword, property func(string)) {
	switch s := schema.(type) {
	case []any:
		for _, inner := range s {
			keywords(inner, keyword, property)
		}
	case map[string]any:
		for name, value := range s {
			keyword(name)
			named, isMap := value.(map[string]any)
			switch {
			case isMap && (name == "properties" || name == "$defs" || name == "definitions" || name == "patternProperties"):
				for p, inner := range named {
					if name == "properties" {
						property(p)
					}
					keywords(inner, keyword, property)
				}
			case name == "enum" || name == "const" || name == "default" || name == "examples" || name == "example":
			default:
				keywords(value, keyword, property)
			}
		}
	}
}

func expectNoKeywords(_ *fake, q *request, raw json.RawMessage) error {
	w, err := wantAll[string](raw)
	_, schemas := q.declared()
	if err == nil && len(schemas) == 0 {
		err = errors.New("there is no schema")
	}
	for _, s := range schemas {
		keywords(s.value, func(name string) {
			if slices.Contains(w, name) && (s.member != jsonSchemaMember || !slices.Contains(jsonSchemaKeywords, name)) {
				err = fmt.Errorf("%s is there", name)
			}
		}, func(string) {})
	}
	return err
}

func expectProperty(_ *fake, q *request, raw json.RawMessage) error {
	w, err := wantAll[string](raw)
	_, schemas := q.declared()
	found := map[string]bool{}
	for _, s := range schemas {
		keywords(s.value, func(string) {}, func(name string) { found[name] = true })
	}
	for _, name := range w {
		if !found[name] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return err
}

func expectNames(_ *fake, q *request, raw json.RawMessage) error {
	w, err := want[string](raw)
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(w)
	if err != nil {
		return err
	}
	names, _ := q.declared()
	if len(names) == 0 {
		return errors.New("there is no tool")
	}
	for _, name := range names {
		if !pattern.MatchString(name) {
			return fmt.Errorf("a name is %q", name)
		}
	}
	return nil
}

// expectDistinct wants all names different (true), or so many different ones.
func expectDistinct(_ *fake, q *request, raw json.RawMessage) error {
	names, _ := q.declared()
	distinct := map[string]bool{}
	for _, name := range names {
		distinct[name] = true
	}
	if _, err := want[int](raw); err == nil {
		return same(len(distinct), raw)
	}
	return same(len(names) > 0 && len(distinct) == len(names), raw)
}
