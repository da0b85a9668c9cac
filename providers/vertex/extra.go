package vertex

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
)

// Extra holds request fields that only Gemini knows. Zero fields are not sent. In a request's JSON it is the object
// extra.vertex, whose members go into the body of the call: tools behind the request's own, objects member by
// member over what is there, anything else in its place.
type Extra struct {
	SafetySettings []SafetySetting `json:"safetySettings,omitempty"`
	// CachedContent names a cache that was made by hand. On Vertex AI the id alone is enough.
	CachedContent string            `json:"cachedContent,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"` // in place of Request.Metadata
	ModelArmor    *ModelArmor       `json:"modelArmorConfig,omitempty"`
	// GenerationConfig has further members of generationConfig, such as topK, candidateCount or responseModalities.
	GenerationConfig map[string]any `json:"generationConfig,omitempty"`
	// Tools are tools that the service runs itself, such as {"googleSearch":{}} or {"codeExecution":{}}.
	Tools []json.RawMessage `json:"tools,omitempty"`
	// ToolConfig has further members of toolConfig.
	ToolConfig map[string]any `json:"toolConfig,omitempty"`
	// Fields are further members of the body. They go before the fields above; a null keeps a member from being
	// sent. contents, systemInstruction and model cannot be set.
	Fields map[string]json.RawMessage `json:"-"`
}

// SafetySetting says from which probability on a kind of harm is blocked.
type SafetySetting struct {
	Category  string `json:"category"`         // "HARM_CATEGORY_HATE_SPEECH", …
	Threshold string `json:"threshold"`        // "BLOCK_ONLY_HIGH", "BLOCK_NONE", …
	Method    string `json:"method,omitempty"` // "SEVERITY" or "PROBABILITY"; Vertex AI only
}

// ModelArmor names the templates of Model Armor that check prompt and answer. Vertex AI only.
type ModelArmor struct {
	PromptTemplate   string `json:"promptTemplateName,omitempty"`
	ResponseTemplate string `json:"responseTemplateName,omitempty"`
}

// Set writes e into req and replaces what an earlier Set wrote.
func (e Extra) Set(req *llm.Request) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return llm.Invalid("extra.vertex", "holds a value that is no JSON", "check the raw fields")
	}
	if len(e.Fields) > 0 {
		var m members
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		maps.Copy(m, e.Fields)
		if raw, err = json.Marshal(m); err != nil {
			return llm.Invalid("extra.vertex", "holds a value that is no JSON", "check Fields")
		}
	}
	if _, err := readExtra(raw); err != nil {
		return err
	}
	// The map may be shared with other requests.
	req.Extra = maps.Clone(req.Extra)
	if req.Extra == nil {
		req.Extra = make(map[string]json.RawMessage, 1)
	}
	req.Extra[providerName] = raw
	return nil
}

// members are members of a JSON object.
type members map[string]json.RawMessage

// reserved names the members that nobody but the request itself sets.
func reserved(name string) bool {
	return name == "contents" || name == "systemInstruction" || name == "model"
}

func readExtra(raw json.RawMessage) (members, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, llm.Invalid("extra.vertex", "is no JSON object", "write it with vertex.Extra.Set")
	}
	for name := range m {
		if reserved(name) {
			return nil, llm.Invalid("extra.vertex."+name, "cannot be replaced", "use the fields of the request")
		}
	}
	var c struct {
		FunctionCallingConfig struct {
			StreamFunctionCallArguments bool `json:"streamFunctionCallArguments"`
		} `json:"functionCallingConfig"`
	}
	if json.Unmarshal(m["toolConfig"], &c) == nil && c.FunctionCallingConfig.StreamFunctionCallArguments {
		return nil, llm.Unsupported("extra.vertex.toolConfig.functionCallingConfig.streamFunctionCallArguments",
			"is not read", "leave it out")
	}
	return m, nil
}

// readExtra is readExtra with the name of a cache made whole.
func (p *Provider) readExtra(raw json.RawMessage) (members, error) {
	m, err := readExtra(raw)
	var name string
	if err != nil || p.form != gemini.FormVertex || json.Unmarshal(m["cachedContent"], &name) != nil {
		return m, err
	}
	if name != "" && !strings.HasPrefix(name, "projects/") {
		name = p.prefix + "cachedContents/" + strings.TrimPrefix(name, "cachedContents/")
		m["cachedContent"], _ = json.Marshal(name) // a string has no way to fail
	}
	return m, nil
}

// merge puts m into an encoded body: over what is there, or only where nothing is. Objects are merged member by
// member, and tools come together. A null removes a member.
func (m members) merge(into members, replace bool) {
	for name, value := range m {
		old, there := into[name]
		var inner, outer members
		var first, more []json.RawMessage
		switch {
		case string(value) == "null":
			delete(into, name)
		case !there:
			into[name] = value
		case name == "tools" && json.Unmarshal(old, &first) == nil && json.Unmarshal(value, &more) == nil:
			into[name], _ = marshal(append(first, more...)) // they were read as JSON
		case name != "labels" && json.Unmarshal(old, &outer) == nil && json.Unmarshal(value, &inner) == nil && outer != nil:
			inner.merge(outer, replace)
			into[name], _ = marshal(outer) // as above
		case replace:
			into[name] = value
		}
	}
}
