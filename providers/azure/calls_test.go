package azure_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func calls(deltas ...string) string { return `{"tool_calls":[` + strings.Join(deltas, ",") + "]}" }

func streamedCalls(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(data(calls(d), "null"))
	}
	return b.String()
}

var callsEnd = data("{}", `"tool_calls"`) + done

func TestPiecesOfToolCallsFindTheirCall(t *testing.T) {
	t.Parallel()
	add, mul := llm.ToolCall{ID: "t1", Name: "add", Arguments: `{"a":1}`}, llm.ToolCall{ID: "t2", Name: "mul", Arguments: `{"b":2}`}
	for name, c := range map[string]struct {
		deltas []string
		want   []llm.ToolCall
	}{
		"interleaved": {[]string{
			`{"index":0,"id":"t1","type":"function","function":{"name":"add","arguments":""}}`,
			`{"index":1,"id":"t2","type":"function","function":{"name":"mul","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"a\":"}}`, `{"index":1,"function":{"arguments":"{\"b\":"}}`,
			`{"index":0,"function":{"arguments":"1}"}}`, `{"index":1,"function":{"arguments":"2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"first index is 2": {[]string{`{"index":2,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`}, []llm.ToolCall{add}},
		"highest index first": {[]string{
			`{"index":1,"id":"t2","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`,
		}, []llm.ToolCall{mul, add}},
		"whole calls without an index": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"id":"t2","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"all are number 0": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"t2","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"pieces without an index": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":"{\"a\""}}`, `{"function":{"arguments":":1}"}}`,
			`{"id":"t2","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"the id is repeated": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\""}}`, `{"index":0,"id":"t1","function":{"name":"add","arguments":":1}"}}`,
		}, []llm.ToolCall{add}},
		"the id comes late": {[]string{
			`{"index":0,"function":{"name":"add"}}`, `{"index":0,"id":"t1","function":{"arguments":"{\"a\":1}"}}`,
		}, []llm.ToolCall{add}},
		"the name comes late": {[]string{
			`{"index":0,"id":"t1","function":{"arguments":"{\"a\""}}`, `{"index":0,"function":{"arguments":":"}}`,
			`{"index":0,"function":{"name":"add","arguments":"1}"}}`,
		}, []llm.ToolCall{add}},
		"interleaved by id": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":""}}`, `{"id":"t2","function":{"name":"mul","arguments":""}}`,
			`{"id":"t1","function":{"arguments":"{\"a\":1}"}}`, `{"id":"t2","function":{"arguments":"{\"b\":2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"interleaved by id, all number 0": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":""}}`, `{"index":0,"id":"t2","function":{"name":"mul","arguments":""}}`,
			`{"index":0,"id":"t1","function":{"arguments":"{\"a\":"}}`, `{"index":0,"id":"t2","function":{"arguments":"{\"b\":"}}`,
			`{"index":0,"id":"t1","function":{"arguments":"1}"}}`, `{"index":0,"id":"t2","function":{"arguments":"2}"}}`,
		}, []llm.ToolCall{add, mul}},
		"an index after the first piece": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":"{\"a\""}}`, `{"index":0,"id":"t1","function":{"arguments":":1}"}}`,
		}, []llm.ToolCall{add}},
		"every piece has an id of its own": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\""}}`, `{"index":0,"id":"x","function":{"arguments":":1}"}}`,
		}, []llm.ToolCall{add}},
		"the whole call is repeated": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`,
		}, []llm.ToolCall{add}},
		"the name is repeated behind the arguments": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"add","arguments":"\n"}}`,
		}, []llm.ToolCall{{ID: "t1", Name: "add", Arguments: `{"a":1}` + "\n"}}},
		"brackets in strings end nothing": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":\"}\\\"}"}}`, `{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"}"}}`,
		}, []llm.ToolCall{{ID: "t1", Name: "add", Arguments: `{"a":"}\"}{"}`}}},
		"no arguments":             {[]string{`{"index":0,"id":"t1","function":{"name":"now"}}`}, []llm.ToolCall{{ID: "t1", Name: "now", Arguments: "{}"}}},
		"arguments are null":       {[]string{`{"index":0,"id":"t1","function":{"name":"now","arguments":null}}`}, []llm.ToolCall{{ID: "t1", Name: "now", Arguments: "{}"}}},
		"arguments are an object":  {[]string{`{"index":0,"id":"t1","function":{"name":"add","arguments":{"a":1}}}`}, []llm.ToolCall{add}},
		"arguments are no JSON":    {[]string{`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\": tru"}}`}, []llm.ToolCall{{ID: "t1", Name: "add", Arguments: `{"a": tru`}}},
		"indices beyond all sense": {[]string{`{"index":-5,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":9000000000,"id":"t2","function":{"name":"mul","arguments":"{\"b\":2}"}}`}, []llm.ToolCall{add, mul}},
	} {
		got, resp := streamed(t, events(streamedCalls(c.deltas...), callsEnd))
		if !reflect.DeepEqual(resp.Message.ToolCalls(), c.want) || resp.Finish != llm.FinishToolCall {
			t.Errorf("%s: want %v, got %v", name, c.want, resp.Message.ToolCalls())
		}
		begun := map[int]bool{}
		for _, e := range got {
			switch begin := e.Kind == llm.EventToolCall; {
			case begin && (begun[e.Index] || e.ID == "" || e.Name == "" || e.Index != len(begun)),
				!begin && (!begun[e.Index] || e.Delta == ""):
				t.Errorf("%s: event %+v after %v", name, e, begun)
			case begin:
				begun[e.Index] = true
			}
		}
	}
}

func TestToolCallsWithoutIDsGetIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const first, second = `{"function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"function":{"name":"now"}}`
	_, one := streamed(t, events(streamedCalls(first, second), callsEnd))
	two := answered(t, message(calls(first, second), `"tool_calls"`))
	ids := map[string]bool{}
	for _, r := range []*llm.Response{one, two} {
		for _, c := range r.Message.ToolCalls() {
			ids[c.ID] = true
		}
	}
	if len(ids) != 4 || ids[""] {
		t.Errorf("the ids are %v", ids)
	}
}

func TestTextAndCallsKeepTheOrderOfTheirFirstPieces(t *testing.T) {
	t.Parallel()
	call := `{"index":0,"id":"t1","function":{"name":"now","arguments":"{}"}}`
	_, resp := streamed(t, events(text("a"), streamedCalls(call), text("b"), callsEnd))
	want := llm.Parts{llm.Text{Text: "ab"}, llm.ToolCall{ID: "t1", Name: "now", Arguments: "{}"}}
	if !reflect.DeepEqual(resp.Message.Parts, want) {
		t.Errorf("%+v", resp.Message.Parts)
	}
}

func TestHalfAToolCallIsNotInWhatIsLeftOfABrokenStream(t *testing.T) {
	t.Parallel()
	s := serve(t, thenAbort(text("a"), streamedCalls(
		`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`,
		`{"index":1,"id":"t2","function":{"name":"mul","arguments":"{\"b\":"}}`)))
	_, resp, err := stream(t, s.provider(t), hello())
	wantKind(t, err, llm.ErrInterrupted)
	if got := resp.Message.ToolCalls(); len(got) != 1 || got[0].ID != "t1" || resp.Text() != "a" {
		t.Errorf("%+v", resp.Message.Parts)
	}
}

func TestAToolCallWithoutANameIsBadOutput(t *testing.T) {
	t.Parallel()
	_, _, err := stream(t, serve(t, events(streamedCalls(`{"index":0,"id":"t1","function":{"arguments":"{}"}}`), callsEnd)).provider(t), hello())
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "tool_call_without_name" {
		t.Errorf("%+v", e)
	}
}

func TestACallCutBeforeItsNameIsLeftOut(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(text("a"), streamedCalls(`{"index":0,"id":"t1","function":{"arguments":""}}`), data("{}", `"length"`), done))
	if wantText(t, resp, "a"); len(resp.Message.Parts) != 1 || resp.Finish != llm.FinishLength {
		t.Errorf("%+v", resp)
	}
}

