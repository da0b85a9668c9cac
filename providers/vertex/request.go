package vertex

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/splice"
	"github.com/punctual-llm/punctual/internal/wirename"
	"github.com/punctual-llm/punctual/llm"
)

// encoded is a request ready to be sent, and what is needed to read the answer.
type encoded struct {
	body     []byte // nil: the engine made something else of it
	prepared any
	names    wirename.Names
	warnings []llm.Warning
}

// encoder builds one request.
type encoder struct {
	p        *Provider
	req      *llm.Request
	body     body
	config   generationConfig
	names    wirename.Names
	warnings []llm.Warning
	minted   map[string]bool // ids of calls that the service made, as they were sent
	long     *splice.Values
}

// encode turns req into a body for this provider, or into what its engine sends. When ctx ends it gives up; what it
// returns then is worth nothing.
func (p *Provider) encode(ctx context.Context, req *llm.Request) (*encoded, error) {
	if req == nil {
		return nil, llm.Invalid("request", "is nil", "pass a *llm.Request with at least one message")
	}
	size, err := bounds.CheckRequest(req, providerName)
	if err != nil {
		return nil, err
	}
	extra, err := p.readExtra(req.Extra[providerName])
	if err != nil {
		return nil, err
	}
	e := encoder{p: p, req: req, long: splice.For(size)}
	if err := e.sampling(); err != nil {
		return nil, err
	}
	e.thinking()
	if err := e.tools(); err != nil {
		return nil, err
	}
	if err := e.output(); err != nil {
		return nil, err
	}
	e.labels(extra)
	if req.System != "" {
		e.body.SystemInstruction = &content{Role: "user", Parts: []any{e.text(req.System)}}
	}
	if err := e.messages(); err != nil {
		return nil, err
	}
	if !reflect.ValueOf(e.config).IsZero() {
		e.body.GenerationConfig = &e.config
	}
	raw, err := e.encode(extra)
	if err != nil {
		return nil, err
	}
	enc := &encoded{names: e.names, warnings: e.warnings}
	if c, ok := p.conn.(gemini.Checker); ok {
		enc.prepared, err = c.Check(ctx, raw, e.long)
	} else {
		enc.body, err = e.long.Write(ctx, raw)
	}
	return enc, err
}

// text is the part of a text.
func (e *encoder) text(s string) part {
	s = e.long.Text(s)
	return part{Text: &s}
}

func (e *encoder) encode(extra members) ([]byte, error) {
	raw, err := marshal(&e.body)
	if err != nil || len(e.p.parameters)+len(extra) == 0 {
		return raw, err
	}
	var all members
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	e.p.parameters.merge(all, false)
	extra.merge(all, true)
	return marshal(all)
}

// marshal is json.Marshal that leaves <, > and & alone: they are no risk here, and prompts are full of them.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only a raw JSON value in the request can fail, and the text of the error would quote it.
		return nil, llm.Invalid("request", "holds a raw JSON value that is no JSON", "check schemas and opaque parts")
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
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

// maxStop is how many stop strings the service takes.
const maxStop = 5

func (e *encoder) sampling() error {
	r, c := e.req, &e.config
	c.MaxOutputTokens, c.Temperature, c.TopP, c.Seed, c.StopSequences = r.MaxTokens, r.Temperature, r.TopP, r.Seed, r.Stop
	if len(r.Stop) == 0 {
		c.StopSequences = nil
	}
	switch {
	case len(r.Stop) > maxStop:
		return llm.Unsupported("stop", "has more than 5 strings", "use at most 5")
	case r.Seed != nil && (*r.Seed > math.MaxInt32 || *r.Seed < math.MinInt32):
		return llm.Unsupported("seed", "has more than 32 bits", "use a smaller number")
	default:
		return nil
	}
}

func (e *encoder) tools() error {
	r := e.req
	if len(r.Tools) > 0 {
		list := make([]functionDeclaration, len(r.Tools))
		for i := range r.Tools {
			t := &r.Tools[i]
			parameters, err := e.schema(t.Parameters, "tools["+strconv.Itoa(i)+"].parameters")
			if err != nil {
				return err
			}
			list[i] = functionDeclaration{
				Name: e.wireName(t.Name), Description: t.Description,
				Parameters: parameters,
			}
		}
		e.body.Tools = []tools{{FunctionDeclarations: list}}
	}
	c := functionCallingConfig{}
	switch r.ToolChoice.Mode {
	case llm.ToolNone:
		c.Mode = "NONE"
	case llm.ToolRequired:
		c.Mode = "ANY"
	case llm.ToolNamed:
		c.Mode, c.AllowedFunctionNames = "ANY", []string{e.wireName(r.ToolChoice.Name)}
	case llm.ToolAuto:
	}
	if c.Mode != "" && len(r.Tools) > 0 {
		e.body.ToolConfig = &toolConfig{FunctionCallingConfig: c}
	}
	if r.ToolChoice.Single && len(r.Tools) > 0 {
		e.warn("dropped", "tool_choice.single", "the wire has no setting against several calls at once")
	}
	return nil
}

func (e *encoder) output() (err error) {
	s := e.req.Output
	if s == nil {
		return nil
	}
	e.config.ResponseMIMEType = "application/json"
	e.config.ResponseJSONSchema, err = e.schema(s.JSON, "output.json")
	return err
}

// maxLabels is how many labels a request may have.
const maxLabels = 64

// labels sends metadata, which comes out in the bill.
func (e *encoder) labels(extra members) {
	metadata := e.req.Metadata
	switch {
	case len(metadata) == 0 || extra["labels"] != nil:
	case e.p.form == gemini.FormGemini:
		e.warn("dropped", "metadata", "the Gemini API has no labels")
	case !areLabels(metadata):
		e.warn("dropped", "metadata", "it does not fit the rules of labels: at most 64, lower case letters, digits, _ and -")
	default:
		e.body.Labels = metadata
	}
}

func areLabels(m map[string]string) bool {
	for key, value := range m {
		if key == "" || key[0] < 'a' || key[0] > 'z' || !isLabel(key) || !isLabel(value) {
			return false
		}
	}
	return len(m) <= maxLabels
}

func isLabel(s string) bool {
	const maxLength = 63
	for i := 0; i < len(s); i++ {
		if b := s[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' && b != '-' {
			return false
		}
	}
	return len(s) <= maxLength
}
