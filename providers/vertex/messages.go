package vertex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
)

func at(message, part int) string { return fmt.Sprintf("messages[%d].parts[%d]", message, part) }

// messages turns the messages into the contents of the wire. Messages with results that follow each other become
// one content: the service wants all results of a turn together, in the order of its calls.
func (e *encoder) messages() error {
	list := make([]content, 0, len(e.req.Messages))
	for i := 0; i < len(e.req.Messages); i++ {
		m := &e.req.Messages[i]
		c := content{Role: "user"}
		var err error
		switch m.Role {
		case llm.RoleAssistant:
			c.Role = "model"
			c.Parts, err = e.assistant(i, m)
		case llm.RoleTool:
			last := i
			for last+1 < len(e.req.Messages) && e.req.Messages[last+1].Role == llm.RoleTool {
				last++
			}
			c.Parts, err = e.results(i, last)
			i = last
		default:
			c.Parts, err = e.user(i, m)
		}
		if err != nil {
			return err
		}
		if len(c.Parts) > 0 {
			list = append(list, c)
		}
	}
	e.body.Contents = list
	return nil
}

func (e *encoder) user(i int, m *llm.Message) ([]any, error) {
	parts := make([]any, 0, len(m.Parts))
	for j, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				parts = append(parts, e.text(p.Text))
			}
		case llm.Media:
			one, err := e.mediaPart(at(i, j), &p)
			if err != nil {
				return nil, err
			}
			parts = append(parts, one)
		case llm.Opaque:
			if p.Type != PartType {
				e.leftOut()
			} else if e.carries(&p, at(i, j)) {
				parts = append(parts, p.Data) // by hand, for parts that are newer than this package
			}
		default: // cache points need nothing
		}
	}
	return parts, nil
}

// carries reports whether the engine can send a part as it was received.
func (e *encoder) carries(p *llm.Opaque, field string) bool {
	if e.p.bytes || !standsForBytes(p.Data) {
		return true
	}
	e.warnOnce("dropped", field, "it is one of engine vertexai, which only that can send")
	return false
}

// standsForBytes reports whether a part has no JSON form: see gemini.BytesMember.
func standsForBytes(part json.RawMessage) bool {
	var members map[string]json.RawMessage
	return bytes.Contains(part, []byte(`"`+gemini.BytesMember+`"`)) && json.Unmarshal(part, &members) == nil &&
		members[gemini.BytesMember] != nil
}

// own reports whether a message was written by the generation of models that it is going to.
func (e *encoder) own(m *llm.Message) bool {
	return m.From.Provider == providerName && family(m.From.Model) == e.p.family
}

func (e *encoder) assistant(i int, m *llm.Message) ([]any, error) {
	parts := make([]any, 0, len(m.Parts))
	own, signed := e.own(m), false
	for j, p := range m.Parts {
		if !own && forMaker(p) {
			e.leftOut()
		}
		switch p := p.(type) {
		case llm.Text:
			one := e.text(p.Text)
			if own {
				one.ThoughtSignature = p.Signature
			}
			if p.Text != "" || len(one.ThoughtSignature) > 0 {
				parts = append(parts, one)
			}
		case llm.Reasoning:
			if own && len(p.Signature) > 0 { // without one the service passes over it
				one := e.text(p.Text)
				one.Thought, one.ThoughtSignature = true, p.Signature
				parts = append(parts, one)
			}
		case llm.ToolCall:
			one := e.call(&p, m)
			if own {
				one.ThoughtSignature = p.Signature
			} else if !signed && generation(e.p.model.Model) >= 3 {
				one.ThoughtSignature = unsigned
			}
			signed = true
			parts = append(parts, one)
		case llm.Media:
			one, err := e.mediaPart(at(i, j), &p)
			if err != nil {
				return nil, err
			}
			parts = append(parts, one)
		case llm.Opaque:
			switch {
			case own && ofAnAnswer(p.Type): // about it, not of it
			case !own || p.Type != PartType:
				e.leftOut()
			case len(p.Data) > 0 && e.carries(&p, at(i, j)):
				parts = append(parts, p.Data)
			}
		default:
		}
	}
	return parts, nil
}

// forMaker reports whether a part is reasoning or has a signature, both of which are for their maker alone.
func forMaker(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Reasoning:
		return true
	case llm.Text:
		return len(p.Signature) > 0
	case llm.ToolCall:
		return len(p.Signature) > 0
	default:
		return false
	}
}

