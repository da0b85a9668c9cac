package vertex_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// nested is a schema of n levels of JSON, n odd, around leaf, which is a schema of one level.
func nested(n int, leaf string) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"properties":{"a":`, n/2) + leaf + strings.Repeat("}}", n/2))
}

func TestSchemasDoNotNestForever(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	lists := func(n int) json.RawMessage {
		return json.RawMessage(`{"enum":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`)
	}
	brackets := json.RawMessage(`{"description":"` + strings.Repeat(`[{\"`, 200) + `"}`)
	for _, schema := range []json.RawMessage{nested(99, "{}"), lists(100), brackets} {
		req := hello()
		req.Tools, req.Output = []llm.Tool{{Name: "f", Parameters: schema}}, &llm.Schema{JSON: schema}
		if _, err := unary(t, p, req); err != nil {
			t.Errorf("%.40s: %v", schema, err)
		}
	}
	n := len(s.Requests())
	for _, schema := range []json.RawMessage{nested(101, "{}"), nested(4001, "{}"), lists(101)} {
		req := hello()
		req.Tools = []llm.Tool{{Name: "f"}, {Name: "g", Parameters: schema}}
		_, err := unary(t, p, req)
		badField(t, err, llm.ErrUnsupported, "tools[1].parameters")
		req = hello()
		req.Output = &llm.Schema{JSON: schema}
		_, err = unary(t, p, req)
		badField(t, err, llm.ErrUnsupported, "output.json")
	}
	if len(s.Requests()) > n {
		t.Error("something was sent")
	}
}

// What a schema costs must not grow with the levels above its largest part. It is measured alone: no Parallel.
func TestSchemasAreReadOnce(t *testing.T) {
	cost := func(levels int) uint64 {
		req := hello()
		req.Output = &llm.Schema{JSON: nested(levels, `{"$comment":"c","description":"`+strings.Repeat("x", 1<<20)+`"}`)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent(t, req)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if flat, deep := cost(1), cost(99); deep > 2*flat {
		t.Errorf("%d MiB for one level, %d MiB for 99", flat>>20, deep>>20)
	}
}

func TestSchemasKeepWhatTheyHold(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{ "type":"object", "properties": { "$schema":{"const":1.0}, "b":true }, "items":[{"$comment":"c"}], "examples":[1] }`: `{"type":"object","properties":{"$schema":{"enum":[1.0]},"b":true},"items":[{"$comment":"c"}]}`,
		`{"anyOf":[{"$comment":1},2,[],{"multipleOf":3,"type":"number"}],"oneOf":null,"allOf":[]}`:                             `{"anyOf":[{},2,[],{"type":"number"}],"oneOf":null,"allOf":[]}`,
		`{"$defs":[1],"definitions":{},"additionalProperties":false,"readOnly":true,"const":{"const":1}}`:                      `{"$defs":[1],"definitions":{},"additionalProperties":false,"enum":[{"const":1}]}`,
		`{"description":"<\n\u00e9","deprecated":{"a":[1,{}]},"additionalProperties":{"items":{"uniqueItems":true}}}`:          `{"description":"<\né","additionalProperties":{"items":{}}}`,
		`{"const":"a","enum":["a"],"items":{"enum":["b"],"const":"b"}}`:                                                        `{"enum":["a"],"items":{"enum":["b"]}}`,
		`{"patternProperties":{"^a":{}},"not":{"type":"null"},"if":{},"then":{},"else":{},"default":1}`:                        `{"default":1}`,
	} {
		req := hello()
		req.Output = &llm.Schema{JSON: json.RawMessage(raw)}
		got, _ := sent(t, req)
		wantBody(t, got, `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":`+want+`}}`)
	}
}
