package bedrock

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/splice"
	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

// encoded is a request ready to be sent, and what is needed to read the answer.
type encoded struct {
	body     []byte
	names    wirename.Names
	single   bool // at most one call
	warnings []llm.Warning
}

// encoder builds one request.
type encoder struct {
	p         *Provider
	req       *llm.Request
	extra     extra
	body      body
	names     wirename.Names
	calls     map[string]call // of the history, by id
	called    []string        // names of the history's calls, each once
	documents map[string]int  // names in use
	warnings  []llm.Warning
}

// encode turns req into a body for this provider. When ctx ends it gives up; what it returns then is worth nothing.
func (p *Provider) encode(ctx context.Context, req *llm.Request, stream bool) (*encoded, error) {
	if req == nil {
		return nil, llm.Invalid("request", "is nil", "pass a *llm.Request with at least one message")
	}
	size, err := bounds.CheckRequest(req, providerName)
	if err != nil {
		return nil, err
	}
	x, err := readExtra(req.Extra[providerName])
	if err != nil {
		return nil, err
	}
	e := encoder{p: p, req: req, extra: x}
	if p.guardrail != nil {
		g := *p.guardrail
		if !stream {
			g.Mode = "" // Converse does not know it
		}
		e.body.GuardrailConfig = &g
	}
	if err := e.sampling(); err != nil {
		return nil, err
	}
	if err := e.messages(); err != nil {
		return nil, err
	}
	e.system()
	e.tools()
	e.output()
	e.thinking()
	e.settleSampling()
	e.limitCachePoints()
	long := splice.For(size)
	e.body.takeOut(long)
	raw, err := e.encode(stream)
	if err != nil {
		return nil, err
	}
	if raw, err = long.Write(ctx, raw); err != nil {
		return nil, err
	}
	return &encoded{body: raw, names: e.names, single: req.ToolChoice.Single, warnings: e.warnings}, nil
}

func (e *encoder) encode(stream bool) ([]byte, error) {
	raw, err := marshal(&e.body)
	if err != nil {
		return nil, err
	}
	if len(e.p.parameters) > 0 {
		defaults, _ := json.Marshal(members{"additionalModelRequestFields": e.p.parameters}) // it is JSON
		if raw = merge(defaults, raw); len(e.extra.patch) == 0 {
			return raw, nil
		}
	}
	if len(e.extra.patch) == 0 {
		return raw, nil
	}
	patch, err := marshal(e.extra.patch)
	if err != nil {
		return nil, err
	}
	raw = merge(raw, patch)
	if _, guarded := e.extra.patch["guardrailConfig"]; guarded && !stream {
		raw = merge(raw, json.RawMessage(`{"guardrailConfig":{"streamProcessingMode":null}}`))
	}
	return raw, nil
}

func (e *encoder) warn(code, field, message string) {
	e.warnings = append(e.warnings, llm.Warning{Code: code, Field: field, Message: message})
}

// warnOnce is warn for what may come again and again in one request.
func (e *encoder) warnOnce(code, field, message string) {
	if !slices.ContainsFunc(e.warnings, func(w llm.Warning) bool { return w.Code == code && w.Message == message }) {
		e.warn(code, field, message)
	}
}

// leftOut says that something of the history was only for the model that wrote it.
func (e *encoder) leftOut() {
	e.warnOnce("dropped", "messages", "reasoning, signatures and opaque parts of other models were left out")
}

// cacheless says that the model has no cache to mark.
func (e *encoder) cacheless(field string) {
	e.warnOnce("dropped", field, "this model caches nothing on request; set Options.Family if its ARN does not tell what it is")
}

func (e *encoder) sampling() error {
	r := e.req
	if r.Seed != nil {
		return llm.Unsupported("seed", "is not known to Converse", "leave it out, or give it to the model with bedrock.Extra.ModelFields")
	}
	i := inference{MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, Stop: r.Stop}
	if i.MaxTokens != 0 || i.Temperature != nil || i.TopP != nil || len(i.Stop) > 0 {
		e.body.InferenceConfig = &i
	}
	for name, value := range r.Metadata {
		if !fitsMetadata(name) || !fitsMetadata(value) || len(e.body.Metadata) == maxMetadata {
			e.warnOnce("dropped", "metadata", "Bedrock takes 16 entries, of up to 256 letters, digits, blanks and _.:/=+-@$#,")
			continue
		}
		if e.body.Metadata == nil {
			e.body.Metadata = make(map[string]string, len(r.Metadata))
		}
		e.body.Metadata[name] = value
	}
	return nil
}