// TestACallMakesTheFinish: with a named tool choice OpenAI says stop.
func TestACallMakesTheFinish(t *testing.T) {
	t.Parallel()
	const call = `{"id":"t1","function":{"name":"now","arguments":"{}"}}`
	for _, finish := range []string{`"stop"`, `"tool_calls"`, "null"} {
		if resp := answered(t, message(calls(call), finish)); resp.Finish != llm.FinishToolCall || resp.RawFinish != strings.Trim(finish, `"nul`) {
			t.Errorf("%s: %s, %q", finish, resp.Finish, resp.RawFinish)
		}
	}
}

func TestCallsThatAreNoToolCallsComeAsOpaqueParts(t *testing.T) {
	t.Parallel()
	custom := `{"index":0,"id":"t1","type":"custom","custom":{"name":"math","input":"4 + 4"}}`
	for name, c := range map[string]struct {
		message, stream string
		want            llm.Opaque
	}{
		"custom tool": {
			calls(custom),
			streamedCalls(`{"index":0,"id":"t1","type":"custom","custom":{"name":"math","input":"4 +"}}`, `{"index":0,"custom":{"input":" 4"}}`),
			llm.Opaque{Type: azure.CustomToolType, Data: []byte(`{"custom":{"name":"math","input":"4 + 4"},"id":"t1","type":"custom"}`)},
		},
		"function_call": {
			`{"function_call":{"name":"f","arguments":"{\"a\":1}"}}`,
			data(`{"function_call":{"name":"f","arguments":"{\"a\""}}`, "null") + data(`{"function_call":{"arguments":":1}"}}`, "null"),
			llm.Opaque{Type: azure.FunctionCallType, Data: []byte(`{"name":"f","arguments":"{\"a\":1}"}`)},
		},
	} {
		_, streamed := streamed(t, events(c.stream, callsEnd))
		for _, resp := range []*llm.Response{answered(t, message(c.message, `"tool_calls"`)), streamed} {
			if !reflect.DeepEqual(resp.Message.Parts, llm.Parts{c.want}) || resp.Finish != llm.FinishToolCall {
				t.Errorf("%s: %s, %s", name, resp.Message.Parts, resp.Finish)
			}
		}
	}
}

func TestACustomToolCallGoesBackAsItWas(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{
		llm.Opaque{Type: azure.CustomToolType, Data: []byte(`{"id":"t1","type":"custom","custom":{"name":"math","input":"4 + 4"}}`)},
	}}, llm.User("go on"))
	got, _ := sent(t, req)
	want(t, got, map[string]string{"messages": `[{"role":"user","content":"hello"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"custom","custom":{"name":"math","input":"4 + 4"}}]},
		{"role":"user","content":"go on"}]`})
}
