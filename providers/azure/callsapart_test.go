package azure_test

import (
	"fmt"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// TestCallsThatAreToldApartPoorlyAreNotMerged: no two of them may come out as one, nor with one id.
func TestCallsThatAreToldApartPoorlyAreNotMerged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deltas []string
		first  string // its id; empty: it has none
		whole  bool   // the same is true of a whole message
	}{
		"one id, no index": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"id":"t1","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, "t1", true},
		"one id, two indices": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":1,"id":"t1","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, "t1", true},
		"one id, two indices, in pieces": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add"}}`, `{"index":1,"id":"t1","function":{"name":"mul"}}`,
			`{"index":0,"id":"t1","function":{"arguments":"{\"a\":1}"}}`, `{"index":1,"id":"t1","function":{"arguments":"{\"b\":2}"}}`,
		}, "t1", false},
		"one id, index 0": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"t1","function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, "t1", true},
		"one id, in pieces": {[]string{
			`{"id":"t1","function":{"name":"add","arguments":"{\"a\":1}"}}`,
			`{"id":"t1","function":{"name":"mul","arguments":"{\"b\""}}`, `{"id":"t1","function":{"arguments":":2}"}}`,
		}, "t1", false},
		"no id, index 0": {[]string{
			`{"index":0,"function":{"name":"add","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, "", true},
		"the first without arguments": {[]string{
			`{"index":0,"id":"t1","function":{"name":"add","arguments":""}}`, `{"index":0,"function":{"name":"mul","arguments":"{\"b\":2}"}}`,
		}, "t1", true},
	} {
		_, pieces := streamed(t, events(streamedCalls(c.deltas...), callsEnd))
		results := []*llm.Response{pieces}
		if c.whole {
			results = append(results, answered(t, message(calls(c.deltas...), `"tool_calls"`)))
		}
		for _, resp := range results {
			got := resp.Message.ToolCalls()
			if len(got) != 2 || got[0].ID == got[1].ID || got[0].Name != "add" || got[1].Name != "mul" || got[1].Arguments != `{"b":2}` ||
				c.first != "" && got[0].ID != c.first || got[1].ID == "" || len(got[1].ID) > 40 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	const same = `{"index":0,"function":{"name":"add","arguments":"{\"a\":1}"}}`
	_, resp := streamed(t, events(data(calls(same, same), "null"), callsEnd))
	if got := resp.Message.ToolCalls(); len(got) != 2 || got[0].Arguments != `{"a":1}` || got[1].Arguments != `{"a":1}` {
		t.Errorf("one function twice: %+v", got)
	}
}

func TestAnIDThatWasMadeUpGoesBackWithItsResult(t *testing.T) {
	t.Parallel()
	const same = `{"id":"t1","function":{"name":"add","arguments":"{}"}}`
	resp := answered(t, message(calls(same, same), `"tool_calls"`))
	made := resp.Message.ToolCalls()[1].ID
	req := hello()
	req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleTool, Parts: llm.Parts{
		llm.ToolResult{CallID: "t1", Parts: llm.Parts{llm.Text{Text: "1"}}},
		llm.ToolResult{CallID: made, Parts: llm.Parts{llm.Text{Text: "2"}}},
	}})
	got, _ := sent(t, req)
	call := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"add","arguments":"{}"}}`
	}
	want(t, got, map[string]string{"messages": `[{"role":"user","content":"hello"},
		{"role":"assistant","content":null,"tool_calls":[` + call("t1") + "," + call(made) + `]},
		{"role":"tool","content":"1","tool_call_id":"t1"},{"role":"tool","content":"2","tool_call_id":"` + made + `"}]`})
}

func TestAsManyCallsAsAreGoodKeepTheirPieces(t *testing.T) {
	t.Parallel()
	piece := func(i int, rest string) string { return fmt.Sprintf(`{"index":%d,%s}`, i, rest) }
	var begin, rest []string
	for i := range 1024 {
		begin = append(begin, piece(i, fmt.Sprintf(`"id":"t%d","function":{"name":"f","arguments":"{\"n\":"}`, i)))
		rest = append(rest, piece(i, fmt.Sprintf(`"function":{"arguments":"%d}"}`, i)))
	}
	_, resp := streamed(t, events(data(calls(begin...), "null"), data(calls(rest...), "null"), callsEnd))
	got := resp.Message.ToolCalls()
	if len(got) != 1024 {
		t.Fatalf("%d calls", len(got))
	}
	for i, c := range got {
		if c.ID != fmt.Sprint("t", i) || c.Arguments != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	more := piece(1024, `"id":"t","function":{"name":"f"}`)
	_, _, err := stream(t, serve(t, events(data(calls(begin...), "null"), data(calls(more), "null"), callsEnd)).provider(t), hello())
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "too_many_tool_calls" {
		t.Errorf("%+v", e)
	}
}