// maxMetadata is how many entries requestMetadata takes.
const maxMetadata = 16

func fitsMetadata(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := range len(s) {
		switch b := s[i]; {
		case wirename.Takes(b):
		case b == ' ', b == '.', b == ':', b == '/', b == '=', b == '+', b == '@', b == '$', b == '#', b == ',':
		default:
			return false
		}
	}
	return true
}

func (e *encoder) system() {
	if e.req.CachePrefix && !e.p.caches() {
		e.cacheless("cache_prefix")
	}
	if !blank(e.req.System) {
		e.body.System = append(e.body.System, &block{Text: e.req.System})
		if e.req.CachePrefix && e.p.caches() {
			e.body.System = append(e.body.System, cacheMark())
		}
	}
}

func (e *encoder) tools() {
	r := e.req
	mode := r.ToolChoice.Mode
	if mode == llm.ToolNone && len(e.called) == 0 || len(r.Tools) == 0 && len(e.called) == 0 {
		return
	}
	config := new(toolConfig)
	for i := range r.Tools {
		t := &r.Tools[i]
		config.Tools = append(config.Tools, e.tool(t.Name, t.Description, t.Parameters))
	}
	if len(r.Tools) == 0 { // Converse refuses a history of calls without them
		for _, name := range e.called {
			config.Tools = append(config.Tools, e.tool(name, "", nil))
		}
		e.warn("changed", "tools", "the tools of earlier calls are declared, as Converse wants it")
	}
	switch {
	case !r.CachePrefix || !e.p.caches():
	case e.p.family == claude:
		config.Tools = append(config.Tools, cacheMark())
	case blank(r.System):
		e.warn("dropped", "cache_prefix", "this model caches no tools, and there is no system prompt")
	}
	switch mode {
	case llm.ToolRequired:
		config.Choice = json.RawMessage(`{"any":{}}`)
	case llm.ToolNamed:
		config.Choice, _ = marshal(map[string]any{"tool": map[string]string{"name": e.names.Wire(r.ToolChoice.Name)}}) // strings
	case llm.ToolNone:
		e.warn("changed", "tool_choice.mode", "Converse has no none; tools are sent because the history has calls")
	default:
	}
	e.body.ToolConfig = config
}

func (e *encoder) tool(name, description string, schema json.RawMessage) *block {
	return &block{ToolSpec: &toolSpec{
		Name: e.names.Wire(name), Description: description, InputSchema: jsonSchema{JSON: objectSchema(schema)},
	}}
}

// objectSchema adds the type that the service wants at the top of a schema.
func objectSchema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var top struct{ Type json.RawMessage }
	if json.Unmarshal(schema, &top) == nil && len(top.Type) == 0 {
		return merge(schema, json.RawMessage(`{"type":"object"}`))
	}
	return schema
}

// maxCachePoints is how many cache points a request may have.
const maxCachePoints = 4

// limitCachePoints keeps the last cache points of the messages, as many as are left beside those of the prefix.
func (e *encoder) limitCachePoints() {
	left := maxCachePoints
	for _, b := range e.body.System {
		if isMark(b) {
			left--
		}
	}
	if c := e.body.ToolConfig; c != nil && isMark(c.Tools[len(c.Tools)-1]) {
		left--
	}
	for i := len(e.body.Messages) - 1; i >= 0; i-- {
		m := &e.body.Messages[i]
		for j := len(m.Content) - 1; j >= 0; j-- {
			if !isMark(m.Content[j]) {
				continue
			}
			if left--; left < 0 {
				e.warnOnce("dropped", "messages", "a request has at most 4 cache points; the last ones were kept")
				m.Content = append(m.Content[:j], m.Content[j+1:]...)
			}
		}
	}
}

func isMark(v any) bool {
	b, ok := v.(*block)
	return ok && b.CachePoint != nil
}
