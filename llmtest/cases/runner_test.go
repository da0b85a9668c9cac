package cases_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// own are cases by hand that have every field at least once.
func own(t *testing.T) (all []*faultCase, lines [][]byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/own.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		all, lines = append(all, parseCase([]byte(line))), append(lines, []byte(line))
	}
	return all, lines
}

// Each field of the form is played, and each check fails when what is right is changed.
func TestRunnerPlaysEveryField(t *testing.T) {
	all, lines := own(t)
	verdicts := playAll(t.Context(), all)
	for _, v := range verdicts {
		if !v.passed() {
			t.Errorf("%s: %s", v.c.ID, v)
		}
	}
	tried := checkRunner(t, verdicts)
	for name := range checks {
		if tried[name] == 0 {
			t.Errorf("the field %q of right was not proven", name)
		}
	}
	used := map[string]bool{}
	for _, line := range lines {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		members(v, used)
	}
	for _, name := range slices.Concat(tags(reflect.TypeFor[faultCase]()), slices.Collect(maps.Keys(expects))) {
		if !used[name] {
			t.Errorf("the field %q is in no case", name)
		}
	}
}

// members collects the names of all members of objects.
func members(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			into[name] = true
			members(inner, into)
		}
	case []any:
		for _, inner := range v {
			members(inner, into)
		}
	}
}

// tags are the names of the fields of a struct and of those in it.
func tags(typ reflect.Type) (names []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for i := range typ.NumField() {
		if name := typ.Field(i).Tag.Get("json"); name != "" {
			names = append(names, name)
			if typ.Field(i).Type != reflect.PointerTo(typ) { // a reply in a reply
				names = append(names, tags(typ.Field(i).Type)...)
			}
		}
	}
	return names
}

