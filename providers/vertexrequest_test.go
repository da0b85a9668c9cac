package providers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

type geminiPart struct {
	Text             *string
	Thought          bool
	ThoughtSignature []byte
	InlineData       *struct {
		MimeType string
		Data     []byte
	}
	FileData     *struct{ MimeType, FileURI string }
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
		Parts    []geminiPart
	}
}

// detailed reports whether the part is media with more to it than an llm.Media has, such as a rate of frames.
func (p *geminiPart) detailed(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return (p.InlineData != nil || p.FileData != nil) && json.Unmarshal(raw, &members) == nil && len(members) > 1
}

// vertexRequest builds the request that a canonical body means. What a request has no field for goes through Extra.
func vertexRequest(rec *recording) (*llm.Request, error) {
	req := &llm.Request{Messages: []llm.Message{llm.User("hello")}}
	if string(rec.Request.Body) == "null" || len(rec.Request.Body) == 0 {
		return req, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
		return nil, err
	}
	b := vertexBuilder{req: req, rec: rec}
	for _, step := range []func(map[string]json.RawMessage) error{b.system, b.contents, b.config, b.tools} {
		if err := step(body); err != nil {
			return nil, err
		}
	}
	delete(body, "model")
	b.extra.Fields = body // what no step took
	return req, b.extra.Set(req)
}

type vertexBuilder struct {
	req   *llm.Request
	rec   *recording
	extra vertex.Extra
	calls int
	open  []llm.ToolCall // without a result yet
}

func (b *vertexBuilder) system(body map[string]json.RawMessage) error {
	raw, ok := body["systemInstruction"]
	if !ok {
		return nil
	}
	var c struct{ Parts []geminiPart }
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if len(c.Parts) != 1 || c.Parts[0].Text == nil {
		return unfit("a system prompt that is not one text")
	}
	b.req.System = *c.Parts[0].Text
	delete(body, "systemInstruction")
	return nil
}

func (b *vertexBuilder) contents(body map[string]json.RawMessage) error {
	var list []struct {
		Role  string
		Parts []json.RawMessage
	}
	if err := json.Unmarshal(body["contents"], &list); err != nil {
		return err
	}
	delete(body, "contents")
	b.req.Messages = nil
	for _, c := range list {
		m := llm.Message{Role: llm.RoleUser}
		switch c.Role {
		case "", "user", "function":
		case "model":
			m.Role, m.From = llm.RoleAssistant, llm.ModelRef{Provider: "vertex", Model: b.rec.Model}
		default:
			return unfit("a role that does not exist")
		}
		for _, raw := range c.Parts {
			p, err := b.part(raw)
			if err != nil {
				return err
			}
			if _, ok := p.(llm.ToolResult); ok {
				m.Role = llm.RoleTool
			}
			m.Parts = append(m.Parts, p)
		}
		if !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !emptyText(p) }) {
			return unfit("a turn without content")
		}
		b.req.Messages = append(b.req.Messages, m)
	}
	return nil
}

func (b *vertexBuilder) part(raw json.RawMessage) (llm.Part, error) {
	var p geminiPart
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	switch {
	case p.detailed(raw):
		return llm.Opaque{Type: vertex.PartType, Data: raw}, nil
	case p.FunctionCall != nil:
		c := llm.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args), Signature: p.ThoughtSignature}
		if b.calls++; c.ID == "" {
			c.ID = fmt.Sprintf("vertex-call-%d", b.calls) // as the adapter names calls without an id
		}
		b.open = append(b.open, c)
		return c, nil
	case p.FunctionResponse != nil:
		return b.result(&p)
	case p.InlineData != nil:
		return llm.Media{MediaType: p.InlineData.MimeType, Data: p.InlineData.Data}, nil
	case p.FileData != nil:
		return llm.Media{MediaType: p.FileData.MimeType, URI: p.FileData.FileURI}, nil
	case p.Text != nil && p.Thought:
		return llm.Reasoning{Text: *p.Text, Signature: p.ThoughtSignature}, nil
	case p.Text != nil:
		return llm.Text{Text: *p.Text, Signature: p.ThoughtSignature}, nil
	default:
		return llm.Opaque{Type: vertex.PartType, Data: raw}, nil
	}
}

