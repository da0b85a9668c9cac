package llm_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

func TestPartsDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     llm.Parts
	}{
		{"null", `null`, nil},
		{"empty", `[]`, llm.Parts{}},
		{"text", `[{"type":"text","text":"a<b"}]`, llm.Parts{llm.Text{Text: "a<b"}}},
		{"type last", `[{"text":"a","type":"text"}]`, llm.Parts{llm.Text{Text: "a"}}},
		{"empty text", `[{"type":"text"}]`, llm.Parts{llm.Text{}}},
		{"a field of later", `[{"type":"text","text":"a","later":1}]`, llm.Parts{llm.Text{Text: "a"}}},
		{"cache point with extras", `[{"type":"cache_point","ttl":"1h"}]`, llm.Parts{llm.CachePoint{}}},
		{"result without parts", `[{"type":"tool_result","call_id":"c"}]`, llm.Parts{llm.ToolResult{CallID: "c"}}},
		{"result of null", `[{"type":"tool_result","call_id":"c","parts":null}]`, llm.Parts{llm.ToolResult{CallID: "c"}}},
		{
			"unknown keeps bytes", `[ { "type" : "x", "n": 1.50, "big":12345678901234567890, "u":"\u00e9", "s":"a b" } ]`,
			llm.Parts{llm.Opaque{Type: "x", Data: []byte(`{"type":"x","n":1.50,"big":12345678901234567890,"u":"\u00e9","s":"a b"}`)}},
		},
		{"unknown, type last", `[{"n":1,"type":"x"}]`, llm.Parts{llm.Opaque{Type: "x", Data: []byte(`{"n":1,"type":"x"}`)}}},
		{"type alone", `[{"type":"x"}]`, llm.Parts{llm.Opaque{Type: "x"}}},
		{"wrapped", `[{"type":"x","data":[1, 2]}]`, llm.Parts{llm.Opaque{Type: "x", Data: []byte(`[1,2]`)}}},
		{"wrapped null", `[{"type":"x","data":null}]`, llm.Parts{llm.Opaque{Type: "x", Data: []byte(`null`)}}},
		{"type in another case", `[{"type":"Text","text":"a"}]`, llm.Parts{llm.Opaque{Type: "Text", Data: []byte(`{"type":"Text","text":"a"}`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got llm.Parts
			if err := json.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Fatalf("got %#v, want %#v", got, tt.want)
			}
			var again llm.Parts
			if err := json.Unmarshal([]byte(mustJSON(t, got)), &again); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(again, got) {
				t.Errorf("after a round: %#v, want %#v", again, got)
			}
		})
	}
}

func TestPartsDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := `[{"type":"text"}]`
	for range 20 {
		deep = `[{"type":"tool_result","parts":` + deep + `}]`
	}
	tests := []struct{ name, in, want string }{
		{"no array", `{"type":"text"}`, "cannot unmarshal object"},
		{"no object", `[{"type":"text"},"b"]`, "parts[1]: is no object"},
		{"null part", `[null]`, "parts[0]: is no object"},
		{"no type", `[{"text":"a"}]`, `parts[0]: has no "type"`},
		{"type is no text", `[{"type":1}]`, `parts[0]: has no "type"`},
		{"empty type", `[{"type":""}]`, `parts[0]: has no "type"`},
		{"wrong field", `[{"type":"text","text":1}]`, "parts[0]: "},
		{"nested", `[{"type":"tool_result","parts":[{"type":"text"},{}]}]`, `parts[0]: parts[1]: has no "type"`},
		{"nested wrong field", `[{"type":"tool_result","call_id":7}]`, "parts[0]: "},
		{"nested no array", `[{"type":"tool_result","parts":{}}]`, "parts[0]: "},
		{"too deep", deep, "nested too deep"},
	}
	for _, tt := range tests {
		got := llm.Parts{llm.Text{Text: "kept"}}
		err := json.Unmarshal([]byte(tt.in), &got)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
		if len(got) != 1 {
			t.Errorf("%s: a failed decode changed the value", tt.name)
		}
	}
}

func TestPartsEncodeRefuses(t *testing.T) {
	t.Parallel()
	deep := llm.Parts{}
	for range 20 {
		deep = llm.Parts{llm.ToolResult{CallID: "c", Parts: append(deep, llm.Text{})}}
	}
	cyclic := llm.Parts{nil}
	cyclic[0] = llm.ToolResult{CallID: "c", Parts: cyclic}
	tests := []struct {
		name string
		in   llm.Parts
		want string
	}{
		{"nil", llm.Parts{llm.Text{}, nil}, "parts[1]: is nil"},
		{"pointer", llm.Parts{llm.Text{}, &llm.Text{}}, "parts[1]: is none of the part types"},
		{"nested pointer", llm.Parts{llm.ToolResult{Parts: llm.Parts{&llm.Text{}}}}, "parts[0]: parts[0]: is none of the part types"},
		{"opaque without type", llm.Parts{llm.Opaque{}}, "parts[0]: an opaque part cannot have the type"},
		{"opaque of a known type", llm.Parts{llm.Opaque{Type: "text"}}, "parts[0]: an opaque part cannot have the type"},
		{"opaque without JSON", llm.Parts{llm.Opaque{Type: "x", Data: []byte("{")}}, "parts[0]: "},
		{"too deep", deep, "nested too deep"},
		{"cyclic", cyclic, "nested too deep"},
	}
	for _, tt := range tests {
		if b, err := json.Marshal(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s, %v, want an error with %q", tt.name, b, err, tt.want)
		}
	}
}

