package vertex

import (
	"encoding/json"
	"testing"
)

// TestImprovise: what an account that improvises answers, on Vertex AI, on the Gemini API, and over gRPC.
func TestImprovise(t *testing.T) {
	const (
		asks      = `{"role":"user","parts":[{"text":"How is the weather?"}]}`
		calls     = `{"role":"model","parts":[{"functionCall":{"name":"weather","args":{}}}]}`
		responses = `{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"degrees":18}}}]}`
		says      = `{"role":"model","parts":[{"text":"18 degrees."}]}`
		weather   = `{"name":"weather","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING","nullable":true},"days":{"type":"ARRAY","minItems":"2","items":{"type":"INTEGER","minimum":2}},"unit":{"anyOf":[{"type":"STRING","enum":["celsius"]}]}},"required":["city"]}}`
		now       = `{"name":"now","parametersJsonSchema":{"type":"object","properties":{"zone":{"const":"UTC"}}}}`
		called    = `weather {"city":"text","days":[2,2],"unit":"celsius"}`
		told      = "I have the result of weather. This answer is simulated."
	)
	tools := func(list, calling string) string {
		if calling != "" {
			calling = `,"toolConfig":{"functionCallingConfig":` + calling + `}`
		}
		return `,"tools":[{"functionDeclarations":[` + list + `]}]` + calling
	}
	config := func(fields string) string { return `,"generationConfig":{` + fields + `}` }
	tests := []struct{ name, contents, fields, want string }{
		{"a plain question", asks, ``, greeting},
		{"a function", asks, tools(weather, ""), called},
		{"two: the first", asks, tools(now+","+weather, `{"mode":"AUTO"}`), `now {"zone":"UTC"}`},
		{"none", asks, tools(weather, `{"mode":"NONE"}`), greeting},
		{"any", asks, tools(weather, `{"mode":"ANY"}`), called},
		{"an allowed one", asks, tools(weather+","+now, `{"mode":"ANY","allowedFunctionNames":["now"]}`), `now {"zone":"UTC"}`},
		{"without parameters", asks, tools(`{"name":"stop"}`, ""), `stop {}`},
		{"a response", asks + "," + calls + "," + responses, tools(weather, ""), told},
		{"a response, and any", asks + "," + calls + "," + responses, tools(weather, `{"mode":"ANY"}`), called},
		{"a question after a response", asks + "," + calls + "," + responses + "," + says + "," + asks, tools(weather, ""), greeting},
		{"a schema", asks, config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER","minimum":3}},"required":["n"]}`), `{"n":3}`},
		{"a JSON schema", asks, config(`"responseMimeType":"application/json","responseJsonSchema":{"enum":[18,24]}`), `18`},
		{"an enum", asks, config(`"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["urgent","normal"]}`), `urgent`},
		{"JSON", asks, config(`"responseMimeType":"application/json"`), `{"answer":"` + greeting + `"}`},
	}
	s := start(t, &Options{Improvise: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"contents":[` + tt.contents + `]` + tt.fields + `}`
			for _, path := range []string{unaryPath, expressPath, geminiPath} {
				got := request{path: path, body: body, header: map[string]string{"Authorization": "Bearer t"}}.to(t, s).Outcome(t)
				var answer struct {
					Candidates []struct {
						Content struct {
							Parts []struct {
								Text         string
								FunctionCall *struct {
									Name string
									Args json.RawMessage
								}
							}
						}
					}
				}
				if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || len(answer.Candidates) != 1 || len(answer.Candidates[0].Content.Parts) != 1 {
					t.Fatalf("%d %s %v", got.Status, got.Body, err)
				}
				part := answer.Candidates[0].Content.Parts[0]
				said := part.Text
				if f := part.FunctionCall; f != nil {
					var args any
					_ = json.Unmarshal(f.Args, &args)
					said = f.Name + " " + string(marshal(args))
				}
				if said != tt.want {
					t.Errorf("%s: it says %s, want %s", path, said, tt.want)
				}
			}
		})
	}
	if got, err := (rpcRequest{}).answer(t, s); err != nil || got != `"`+greeting+`" STOP` {
		t.Errorf("over gRPC: %s, %v", got, err)
	}
}