func (b *vertexBuilder) result(p *geminiPart) (llm.Part, error) {
	f := p.FunctionResponse
	i := slices.IndexFunc(b.open, func(c llm.ToolCall) bool { return c.Name == f.Name && (f.ID == "" || c.ID == f.ID) })
	if i < 0 {
		return nil, unfit("a result of no call")
	}
	r := llm.ToolResult{CallID: b.open[i].ID, Name: f.Name}
	b.open = slices.Delete(b.open, i, i+1)
	if string(f.Response) != "{}" || len(f.Parts) == 0 {
		r.Parts = llm.Parts{llm.Text{Text: string(f.Response)}}
	}
	for _, inner := range f.Parts {
		switch {
		case inner.FileData != nil:
			r.Parts = append(r.Parts, llm.Media{MediaType: inner.FileData.MimeType, URI: inner.FileData.FileURI})
		case inner.InlineData != nil:
			r.Parts = append(r.Parts, llm.Media{MediaType: inner.InlineData.MimeType, Data: inner.InlineData.Data})
		}
	}
	return r, nil
}

func (b *vertexBuilder) config(body map[string]json.RawMessage) error {
	var c map[string]json.RawMessage
	if err := json.Unmarshal(body["generationConfig"], &c); body["generationConfig"] != nil && err != nil {
		return err
	}
	if len(c) == 0 {
		return nil // there or not, it goes as it is
	}
	delete(body, "generationConfig")
	read := func(name string, into any) {
		if raw, ok := c[name]; ok && json.Unmarshal(raw, into) == nil {
			delete(c, name)
		}
	}
	r := b.req
	read("temperature", &r.Temperature)
	read("topP", &r.TopP)
	read("maxOutputTokens", &r.MaxTokens)
	read("stopSequences", &r.Stop)
	read("seed", &r.Seed)
	if string(c["responseMimeType"]) == `"application/json"` && c["responseSchema"] == nil {
		r.Output = &llm.Schema{JSON: c["responseJsonSchema"]}
		delete(c, "responseMimeType")
		delete(c, "responseJsonSchema")
	}
	var t struct {
		IncludeThoughts bool
		ThinkingLevel   string
		ThinkingBudget  int
	}
	if _ = json.Unmarshal(c["thinkingConfig"], &t); t.IncludeThoughts && (t.ThinkingLevel != "" || t.ThinkingBudget > 0) {
		r.Thinking = llm.Thinking{Effort: strings.ToLower(t.ThinkingLevel), MaxTokens: t.ThinkingBudget}
		delete(c, "thinkingConfig")
	}
	b.extra.GenerationConfig = map[string]any{}
	for name, raw := range c {
		b.extra.GenerationConfig[name] = raw
	}
	return nil
}

func (b *vertexBuilder) tools(body map[string]json.RawMessage) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(body["tools"], &list); body["tools"] != nil && err != nil {
		return err
	}
	delete(body, "tools")
	for _, t := range list {
		var declared []struct {
			Name, Description    string
			ParametersJSONSchema json.RawMessage
		}
		if err := json.Unmarshal(t["functionDeclarations"], &declared); t["functionDeclarations"] != nil && err != nil {
			return err
		}
		for _, d := range declared {
			b.req.Tools = append(b.req.Tools, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.ParametersJSONSchema})
		}
		if rest := maps.Clone(t); len(t) > 1 || declared == nil {
			delete(rest, "functionDeclarations")
			raw, err := json.Marshal(rest)
			if err != nil {
				return err
			}
			b.extra.Tools = append(b.extra.Tools, raw)
		}
	}
	return nil
}
