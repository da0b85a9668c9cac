package llm_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

var (
	start    = time.Date(2026, 3, 1, 12, 0, 0, 500_000_000, time.UTC)
	gpt      = llm.ModelRef{Provider: "azure", Model: "gpt-4o"}
	usage    = llm.Usage{Input: 120, Output: 40, CacheRead: 64, CacheWrite: 32, Reasoning: 16, Reported: true}
	allParts = llm.Parts{
		llm.Text{Text: "Look:", Signature: []byte{1, 2, 3}},
		llm.Media{MediaType: "application/pdf", Name: "invoice", Data: []byte("%PDF")},
		llm.Media{MediaType: "image/png", URI: "gs://bucket/cat.png"},
		llm.Reasoning{Text: "hm", Signature: []byte{4, 5}},
		llm.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Bern"}`, Signature: []byte{6}},
		llm.ToolResult{CallID: "c1", Name: "weather", IsError: true, Parts: llm.Parts{
			llm.Text{Text: "no such city"},
			llm.Opaque{Type: "video_clip", Data: json.RawMessage(`{"type":"video_clip","seconds":3,"at":"2"}`)},
		}},
		llm.CachePoint{},
		llm.Opaque{Type: "guard", Data: json.RawMessage(`{"type":"guard","score":0.50,"tags":[]}`)},
		llm.Opaque{Type: "citation", Data: json.RawMessage(`[1,2]`)},
	}
	attempt = llm.Attempt{
		Target: "azure-eu", Model: gpt, Start: start, Wait: 100 * time.Millisecond, Limit: 30 * time.Second,
		FirstContent: 420 * time.Millisecond, Took: 1500 * time.Millisecond, Kind: llm.ErrTimeout,
		Bound: llm.BoundAttempt, Status: 504, RequestID: "req-1", Usage: usage, NotSent: true,
	}
	skip    = llm.Skip{Target: "vertex", Why: llm.SkipCooling, For: 90 * time.Second}
	warning = llm.Warning{Code: "dropped", Field: "seed", Message: "bedrock has no seed"}
	limit   = llm.RateLimit{RemainingRequests: 9, RemainingTokens: 1000, Reset: 1500 * time.Millisecond, Reported: true}
	limits  = llm.Limits{
		Attempt: 1500 * time.Millisecond, Connect: 2 * time.Second, FirstContent: 3 * time.Second,
		Idle: 4 * time.Second, Total: time.Minute, Tries: 5,
	}
	message = llm.Message{Role: llm.RoleAssistant, Parts: allParts, From: gpt}
	tool    = llm.Tool{
		Name: "weather", Description: "of a city", Parameters: json.RawMessage(`{"type":"object"}`), Lenient: true,
	}
	schema   = llm.Schema{Name: "verdict", Description: "of triage", JSON: json.RawMessage(`{"type":"object"}`), Lenient: true}
	choice   = llm.ToolChoice{Mode: llm.ToolNamed, Name: "weather", Single: true}
	thinking = llm.Thinking{Effort: "low", MaxTokens: 1024}
	route    = llm.Route{Only: []string{"a", "b"}, Tags: []string{"eu"}, Prefer: "b"}
	response = llm.Response{
		ID: "resp-1", Target: "azure-eu", Model: gpt, ModelVersion: "gpt-4o-2024-11-20", Message: message,
		Finish: llm.FinishToolCall, RawFinish: "tool_calls", Usage: usage, Attempts: []llm.Attempt{attempt},
		Skipped: []llm.Skip{skip}, Warnings: []llm.Warning{warning}, RateLimit: limit,
	}
	request = llm.Request{
		Operation: llm.Triage, Session: "s-1", System: "Be brief.",
		Messages: []llm.Message{llm.User("hi"), message},
		Tools:    []llm.Tool{tool}, ToolChoice: choice, Output: &schema, MaxTokens: 256,
		Temperature: new(0.0), TopP: new(0.9), Stop: []string{"END"}, Seed: new(int64(7)), Thinking: thinking,
		CachePrefix: true, Limits: limits, Route: route, Metadata: map[string]string{"tenant": "t-1"},
		Extra: map[string]json.RawMessage{"azure": json.RawMessage(`{"user":"u"}`)},
	}
	failure = llm.Error{
		Kind: llm.ErrTimeout, Operation: llm.Triage, Target: "azure-eu", Model: gpt, Status: 504, Code: "Timeout",
		RequestID: "req-1", Filtered: []string{"violence (medium)"}, Bound: llm.BoundAttempt, Stopped: llm.StopTotal,
		RetryAfter: 1500 * time.Millisecond, NoRetry: true, Attempts: []llm.Attempt{attempt},
		Skipped: []llm.Skip{skip}, NotSent: true,
		Err: &llm.FieldError{Field: "messages[0].role", Problem: "is empty", Next: "use user"},
	}
)

