package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// The pieces of the requests below.
const (
	asks     = `{"role":"user","content":"JSON, please: how is the weather?"}`
	calls    = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
	result   = `{"role":"tool","tool_call_id":"a","content":"18 degrees"}`
	says     = `{"role":"assistant","content":"18 degrees."}`
	weather  = `{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":2}},"required":["city"]}}}`
	now      = `{"type":"function","function":{"name":"now"}}`
	custom   = `{"type":"custom","custom":{"name":"shell"}}`
	city     = `weather {"city":"text","days":2}`
	schemaOf = `"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","additionalProperties":false,"required":["degrees"],"properties":{"degrees":{"enum":[18,24]}}}}}`
	object1  = `"response_format":{"type":"json_object"}`
)

// TestImprovise: what an account that improvises answers, whole and as a stream, on every path.
func TestImprovise(t *testing.T) {
	tests := []struct {
		name, messages, fields string
		want                   string // "NAME ARGUMENTS" of the call, or the text
	}{
		{"a plain question", asks, ``, greeting},
		{"a tool", asks, `"tools":[` + weather + `]`, city},
		{"two tools: the first", asks, `"tools":[` + weather + `,` + now + `]`, city},
		{"a tool without parameters", asks, `"tools":[` + now + `,` + weather + `]`, `now {}`},
		{"auto", asks, `"tools":[` + weather + `],"tool_choice":"auto"`, city},
		{"none", asks, `"tools":[` + weather + `],"tool_choice":"none"`, greeting},
		{"required", asks, `"tools":[` + weather + `],"tool_choice":"required"`, city},
		{"a named one", asks, `"tools":[` + weather + `,` + now + `],"tool_choice":{"type":"function","function":{"name":"now"}}`, `now {}`},
		{"allowed ones", asks, `"tools":[` + weather + `,` + now + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"now"}}]}}`, `now {}`},
		{"a custom one is not called", asks, `"tools":[` + custom + `,` + now + `]`, `now {}`},
		{"a custom one only", asks, `"tools":[` + custom + `]`, greeting},
		{"a result", asks + `,` + calls + `,` + result, `"tools":[` + weather + `]`, "I have the result of weather. This answer is simulated."},
		{"a result without tools", asks + `,` + calls + `,` + result, ``, "I have the result of weather. This answer is simulated."},
		{"a result, and required", asks + `,` + calls + `,` + result, `"tools":[` + weather + `],"tool_choice":"required"`, city},
		{"a question after a result", asks + `,` + calls + `,` + result + `,` + says + `,` + asks, `"tools":[` + weather + `]`, greeting},
		{"a schema", asks, schemaOf, `{"degrees":18}`},
		{"a schema and a tool", asks, `"tools":[` + now + `],` + schemaOf, `now {}`},
		{"a schema and a result", asks + `,` + calls + `,` + result, `"tools":[` + weather + `],` + schemaOf, `{"degrees":18}`},
		{"an object", asks, object1, `{"answer":"` + greeting + `"}`},
		{"an object and a result", asks + `,` + calls + `,` + result, object1, `{"answer":"I have the result of weather. This answer is simulated."}`},
		{"text", asks, `"response_format":{"type":"text"}`, greeting},
	}
	s := start(t, &Options{Improvise: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fields := []string{`"model":"gpt-4o"`, `"messages":[` + tt.messages + `]`}
			if tt.fields != "" {
				fields = append(fields, tt.fields)
			}
			for _, path := range []string{deploymentPath, modelsPath, azureV1Path, openAIPath} {
				body := "{" + strings.Join(fields, ",") + "}"
				if got := said(t, request{path: path, body: body}, s); got != tt.want {
					t.Errorf("%s: %s, want %s", path, got, tt.want)
				}
				body = "{" + strings.Join(append(fields, `"stream":true`), ",") + "}"
				if got := said(t, request{path: path, body: body}, s); got != tt.want {
					t.Errorf("%s, a stream: %s, want %s", path, got, tt.want)
				}
			}
		})
	}
}

// said is what an answer consists of: its text, or its call and that it ended for that reason.
func said(t *testing.T, r request, s *Server) string {
	t.Helper()
	resp, body, err := r.to(t, s).Answer(t)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %d %s", err, resp.StatusCode, body)
	}
	type message struct {
		Content   string
		ToolCalls []toolCall `json:"tool_calls"`
	}
	var text, id, name, arguments, finish string
	for _, data := range strings.Split("\n\n"+body, "\n\ndata: ") {
		var k struct {
			Choices []struct {
				Message, Delta message
				Finish         string `json:"finish_reason"`
			}
		}
		if json.Unmarshal([]byte(data), &k) != nil {
			continue // the end mark
		}
		for _, ch := range k.Choices {
			text += ch.Message.Content + ch.Delta.Content
			finish += ch.Finish
			for _, c := range append(ch.Message.ToolCalls, ch.Delta.ToolCalls...) {
				id, name, arguments = id+c.ID, name+c.Function.Name, arguments+c.Function.Arguments
			}
		}
	}
	switch {
	case name == "" && finish == "stop":
		return text
	case text == "" && finish == "tool_calls" && strings.HasPrefix(id, "call_"):
		return name + " " + arguments
	default:
		return "neither text nor call: " + body
	}
}

// TestImproviseKeepsToTheScript: a step with a Response of its own stays as it is, and the rest of a step counts.
func TestImproviseKeepsToTheScript(t *testing.T) {
	s := start(t, &Options{Improvise: true, Script: []Turn{
		{Step: llmtest.Text("as written")},
		{Step: llmtest.Calls(llm.ToolCall{ID: "call_b", Name: "other"})},
		{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable})},
		{Fault: "cut=end"},
		{Reply: &Reply{Body: []byte("{}")}},
	}})
	with := request{body: `{"messages":[` + asks + `],"tools":[` + weather + `]}`}
	for _, want := range []string{"as written", "other {}"} {
		if got := said(t, with, s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := with.to(t, s).Outcome(t); got.Status != 503 {
		t.Errorf("%+v", got)
	}
	if got := with.to(t, s).Outcome(t); got.Err == nil || !strings.Contains(got.Body, `"weather"`) {
		t.Errorf("%+v", got)
	}
	if got := with.to(t, s).Outcome(t); got.Body != "{}" {
		t.Errorf("%+v", got)
	}
}

// TestImprovisedCallsHaveIDsOfTheirOwn, or a conversation could not tell two calls apart.
func TestImprovisedCallsHaveIDsOfTheirOwn(t *testing.T) {
	s := start(t, &Options{Improvise: true})
	seen := map[string]bool{}
	for range 3 {
		_, body, err := request{body: `{"messages":[` + asks + `],"tools":[` + now + `]}`}.to(t, s).Answer(t)
		var got completion
		if err != nil || json.Unmarshal([]byte(body), &got) != nil {
			t.Fatal(err, body)
		}
		seen[got.Choices[0].Message.ToolCalls[0].ID] = true
	}
	if len(seen) != 3 {
		t.Errorf("ids %v", seen)
	}
}

// TestImprovisesWithinAnyRequest: a compatible server gets requests that no check has seen.
func TestImprovisesWithinAnyRequest(t *testing.T) {
	s := start(t, &Options{Improvise: true, Lenient: true})
	for _, body := range []string{
		`{}`, `{"messages":7,"tools":7,"tool_choice":7,"response_format":7}`, `{"messages":[7],"tools":[7,{"function":7}]}`,
		`{"messages":[{"role":"tool"}],"tools":[{"function":{}}],"tool_choice":{"type":"function"}}`,
		`{"tools":[{"function":{"name":"f","parameters":{"$ref":"#/none"}}}],"tool_choice":"required"}`,
		`{"response_format":{"type":"json_schema","json_schema":{"schema":false}}}`, `{"response_format":{"type":"json_schema"}}`,
	} {
		if got := (request{body: body}).to(t, s).Outcome(t); got.Status != 200 || !json.Valid([]byte(got.Body)) {
			t.Errorf("%s: %+v", body, got)
		}
	}
}
