package vertex

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
)

func TestScan(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, ` { "a" : 1 , "b\"\\" : [ 1, "x]" , {"c":"}"} ] , "" : {"d":{}} , "e":"\\\\", "f" : null }`, `{"a":"\u00e4\\"}`,
	} {
		all, ok := members(json.RawMessage(text))
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil || !ok || len(all) != len(want) {
			t.Fatalf("%s: %v %v %v", text, err, ok, all)
		}
		for _, m := range all {
			if string(m.value) != string(want[m.name]) {
				t.Errorf("%s: %q is %q", text, m.name, m.value)
			}
		}
	}
	for _, text := range []string{`[]`, ` [ ] `, `[1]`, `[ 1 , -2.5e3,true,"a,]", [[]] ,{"b":[]}, null]`} {
		var want []json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := elements(json.RawMessage(text)); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, text := range []string{`1`, `"a"`, `[1]`, `null`} {
		if _, ok := members(json.RawMessage(text)); ok {
			t.Errorf("%s is an object", text)
		}
	}
}

// FuzzRead: whatever comes as a body, it is read or refused.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		hello, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":[1]}}}]}]}`, `{"contents":{"parts":null}}`,
		`{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{}}}}}]}],"labels":{"a":"b"}}`,
		`{"generationConfig":{"thinkingConfig":{"thinkingBudget":1},"stopSequences":["a"]}}`, `[`, `{"labels":{"":""}}`,
	} {
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, vertex bool) {
		c := &call{x: &cloud.Exchange{Body: body}, surface: gemini, model: "gemini-3-pro"}
		if vertex {
			c.surface = project
		}
		c.read(body)
		if c.bad == nil && c.odd == nil && c.fields == nil {
			t.Fatalf("%q is neither read nor refused", body)
		}
		if (c.bad == nil) != json.Valid(body) && len(body) > 0 {
			t.Fatalf("%q: %v", body, c.bad)
		}
		if c.odd == nil && c.bad == nil {
			_ = c.checkFields()
		}
	})
}