// data is one filled value of every exported type that is data.
var data = []struct {
	file  string
	value any
}{
	{"request", request},
	{"limits", limits},
	{"route", route},
	{"thinking", thinking},
	{"schema", schema},
	{"tool", tool},
	{"tool_choice", choice},
	{"message", message},
	{"model_ref", gpt},
	{"parts", allParts},
	{"event", llm.Event{Kind: llm.EventDone, Index: 2, Delta: "d", ID: "c1", Name: "weather", Response: &response}},
	{"response", response},
	{"usage", usage},
	{"warning", warning},
	{"rate_limit", limit},
	{"attempt", attempt},
	{"skip", skip},
	{"error", failure},
	{"capabilities", llm.Capabilities{ContextWindow: 128000, MaxOutput: 4096, Lacks: []string{"seed"}, Streams: true, Silent: true}},
}

func TestJSONFormOfEveryType(t *testing.T) {
	t.Parallel()
	for _, d := range data {
		t.Run(d.file, func(t *testing.T) {
			t.Parallel()
			raw := mustJSON(t, d.value)
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, []byte(raw), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, d.file+".json", append(pretty.Bytes(), '\n'))
			for _, key := range regexp.MustCompile(`[{,]"([^"\\]*)":`).FindAllStringSubmatch(raw, -1) {
				if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(key[1]) {
					t.Errorf("the key %q is not in snake case", key[1])
				}
			}
			back := reflect.New(reflect.TypeOf(d.value))
			if err := json.Unmarshal([]byte(raw), back.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back.Elem().Interface(), d.value) {
				t.Errorf("decode(encode(x)) differs\n got: %+v\nwant: %+v", back.Elem().Interface(), d.value)
			}
		})
	}
}

// A field added later must be filled above, and with that appear in the golden files.
func TestGoldenValuesAreFilled(t *testing.T) {
	t.Parallel()
	unset := map[string]bool{
		"Request.Accept": true, "Error.Message": true, "Error.Partial": true, // have no JSON form
	}
	for _, d := range data {
		v := reflect.ValueOf(d.value)
		if v.Kind() != reflect.Struct {
			continue
		}
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if v.Field(i).IsZero() && !unset[name] {
				t.Errorf("%s is zero in the golden value: fill it", name)
			}
		}
	}
}

func TestZeroFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, d := range data {
		want := "{}"
		switch d.file {
		case "parts":
			want = "null"
		case "error":
			want = `{"kind":"unknown"}`
		}
		if got := mustJSON(t, reflect.Zero(reflect.TypeOf(d.value)).Interface()); got != want {
			t.Errorf("zero %s is %s, want %s", d.file, got, want)
		}
	}
	empty := llm.Request{
		Messages: []llm.Message{}, Tools: []llm.Tool{}, Stop: []string{}, Metadata: map[string]string{},
		Extra: map[string]json.RawMessage{}, Route: llm.Route{Only: []string{}},
	}
	if got := mustJSON(t, empty); got != `{"route":{}}` && got != `{}` {
		t.Errorf("a request of empty slices and maps is %s", got)
	}
}

// Every exported struct is either pinned above or known to be no data.
func TestGoldenListIsComplete(t *testing.T) {
	t.Parallel()
	seen := []string{"Client", "ClientOptions", "Stream", "Accumulator", "Observer", "Endpoint", "FieldError"}
	for _, d := range data {
		seen = append(seen, reflect.TypeOf(d.value).Name())
	}
	for _, p := range allParts {
		seen = append(seen, reflect.TypeOf(p).Name())
	}
	for _, name := range exportedStructs(t) {
		if !slices.Contains(seen, name) {
			t.Errorf("%s has no golden file", name)
		}
	}
}

func exportedStructs(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
					if _, ok := ts.Type.(*ast.StructType); ok {
						names = append(names, ts.Name.Name)
					}
				}
			}
		}
	}
	return names
}

// sources parses the package's files that are no tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = file
	}
	return files
}

func TestDurationsAreText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in string
		ok bool
	}{
		{`{"attempt":"1.5s"}`, true},
		{`{"attempt":"1m30s"}`, true},
		{`{"attempt":"0"}`, true},
		{`{"attempt":"1.5"}`, false},
		{`{"attempt":1.5}`, false},
		{`{"attempt":1500000000}`, false},
		{`{"attempt":"soon"}`, false},
		{`{"attempt":{}}`, false},
		{`[]`, false},
	}
	for _, tt := range tests {
		var l llm.Limits
		if err := json.Unmarshal([]byte(tt.in), &l); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want ok %v", tt.in, err, tt.ok)
		}
	}
	for _, v := range []any{new(llm.Attempt), new(llm.Skip), new(llm.RateLimit), new(llm.Error)} {
		if err := json.Unmarshal([]byte(`{"took":5,"for":5,"reset":5,"retry_after":5}`), v); err == nil {
			t.Errorf("%T: a number was taken for a duration", v)
		}
	}
}

func TestErrorJSONIsSafe(t *testing.T) {
	t.Parallel()
	e := failure
	e.Message, e.Err = canary, &json.SyntaxError{}
	e.Partial = answer(llm.Text{Text: canary})
	for what, v := range map[string]any{
		"pointer": &e, "value": e, "inside": struct{ Err error }{&e}, "value inside": struct{ Err llm.Error }{e},
	} {
		noCanary(t, what, mustJSON(t, v))
	}
	if got := mustJSON(t, (*llm.Error)(nil)); got != "null" {
		t.Errorf("a nil error is %s", got)
	}
}
