package providers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// allowance is a leaf of a request body that may differ from the recorded one.
type allowance struct {
	path   string // with [*] for every index
	reason string
	ok     func(recorded, sent any) bool // nil stands for a leaf that is not there, as JSON's null does
}

// maxAllowances is how many leaf paths may differ over all files.
const maxAllowances = 15

// chatAllowances are those of chat completions.
var chatAllowances = []allowance{
	{
		"model", "the deployment in the path is the model; sent in the body too, where gateways look for it",
		func(recorded, sent any) bool { return recorded == nil && sent != nil },
	},
	{
		"stream", "false is the default and not sent",
		func(recorded, sent any) bool { return recorded == false && sent == nil },
	},
	{
		"stream_options.include_usage", "asked of every stream: without it there are no token counts",
		func(recorded, sent any) bool { return recorded == nil && sent == true },
	},
	{
		"tool_choice", "auto is the default and not sent",
		func(recorded, sent any) bool { return recorded == "auto" && sent == nil },
	},
	{
		"tools[*].function.strict", "false is the default and not sent",
		func(recorded, sent any) bool { return recorded == false && sent == nil },
	},
	{
		"tools[*].function.description", "an empty description is not sent",
		func(recorded, sent any) bool { return recorded == "" && sent == nil },
	},
	{
		"tools[*].function.parameters.type", "a function without parameters is sent as one that takes an empty object",
		func(recorded, sent any) bool { return recorded == nil && sent == "object" },
	},
	{
		"tools[*].function.parameters.properties", "a function without parameters is sent as one that takes an empty object",
		func(recorded, sent any) bool { return recorded == nil && fmt.Sprint(sent) == "map[]" },
	},
	{
		"messages[*].role", "a request has one system prompt, in front of other messages; more of them are sent as the user's",
		func(recorded, sent any) bool {
			return (recorded == "developer" || recorded == "system") && sent != "assistant"
		},
	},
	{
		"messages[*].content", "a list of one text is sent as that text", // checked by loneText
		func(any, any) bool { return false },
	},
	{
		"messages[*].content[*].image_url.detail", "a request has no place for it",
		func(recorded, sent any) bool { return recorded != nil && sent == nil },
	},
	{
		"messages[*].name", "a request has no place for it",
		func(recorded, sent any) bool { return recorded != nil && sent == nil },
	},
}

// outgoing compares what was sent for a recording with what was recorded. used counts the allowances taken.
func outgoing(rec *recording, got *result, allowed []allowance, used map[string]int) (problems []string) {
	if !samePath(got.path, rec.Request.Path) || got.method != rec.Request.Method {
		problems = append(problems, fmt.Sprintf("want %s %s, got %s %s", rec.Request.Method, rec.Request.Path, got.method, got.path))
	}
	if string(rec.Request.Body) == "null" || len(rec.Request.Body) == 0 {
		return problems
	}
	var recorded, sent any
	if err := json.Unmarshal(rec.Request.Body, &recorded); err != nil {
		return append(problems, err.Error())
	}
	if err := json.Unmarshal(got.body, &sent); err != nil {
		return append(problems, fmt.Sprintf("what was sent is no JSON: %v", err))
	}
	want, have := map[string]any{}, map[string]any{}
	leaves("", loneText("", recorded, used), want)
	leaves("", sent, have)
	both := maps.Clone(want)
	maps.Copy(both, have)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		if want[path] == have[path] || fmt.Sprint(want[path]) == fmt.Sprint(have[path]) && want[path] != nil && have[path] != nil {
			continue
		}
		pattern := anyIndex.ReplaceAllString(path, "[*]")
		i := slices.IndexFunc(allowed, func(a allowance) bool { return a.path == pattern && a.ok(want[path], have[path]) })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("sent %s: want %v, got %v", path, want[path], have[path]))
			continue
		}
		used[pattern]++
	}
	return problems
}

// samePath compares paths that may be escaped in more than one way: ":" and "%3A" are the same.
func samePath(a, b string) bool {
	x, errX := url.PathUnescape(a)
	y, errY := url.PathUnescape(b)
	return a == b || errX == nil && errY == nil && x == y
}

var anyIndex = regexp.MustCompile(`\[\d+\]`)

// leaves lists the values of v by path. Empty lists and objects are leaves, nulls are not there.
func leaves(path string, v any, into map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			leaves(inner, value, into)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, value := range v {
			leaves(path+"["+strconv.Itoa(i)+"]", value, into)
		}
		if len(v) > 0 {
			return
		}
	case nil:
		return
	}
	if path != "" {
		switch v.(type) {
		case map[string]any, []any:
			into[path] = fmt.Sprint(v)
		default:
			into[path] = v
		}
	}
}

// loneText replaces contents that are lists of one text by the text.
func loneText(name string, v any, used map[string]int) any {
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for name, value := range v {
			c[name] = loneText(name, value, used)
		}
		return c
	case []any:
		if len(v) == 1 && name == "content" {
			if p, ok := v[0].(map[string]any); ok && len(p) == 2 && p["type"] == "text" {
				used["messages[*].content"]++
				return p["text"]
			}
		}
		c := slices.Clone(v)
		for i, value := range v {
			c[i] = loneText("", value, used)
		}
		return c
	default:
		return v
	}
}

func TestAllowancesNameLeavesAndAreFew(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for provider, a := range adapters {
		for _, one := range a.allowed {
			all[one.path] = true
			if slices.Contains([]string{"messages", "tools", "system", ""}, one.path) || one.reason == "" {
				t.Errorf("%s: %q is no leaf, or has no reason", provider, one.path)
			}
		}
	}
	if len(all) > maxAllowances {
		t.Errorf("%d leaf paths may differ over all providers, at most %d are allowed", len(all), maxAllowances)
	}
}

func TestADifferenceInARequestBodyIsNoticed(t *testing.T) {
	t.Parallel()
	rec := new(recording)
	rec.Request.Method, rec.Request.Path = "POST", "/v1/chat/completions"
	rec.Request.Body = json.RawMessage(`{"messages":[{"role":"user","content":"hi"}],"temperature":0,"tools":[{"function":{"strict":true}}]}`)
	for body, noticed := range map[string]bool{
		`{"messages":[{"role":"user","content":"hi"}],"temperature":0.0,"tools":[{"function":{"strict":true}}]}`:         false,
		`{"messages":[{"role":"user","content":"ho"}],"temperature":0,"tools":[{"function":{"strict":true}}]}`:           true,
		`{"messages":[{"role":"user","content":"hi"}],"tools":[{"function":{"strict":true}}]}`:                           true,
		`{"messages":[{"role":"user","content":"hi"}],"temperature":0,"tools":[{"function":{}}]}`:                        true,
		`{"messages":[{"role":"user","content":"hi"}],"temperature":0,"tools":[{"function":{"strict":true}}],"top_k":1}`: true,
		`{"messages":[{"role":"assistant","content":"hi"}],"temperature":0,"tools":[{"function":{"strict":true}}]}`:      true,
	} {
		got := &result{method: "POST", path: rec.Request.Path, body: []byte(body)}
		if problems := outgoing(rec, got, chatAllowances, map[string]int{}); (len(problems) > 0) != noticed {
			t.Errorf("%s: %q", body, problems)
		}
	}
}