// A field that is not known fails the case by its name, wherever it stands.
func TestRunnerRefusesUnknownFields(t *testing.T) {
	t.Parallel()
	const good = `{"id":"a","class":"own","call":{"mode":"unary","op":"triage","providers":["azure"],"settings":{},"then":{"calls":1},"before":[{"calls":1}],"caller":{}},"wire":{"azure":[{"ok":"hi","ping":{"text":"x"},"drip":{},"expect":{},"else":{"status":400}}]},"right":{"outcome":"ok"}}`
	if c := parseCase([]byte(good)); c.broken != nil {
		t.Fatal(c.broken)
	}
	for _, place := range []string{
		`{"id"`, `{"mode"`, `"settings":{`, `"then":{`, `"before":[{`, `"caller":{`, `{"ok"`, `"ping":{`, `"drip":{`,
		`"expect":{`, `"else":{`, `{"outcome"`,
	} {
		before, after, found := strings.Cut(good, place)
		if !found {
			t.Fatal(place)
		}
		open := strings.IndexByte(place, '{') + 1
		comma := ","
		if strings.HasPrefix(place[open:]+after, "}") {
			comma = ""
		}
		line := before + place[:open] + `"surprise":1` + comma + place[open:] + after
		c := parseCase([]byte(line))
		if c.broken == nil || !strings.Contains(c.broken.Error(), `"surprise"`) {
			t.Errorf("%s: %v", line, c.broken)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"unary"`, `"both"`, "both"},
		{`["azure"]`, `["other"]`, "other"},
		{`"azure":[{"ok"`, `"elsewhere":[{"ok"`, "elsewhere"},
		{`"status":400`, `"status":400,"times":"often"`, "often"},
		{`"status":400`, `"status":400,"end":"bang"`, "bang"},
	} {
		line := strings.Replace(good, c.old, c.new, 1)
		if got := parseCase([]byte(line)); got.broken == nil || !strings.Contains(got.broken.Error(), c.want) {
			t.Errorf("%s: %v", line, got.broken)
		}
	}
}

// What happens on the wire beyond what the case says fails it.
func TestRunnerSeesWhatTheWireWasNotToldOf(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"beyond the list":    `{"id":"a","call":{"mode":"unary","op":"triage","timeout_ms":900,"providers":["azure"],"max_attempts":1,"repeat":2},"wire":{"azure":["ok:hi"]},"right":{"outcome":"error"}}`,
		"expect json_lacks":  `{"id":"a","call":{"mode":"unary","op":"triage","timeout_ms":900,"providers":["azure"],"max_attempts":1},"wire":{"azure":[{"ok":"hi","expect":{"json_lacks":["messages"]}}]},"right":{"outcome":"error"}}`,
		"the provider":       `{"id":"a","call":{"mode":"unary","op":"triage","timeout_ms":900,"providers":["azure"]},"wire":{"azure":["ok:hi"]},"right":{"requests":{"elsewhere":1}}}`,
		`outcome "sideways"`: `{"id":"a","call":{"mode":"unary","op":"triage","timeout_ms":900,"providers":["azure"]},"wire":{"azure":["ok:hi"]},"right":{"outcome":"sideways"}}`,
	} {
		v := playCase(t.Context(), parseCase([]byte(line)), new(stalls))
		if v.passed() || !strings.Contains(v.String(), name) {
			t.Errorf("%s: %s", name, v)
		}
	}
}

func TestVariants(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		`{"call":{"mode":"unary","providers":["azure"]},"wire":{"azure":["ok:a",{"status":500},{"wait_ms":-1}]}}`:                                          2,
		`{"call":{"mode":"unary","providers":["azure"]},"wire":{"azure":["ok:a",{"status":200,"body":"{}"}]}}`:                                             1,
		`{"call":{"mode":"stream","providers":["azure","vertex"]},"wire":{"vertex":["ok:a"]}}`:                                                             2,
		`{"call":{"mode":"unary","providers":["vertex"]},"wire":{"vertex":["ok:a"]}}`:                                                                      4,
		`{"call":{"mode":"unary","providers":["vertex"]},"wire":{"vertex":[{"status":429,"body":[{"error":{}}]}]}}`:                                        2,
		`{"call":{"mode":"unary","providers":["vertex"],"settings":{"custom_http_client":true}},"wire":{"vertex":["ok:"]}}`:                                2,
		`{"call":{"mode":"stream","providers":["vertex"]},"wire":{"vertex":[{"gstream":[[0,{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL"}]}]]}]}}`: 2,
		`{"call":{"mode":"stream","providers":["vertex"]},"wire":{"vertex":[{"gstream":[[0,{"promptFeedback":{"blockReason":"SOMETHING_NEWER"}}]]}]}}`:     1,
	} {
		c := parseCase([]byte(line))
		if c.broken != nil {
			t.Fatal(c.broken)
		}
		if all, skipped := c.variants(); len(all) != want {
			t.Errorf("%s: %v, skipped %v", line, all, skipped)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	f := &fake{provider: "azure"}
	for in, want := range map[string]string{
		"{{http_date:+2s}}":              "Fri, 02 Jan 2026 03:04:07 GMT",
		"{{http_date:-1m}}":              "Fri, 02 Jan 2026 03:03:05 GMT",
		`{"content":"{{text_chunk:3}}"}`: `{"content":"xxx"}`,
		"{{nothing}}":                    "{{nothing}}",
		"data: {{text_chunk:1}}\n\n":     "data: " + string(encode(delta("azure", "x"))) + "\n\n",
		": a\n\n{{text_chunk:1}}":        ": a\n\ndata: " + string(encode(delta("azure", "x"))) + "\n\n",
		"{{text_chunk:1}}\n\n":           "data: " + string(encode(delta("azure", "x"))) + "\n\n",
	} {
		if got := f.tokens(in, now); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	pieces := f.pieces(sseEvent{text: "a\r\nb{{split:after_cr}}c\r\nd\r\n"})
	if len(pieces) != 2 || string(pieces[0].Data) != "a\r\nbc\r" || string(pieces[1].Data) != "\nd\r\n" {
		t.Errorf("split: %q", pieces)
	}
}
