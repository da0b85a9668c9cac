package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts llm.Parts
		text  string
		calls int
	}{
		{nil, "", 0},
		{llm.Parts{llm.Text{Text: "a"}}, "a", 0},
		{llm.Parts{llm.ToolCall{ID: "1"}}, "", 1},
		{llm.Parts{nil}, "", 0},
		{llm.Parts{llm.Text{Text: "a"}, llm.Reasoning{Text: "hm"}, llm.ToolCall{ID: "1"}, llm.Text{Text: "b"}, llm.ToolCall{ID: "2"}}, "ab", 2},
	}
	for _, tt := range tests {
		m := llm.Message{Parts: tt.parts}
		if m.Text() != tt.text || len(m.ToolCalls()) != tt.calls {
			t.Errorf("%+v: %q, %d calls", tt.parts, m.Text(), len(m.ToolCalls()))
		}
	}
	if got := llm.User("a"); !reflect.DeepEqual(got, llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "a"}}}) {
		t.Errorf("got %+v", got)
	}
	if got := llm.ToolResults(llm.ToolResult{CallID: "1"}, llm.ToolResult{CallID: "2"}); got.Role != llm.RoleTool || len(got.Parts) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestModelRef(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]llm.ModelRef{
		"": {}, "azure/gpt-4o": gpt, "azure": {Provider: "azure"}, "gpt-4o": {Model: "gpt-4o"},
	} {
		if m.String() != want {
			t.Errorf("got %q, want %q", m, want)
		}
	}
	if !reflect.TypeFor[llm.ModelRef]().Comparable() {
		t.Error("ModelRef is not comparable any more")
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	var none *llm.Response
	if none.Text() != "" || none.TotalUsage() != (llm.Usage{}) {
		t.Error("a nil response has content")
	}
	r := llm.Response{Usage: usage, Attempts: []llm.Attempt{
		{Kind: llm.ErrTimeout, Usage: usage}, {Kind: llm.ErrAuth}, {Usage: usage}, // the last one answered
	}}
	want := llm.Usage{Input: 240, Output: 80, CacheRead: 128, CacheWrite: 64, Reasoning: 32, Reported: true}
	if got := r.TotalUsage(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r = llm.Response{Attempts: []llm.Attempt{{Kind: llm.ErrTimeout, Usage: llm.Usage{Input: 1, Reported: true}}}}
	if got := r.TotalUsage(); got != (llm.Usage{Input: 1, Reported: true}) {
		t.Errorf("got %+v", got)
	}
}

type picky struct{}

var errPicky = errors.New("picky")

func (*picky) UnmarshalJSON([]byte) error { return errPicky }

func TestToolCallDecode(t *testing.T) {
	t.Parallel()
	type in struct {
		City  string   `json:"city"`
		Days  int8     `json:"days"`
		Exact bool     `json:"exact"`
		Tags  []string `json:"tags"`
		Any   chan int `json:"any"`
		Where struct {
			Lat float64 `json:"lat"`
		} `json:"where"`
	}
	for _, arguments := range []string{"", " \n", "{}", "null", `{"later":1}`} {
		var v in
		if err := (llm.ToolCall{Arguments: arguments}).Decode(&v); err != nil || !reflect.DeepEqual(v, in{}) {
			t.Errorf("%q: %+v, %v", arguments, v, err)
		}
	}
	var v in
	if err := (llm.ToolCall{Arguments: `{"city":"Bern","where":{"lat":46.9}}`}).Decode(&v); err != nil || v.City != "Bern" || v.Where.Lat != 46.9 {
		t.Errorf("got %+v, %v", v, err)
	}
	tests := []struct{ arguments, want string }{
		{`{"city":"` + canary, "arguments: are no JSON at byte 31 of 31"},
		{canary, "arguments: are no JSON at byte 1 of 22"},
		{`{} ` + canary, "arguments: are no JSON at byte 4 of 25"},
		{`["` + canary + `"]`, "arguments: do not fit at byte 1: an object is wanted"},
		{`{"city":7}`, "arguments.city: do not fit at byte 9: a text is wanted"},
		{`{"days":"` + canary + `"}`, "arguments.days: do not fit at byte 32: a whole number in range is wanted"},
		{`{"days":300}`, "arguments.days: do not fit at byte 11: a whole number in range is wanted"},
		{`{"exact":"` + canary + `"}`, "arguments.exact: do not fit at byte 33: true or false is wanted"},
		{`{"any":1}`, "arguments.any: do not fit at byte 8: another value is wanted"},
		{`{"tags":{}}`, "arguments.tags: do not fit at byte 9: a list is wanted"},
		{`{"where":{"lat":"` + canary + `"}}`, "arguments.where.lat: do not fit at byte 40: a number is wanted"},
	}
	for _, tt := range tests {
		err := (llm.ToolCall{ID: canary, Name: "weather", Arguments: tt.arguments}).Decode(new(in))
		if want := "llm: bad_output: tool call weather: " + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tt.arguments, err, want)
		}
		noCanary(t, "the error", err.Error()+mustJSON(t, err))
		if llm.KindOf(err) != llm.ErrBadOutput {
			t.Errorf("kind %s", llm.KindOf(err))
		}
	}
	if err := (llm.ToolCall{Arguments: "{"}).Decode(new(in)); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); !ok {
			t.Errorf("the error of encoding/json is out of reach: %v", err)
		}
	}
	if err := (llm.ToolCall{}).Decode(new(picky)); !errors.Is(err, errPicky) || llm.KindOf(err) != llm.ErrBadOutput {
		t.Errorf("got %v", err)
	}
	for _, v := range []any{nil, in{}, (*in)(nil)} {
		if err := (llm.ToolCall{}).Decode(v); llm.KindOf(err) != llm.ErrInvalid {
			t.Errorf("into %T: %v", v, err)
		}
	}
}