// A short text of brackets once took seconds: every level was read anew.
func TestPartsDecodeIsNoTrap(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[{"type":"tool_result","parts":`, 4000) + "[]" + strings.Repeat("}]", 4000)
	if err := json.Unmarshal([]byte(deep), new(llm.Parts)); err == nil {
		t.Error("4000 levels were read")
	}
}

func TestOpaqueForms(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, typ, data, want string }{
		{"no data", "x", ``, `{"type":"x"}`},
		{"own object", "x", `{"type":"x","a":1}`, `{"type":"x","a":1}`},
		{"blanks", "x", ` { "type" : "x" , "a" : 1 } `, `{"type":"x","a":1}`},
		{"object of another type", "x", `{"type":"y","a":1}`, `{"type":"x","data":{"type":"y","a":1}}`},
		{"object without type", "x", `{"a":1}`, `{"type":"x","data":{"a":1}}`},
		{"looks wrapped", "x", `{"type":"x","data":1}`, `{"type":"x","data":{"type":"x","data":1}}`},
		{"looks empty", "x", `{"type":"x"}`, `{"type":"x","data":{"type":"x"}}`},
		{"null", "x", `null`, `{"type":"x","data":null}`},
		{"text", "x", `"text"`, `{"type":"x","data":"text"}`},
		{"known type inside", "x", `{"type":"text","text":"a"}`, `{"type":"x","data":{"type":"text","text":"a"}}`},
		{"two types", "x", `{"type":"y","type":"x","a":1}`, `{"type":"y","type":"x","a":1}`},
	}
	for _, tt := range tests {
		parts := llm.Parts{llm.Opaque{Type: tt.typ, Data: json.RawMessage(tt.data)}}
		for _, marshal := range []func() ([]byte, error){parts.MarshalJSON, func() ([]byte, error) { return json.Marshal(parts) }} {
			got, err := marshal()
			if err != nil || string(got) != "["+tt.want+"]" {
				t.Errorf("%s: %s, %v, want [%s]", tt.name, got, err, tt.want)
			}
		}
		roundTripOpaque(t, tt.typ, []byte(tt.data))
	}
}

// roundTripOpaque holds that an Opaque comes back with the same JSON, byte for byte but blanks and the
// escapes that encoding/json writes for <, > and &.
func roundTripOpaque(t *testing.T, typ string, data []byte) {
	t.Helper()
	raw, err := json.Marshal(llm.Parts{llm.Opaque{Type: typ, Data: data}})
	if err != nil {
		t.Fatalf("%q %q: %v", typ, data, err)
	}
	var back llm.Parts
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	got, ok := back[0].(llm.Opaque)
	if !ok || len(back) != 1 || got.Type != typ {
		t.Fatalf("%s came back as %#v", raw, back)
	}
	if !bytes.Equal(normal(got.Data), normal(data)) {
		t.Errorf("data %q came back as %q", data, got.Data)
	}
}

func normal(raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	var a, b bytes.Buffer
	_ = json.Compact(&a, raw)
	json.HTMLEscape(&b, a.Bytes())
	return b.Bytes()
}

func FuzzParts(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"a"},{"type":"x","data":{"type":"x"}},{"type":"y","a":"<&>\u2028"}]`))
	f.Add([]byte(`[{"type":"tool_result","call_id":"c","parts":[{"type":"media","data":"QUI="}]},{"type":"cache_point"}]`))
	f.Add([]byte(`[{"type":"y","type":"text"},{"type":"reasoning","signature":"AA=="},{"type":"tool_call","ID":"c"}]`))
	f.Add([]byte(mustJSON(f, allParts)))
	f.Fuzz(func(t *testing.T, in []byte) {
		var first, second, third llm.Parts
		if json.Unmarshal(in, &first) != nil {
			return
		}
		one := mustJSON(t, first)
		if err := json.Unmarshal([]byte(one), &second); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, one)
		}
		two := mustJSON(t, second)
		if one != two {
			t.Fatalf("not stable:\n%s\n%s", one, two)
		}
		if err := json.Unmarshal([]byte(two), &third); err != nil || !reflect.DeepEqual(second, third) {
			t.Fatalf("decode(encode(decode(x))) differs: %v\n%#v\n%#v", err, second, third)
		}
	})
}

func FuzzOpaque(f *testing.F) {
	f.Add("x", []byte(`{"type":"x","data":1}`))
	f.Add("x", []byte(`{"type":"x","a":"<script>"}`))
	f.Add("text2", []byte(`[1e400,-0,"\ud800"]`))
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		switch typ {
		case "", "text", "media", "reasoning", "tool_call", "tool_result", "cache_point":
			return
		}
		if !utf8.ValidString(typ) || len(data) > 0 && !json.Valid(data) {
			return
		}
		roundTripOpaque(t, typ, data)
	})
}

// Whoever encodes the parts decides on HTML escaping: an encoder without it keeps text as it was written.
func TestPartsLeaveEscapingToTheEncoder(t *testing.T) {
	t.Parallel()
	parts := llm.Parts{
		llm.Text{Text: "a < b & c"},
		llm.ToolResult{CallID: "1", Parts: llm.Parts{llm.Text{Text: "<b>"}}},
		llm.Opaque{Type: "x", Data: json.RawMessage(`"<i>"`)},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(parts); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte(`\u00`)) {
		t.Errorf("escaped: %s", b.Bytes())
	}
	escaped, err := json.Marshal(parts)
	if err != nil || bytes.ContainsAny(escaped, "<>&") {
		t.Errorf("not escaped: %s, %v", escaped, err)
	}
}
