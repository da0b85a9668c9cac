package providers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// canonical rewrites a recorded request in the spelling of today's documentation. The service reads all of these
// the same: proto's JSON has names in either case, enums by name or number, and base64 in either alphabet; a
// function's parameters are given in one of two dialects of schema. What the request says stays.
func canonical(rec *recording) error {
	path, _, _ := strings.Cut(rec.Request.Path, "?")
	path = strings.ReplaceAll(path, "<GOOGLE_CLOUD_LOCATION>", "us-central1") // the recorder's mask
	if strings.HasSuffix(path, ":streamGenerateContent") {
		path += "?alt=sse" // the form of the reply, not of the request
	}
	rec.Request.Path = path
	if string(rec.Request.Body) == "null" || len(rec.Request.Body) == 0 {
		return nil
	}
	var body any
	if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
		return err
	}
	raw, err := json.Marshal(canonicalValue("", body))
	rec.Request.Body = raw
	return err
}

// free are the members whose values are the user's own.
var free = []string{"args", "response", "labels", "parametersJsonSchema", "responseJsonSchema"}

func canonicalValue(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for inner, value := range v {
			camel := camelCase(inner)
			switch {
			case slices.Contains(free, camel):
				c[camel] = value
			case camel == "parameters":
				c["parametersJsonSchema"] = jsonSchema(value)
			case camel == "description" && value == "": // to proto an empty text is none
			default:
				c[camel] = canonicalValue(camel, value)
			}
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = canonicalValue(name, v[i])
		}
		if name == "tools" { // functions first, as the adapter sends them
			slices.SortStableFunc(c, func(a, b any) int { return functionsFirst(a) - functionsFirst(b) })
			c = functionsTogether(c)
		}
		return c
	case string:
		switch name {
		case "thoughtSignature", "data":
			return strings.NewReplacer("-", "+", "_", "/").Replace(v)
		case "thinkingLevel":
			return strings.ToUpper(v)
		}
		return v
	case float64:
		if table, ok := enums[name]; ok && int(v) < len(table) {
			return table[int(v)]
		}
	}
	return v
}

// functionsTogether makes one tool of those that have nothing but functions.
func functionsTogether(tools []any) []any {
	for len(tools) > 1 && onlyFunctions(tools[0]) && onlyFunctions(tools[1]) {
		first, _ := tools[0].(map[string]any)
		second, _ := tools[1].(map[string]any)
		one := map[string]any{"functionDeclarations": slices.Concat(list(first["functionDeclarations"]), list(second["functionDeclarations"]))}
		tools = append([]any{one}, tools[2:]...)
	}
	return tools
}

func onlyFunctions(tool any) bool {
	m, ok := tool.(map[string]any)
	return ok && len(m) == 1 && m["functionDeclarations"] != nil
}

func functionsFirst(tool any) int {
	if m, ok := tool.(map[string]any); ok && m["functionDeclarations"] != nil {
		return 0
	}
	return 1
}

// enums are the numbers of the Gemini API.
var enums = map[string][]string{
	"threshold": {"HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"},
	"category": {
		"HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_DEROGATORY", "HARM_CATEGORY_TOXICITY", "HARM_CATEGORY_VIOLENCE",
		"HARM_CATEGORY_SEXUAL", "HARM_CATEGORY_MEDICAL", "HARM_CATEGORY_DANGEROUS", "HARM_CATEGORY_HARASSMENT",
		"HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_DANGEROUS_CONTENT",
	},
}

var schemaTypes = []any{nil, "string", "number", "integer", "boolean", "array", "object"}

// jsonSchema is the JSON Schema of a schema in the service's own dialect: types by name in capitals, or by number.
func jsonSchema(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	c := make(map[string]any, len(m))
	for name, value := range m {
		switch name {
		case "type":
			switch t := value.(type) {
			case string:
				value = strings.ToLower(t)
			case float64:
				value = schemaTypes[int(t)]
			}
		case "properties":
			if all, ok := value.(map[string]any); ok {
				inner := make(map[string]any, len(all))
				for property, s := range all {
					inner[property] = jsonSchema(s)
				}
				value = inner
			}
		case "items":
			value = jsonSchema(value)
		case "anyOf":
			list, _ := value.([]any)
			inner := make([]any, len(list))
			for i := range list {
				inner[i] = jsonSchema(list[i])
			}
			value = inner
		}
		c[name] = value
	}
	return c
}

// camelCase is the name that proto's JSON writes.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

func TestCanonicalSpellingKeepsWhatIsTheUsers(t *testing.T) {
	t.Parallel()
	rec := new(recording)
	rec.Request.Path = "/v1/models/m:generateContent?$alt=json;enum-encoding=int"
	rec.Request.Body = json.RawMessage(`{"contents":[{"parts":[{"function_call":{"name":"a_b","args":{"snake_key":1}},
		"thought_signature":"a-_b"}]}],"tools":[{"googleSearch":{}},{"function_declarations":[{"name":"a_b","description":"",
		"parameters":{"type":6,"properties":{"snake_key":{"type":"STRING"}}}}]}],"safety_settings":[{"category":10,"threshold":3}]}`)
	if err := canonical(rec); err != nil {
		t.Fatal(err)
	}
	want := `{"contents":[{"parts":[{"functionCall":{"name":"a_b","args":{"snake_key":1}},"thoughtSignature":"a+/b"}]}],
		"tools":[{"functionDeclarations":[{"name":"a_b","parametersJsonSchema":{"type":"object","properties":{"snake_key":{"type":"string"}}}}]},{"googleSearch":{}}],
		"safetySettings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","threshold":"BLOCK_ONLY_HIGH"}]}`
	if !sameJSON([]byte(want), rec.Request.Body) || rec.Request.Path != "/v1/models/m:generateContent" {
		t.Errorf("%s\n%s", rec.Request.Path, rec.Request.Body)
	}
}