func ofAnAnswer(partType string) bool {
	return partType == GroundingType || partType == CitationsType || partType == URLContextType
}

// unsigned is what Google documents for calls that have no signature because another model made them: Gemini 3
// refuses the first call of a turn without one. https://ai.google.dev/gemini-api/docs/thought-signatures
var unsigned = []byte("skip_thought_signature_validator")

// call is a call of an earlier turn. Its id is sent only if the service made it: Vertex AI has refused ids for
// years, and takes them only where it gives them out.
func (e *encoder) call(c *llm.ToolCall, m *llm.Message) part {
	f := &functionCall{Name: e.wireName(c.Name), Args: json.RawMessage(c.Arguments)}
	if trimmed := strings.TrimSpace(c.Arguments); trimmed == "" || !isObject(f.Args) {
		f.Args = json.RawMessage("{}")
		if trimmed != "" { // cut, or no object: the wire has a place for objects only
			f.Args, _ = json.Marshal(map[string]string{"arguments": e.long.Text(c.Arguments)}) // strings have no way to fail
		}
	}
	if m.From.Provider == providerName && !strings.HasPrefix(c.ID, ownID) {
		f.ID = c.ID
		if e.minted == nil {
			e.minted = make(map[string]bool)
		}
		e.minted[c.ID] = true
	}
	return part{FunctionCall: f}
}

func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) && json.Valid(raw)
}

// results are those of the messages first to last, in the order of the calls.
func (e *encoder) results(first, last int) ([]any, error) {
	type answer struct {
		part  part
		place int
	}
	var all []answer
	for i := first; i <= last; i++ {
		for j, p := range e.req.Messages[i].Parts {
			r, ok := p.(llm.ToolResult)
			if !ok {
				continue
			}
			name, place := e.called(first, r.CallID)
			one, err := e.result(at(i, j), &r, cmp.Or(r.Name, name))
			if err != nil {
				return nil, err
			}
			all = append(all, answer{one, place})
		}
	}
	slices.SortStableFunc(all, func(a, b answer) int { return cmp.Compare(a.place, b.place) })
	parts := make([]any, len(all))
	for i := range all {
		parts[i] = all[i].part
	}
	return parts, nil
}

// called finds the call with an id in front of message i: its name, and its place in the conversation.
func (e *encoder) called(i int, id string) (name string, place int) {
	for i--; i >= 0; i-- {
		for j, p := range e.req.Messages[i].Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ID == id {
				const manyParts = 1 << 20
				return c.Name, i*manyParts + j
			}
		}
	}
	return "", 0
}

func (e *encoder) result(field string, r *llm.ToolResult, name string) (part, error) {
	f := &functionResponse{Name: e.wireName(name)}
	if e.minted[r.CallID] {
		f.ID = r.CallID
	}
	var text strings.Builder
	texts := 0
	for k, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
			texts++
		case llm.Media:
			one, err := e.mediaPart(fmt.Sprintf("%s.parts[%d]", field, k), &p)
			if err != nil {
				return part{}, err
			}
			f.Parts = append(f.Parts, one)
		case llm.Opaque:
			e.leftOut()
		default:
		}
	}
	f.Response = e.response(text.String(), r.IsError, texts == 0 && len(f.Parts) > 0)
	return part{FunctionResponse: f}, nil
}

// response is the object that the wire wants for the text of a result.
func (e *encoder) response(text string, failed, none bool) json.RawMessage {
	switch {
	case none:
		return json.RawMessage("{}")
	case !failed && isObject([]byte(text)):
		return json.RawMessage(text)
	}
	key := "output"
	if failed {
		key = "error"
	}
	raw, _ := marshal(map[string]string{key: e.long.Text(text)}) // strings have no way to fail
	return raw
}

func (e *encoder) mediaPart(field string, m *llm.Media) (part, error) {
	switch {
	case m.URI == "":
		return part{InlineData: &blob{MIMEType: m.MediaType, Data: e.long.Bytes(m.Data)}}, nil
	case strings.HasPrefix(strings.ToLower(m.URI), "data:"):
		return part{}, llm.Unsupported(field+".uri", "is a data address", "give the data itself")
	default:
		return part{FileData: &fileData{MIMEType: m.MediaType, URI: m.URI}}, nil
	}
}
