package azure

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

// encoded is a request ready to be sent, and what is needed to read the answer.
type encoded struct {
	body     []byte
	names    wirename.Names
	warnings []llm.Warning
}

// encoder builds one request.
type encoder struct {
	form     form
	provider string // that this model's answers come from
	req      *llm.Request
	body     body
	extra    members
	names    wirename.Names
	hint     string // behind the system prompt
	warnings []llm.Warning
}

// encode turns req into a body for this provider. When ctx ends it gives up; what it returns then is worth
// nothing.
func (p *Provider) encode(ctx context.Context, req *llm.Request, stream bool) (*encoded, error) {
	if req == nil {
		return nil, llm.Invalid("request", "is nil", "pass a *llm.Request with at least one message")
	}
	size, err := bounds.CheckRequest(req, extraKey)
	if err != nil {
		return nil, err
	}
	extra, err := readExtra(req.Extra[extraKey])
	if err != nil {
		return nil, err
	}
	e := encoder{form: p.form, provider: p.model.Provider, req: req, extra: extra}
	e.body.Model, e.body.Stream = p.model.Model, stream
	if stream && p.form.streamUsage {
		e.body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if err := e.sampling(); err != nil {
		return nil, err
	}
	e.tools()
	if err := e.output(); err != nil {
		return nil, err
	}
	if err := e.messages(); err != nil {
		return nil, err
	}
	raw, err := e.encode(ctx, p.parameters, size)
	if err != nil {
		return nil, err
	}
	return &encoded{body: raw, names: e.names, warnings: e.warnings}, nil
}

// encodeRest encodes all but the messages.
func (e *encoder) encodeRest(parameters members) ([]byte, error) {
	raw, err := marshal(&e.body)
	if err != nil || len(parameters)+len(e.extra) == 0 {
		return raw, err
	}
	var all members
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	parameters.merge(all, false)
	e.extra.merge(all, true)
	return marshal(all)
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

// maxStop is how many stop strings OpenAI and Azure take.
const maxStop = 4

func (e *encoder) sampling() error {
	r, b := e.req, &e.body
	if e.form.oldMaxTokens {
		b.MaxTokens = r.MaxTokens
	} else {
		b.MaxCompletionTokens = r.MaxTokens
	}
	b.Temperature, b.TopP, b.Seed, b.Stop = r.Temperature, r.TopP, r.Seed, r.Stop
	if e.form.azure && len(r.Stop) > maxStop {
		return llm.Unsupported("stop", "has more than 4 strings", "use at most 4")
	}
	b.ReasoningEffort = r.Thinking.Effort
	if n := r.Thinking.MaxTokens; n > 0 {
		b.ReasoningEffort = effort(n)
		e.warn("changed", "thinking.max_tokens", "the wire has no limit of tokens for thinking; sent as effort "+b.ReasoningEffort)
	}
	if len(r.Metadata) > 0 {
		if e.extra.stores() {
			b.Metadata = r.Metadata
		} else {
			e.warn("dropped", "metadata", "it is accepted only with azure.Extra.Store")
		}
	}
	return nil
}

// effort stands in for a limit of thinking tokens. The steps are ours: no provider says how many tokens an
// effort is.
func effort(maxTokens int) string {
	switch {
	case maxTokens <= 8<<10:
		return "low"
	case maxTokens <= 20<<10:
		return "medium"
	default:
		return "high"
	}
}

func (e *encoder) tools() {
	r, b := e.req, &e.body
	if len(r.Tools) == 0 {
		return
	}
	b.Tools = make([]tool, len(r.Tools))
	for i := range r.Tools {
		t := &r.Tools[i]
		f := function{Name: e.names.Wire(t.Name), Description: t.Description, Parameters: t.Parameters}
		if len(f.Parameters) == 0 {
			f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		f.Strict = e.form.strictTools && !t.Lenient && fitsStrict(f.Parameters)
		b.Tools[i] = tool{Type: "function", Function: f}
	}
	switch c := r.ToolChoice; c.Mode {
	case llm.ToolNamed:
		named := namedTool{Type: "function"}
		named.Function.Name = e.names.Wire(c.Name)
		b.ToolChoice = named
	case llm.ToolAuto:
	default:
		b.ToolChoice = string(c.Mode)
	}
	if r.ToolChoice.Single {
		if e.form.parallel {
			b.ParallelToolCalls = new(false)
		} else {
			e.warn("dropped", "tool_choice.single", "this api-version does not know parallel_tool_calls")
		}
	}
}

func (e *encoder) output() error {
	s := e.req.Output
	switch {
	case s == nil:
		return nil
	case len(s.JSON) == 0:
		e.body.ResponseFormat = &responseFormat{Type: "json_object"}
		if !mentionsJSON(e.req) {
			e.hint = "Answer with a JSON object."
			e.warn("changed", "system", "the service refuses JSON without a schema unless the prompt names it; a sentence was added")
		}
		return nil
	case !e.form.schemas:
		return llm.Unsupported("output.json", "needs an api-version of 2024-08-01 or later", "use a newer api_version")
	}
	name := s.Name
	if name == "" {
		name = "output"
	}
	e.body.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &jsonSchema{
		Name: wirename.Of(name), Description: s.Description, Schema: s.JSON,
		Strict: !s.Lenient && fitsStrict(s.JSON),
	}}
	return nil
}

// mentionsJSON reports whether the word that json_object needs stands anywhere in the prompt.
func mentionsJSON(r *llm.Request) bool {
	return saysJSON(r.System) || slices.ContainsFunc(r.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			t, ok := p.(llm.Text)
			return ok && saysJSON(t.Text)
		})
	})
}

// saysJSON looks for the word in any case, without a copy of a long text.
func saysJSON(text string) bool {
	const word = "json"
	for {
		i := strings.IndexAny(text, "jJ")
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		if strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
		text = text[i+1:]
	}
}

// messages turns system prompt and messages into the list of the wire.
func (e *encoder) messages() error {
	list := make([]message, 0, len(e.req.Messages)+1)
	system := e.req.System
	if system != "" && e.hint != "" {
		system += "\n\n"
	}
	if system += e.hint; system != "" {
		list = append(list, message{Role: "system", Content: system})
	}
	for i := range e.req.Messages {
		m := &e.req.Messages[i]
		var err error
		switch m.Role {
		case llm.RoleAssistant:
			list, err = e.assistant(list, i, m)
		case llm.RoleTool:
			list, err = e.results(list, i, m)
		default:
			list, err = e.user(list, i, m)
		}
		if err != nil {
			return err
		}
	}
	e.body.Messages = slices.Clip(list)
	return nil
}
