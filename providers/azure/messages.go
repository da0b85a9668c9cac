package azure

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// The types of the opaque parts that this package makes.
const (
	// RefusalType is a refusal in the model's own words; its data is a JSON string. See [Refusal].
	RefusalType = "openai_refusal"
	// CustomToolType is a call of a custom tool, whose input is no JSON; its data is the call as it was received.
	CustomToolType = "openai_custom_tool_call"
	// FunctionCallType is a call in the form from before tools, with which only requests answer that ask for it
	// through [Extra]; its data is {"name":…,"arguments":…}.
	FunctionCallType = "openai_function_call"
	// AudioType is a spoken answer, which [Extra] has asked for; its data is {"id":…,"data":base64,"transcript":…,
	// "expires_at":…}. In a later turn it is sent by its id, which the provider forgets at that time.
	AudioType = "openai_audio"
)

func at(message, part int) string { return fmt.Sprintf("messages[%d].parts[%d]", message, part) }

func (e *encoder) user(list []message, i int, m *llm.Message) ([]message, error) {
	parts := make([]part, 0, len(m.Parts))
	for j, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				parts = append(parts, part{Type: "text", Text: p.Text})
			}
		case llm.Media:
			one, err := mediaPart(at(i, j), &p)
			if err != nil {
				return nil, err
			}
			parts = append(parts, one)
		case llm.Opaque:
			e.leftOut()
		default: // cache points need nothing
		}
	}
	if len(parts) == 0 {
		return list, nil
	}
	return append(list, message{Role: "user", Content: fold(parts)}), nil
}

// fold makes a plain string of a lone text: every server takes that, and not every one takes a list.
func fold(parts []part) any {
	if len(parts) == 1 && parts[0].Type == "text" {
		return parts[0].Text
	}
	return parts
}

func (e *encoder) assistant(list []message, i int, m *llm.Message) ([]message, error) {
	out := message{Role: "assistant"}
	var texts []part
	foreign := m.From.Provider != e.provider
	for j, p := range m.Parts {
		if foreign && signed(p) {
			e.leftOut()
		}
		switch p := p.(type) {
		case llm.Text:
			texts = append(texts, part{Type: "text", Text: p.Text})
		case llm.ToolCall:
			out.ToolCalls = append(out.ToolCalls, e.toolCall(&p))
		case llm.Opaque:
			if p.Type == CustomToolType && json.Valid(p.Data) {
				out.ToolCalls = append(out.ToolCalls, p.Data)
			} else if said, ok := refusalText(p); ok {
				texts = append(texts, part{Type: "text", Text: said})
			} else if id := audioID(p); id != "" && !foreign {
				out.Audio = map[string]string{"id": id}
			} else {
				e.leftOut()
			}
		case llm.Media:
			return nil, llm.Unsupported(at(i, j), "is media in an assistant's message", "put it into a user's message")
		default: // reasoning is for its maker alone, and this one does not want it back
		}
	}
	if len(texts) > 1 {
		texts = withoutEmpty(texts)
	}
	if len(texts) > 0 {
		out.Content = fold(texts)
	}
	if len(out.ToolCalls) == 0 && out.Audio == nil && (out.Content == nil || out.Content == "") {
		return list, nil
	}
	return append(list, out), nil
}

// audioID is the id of a spoken answer, "" for any other part.
func audioID(p llm.Opaque) string {
	var d audioDelta
	if p.Type != AudioType || json.Unmarshal(p.Data, &d) != nil {
		return ""
	}
	return d.ID
}

// signed reports whether a part is reasoning or has a signature, both of which are for their maker alone.
func signed(p llm.Part) bool {
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

func withoutEmpty(texts []part) []part {
	kept := texts[:0]
	for _, t := range texts {
		if t.Text != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

func (e *encoder) toolCall(c *llm.ToolCall) toolCall {
	arguments := c.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return toolCall{ID: wireID(c.ID), Type: "function", Function: functionCall{
		Name: e.names.Wire(c.Name), Arguments: arguments,
	}}
}

// results makes a message of each result: the wire has no message for several.
func (e *encoder) results(list []message, i int, m *llm.Message) ([]message, error) {
	for j, p := range m.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		parts := make([]part, 0, len(r.Parts))
		for k, p := range r.Parts {
			switch p := p.(type) {
			case llm.Text:
				if p.Text != "" {
					parts = append(parts, part{Type: "text", Text: p.Text})
				}
			case llm.Media:
				if text, ok := textDocument(&p); ok {
					parts = append(parts, part{Type: "text", Text: text})
					continue
				}
				return nil, llm.Unsupported(fmt.Sprintf("%s.parts[%d]", at(i, j), k),
					"is media in the result of a tool", "give it to the model in a user's message")
			case llm.Opaque:
				e.leftOut()
			default:
			}
		}
		out := message{Role: "tool", Content: "", ToolCallID: wireID(r.CallID)}
		if len(parts) > 0 {
			out.Content = fold(parts)
		}
		list = append(list, out)
	}
	return list, nil
}

// mediaPart is the form of an image, audio or document on the wire.
func mediaPart(field string, m *llm.Media) (part, error) {
	mediaType, _, err := mime.ParseMediaType(m.MediaType)
	if err != nil {
		mediaType = m.MediaType
	}
	kind, sub, _ := strings.Cut(strings.ToLower(mediaType), "/")
	if text, ok := textDocument(m); ok {
		return part{Type: "text", Text: text}, nil
	}
	switch {
	case kind == "image":
		return imagePart(field, m)
	case kind == "audio" && m.URI == "" && audioFormat(sub) != "":
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: m.Data, Format: audioFormat(sub)}}, nil
	case kind == "application" && sub == "pdf" && m.URI == "":
		name := m.Name
		if name == "" {
			name = "document.pdf"
		}
		return part{Type: "file", File: &file{Name: name, Data: dataURL(m)}}, nil
	case m.URI != "":
		return part{}, llm.Unsupported(field+".uri", "only images can be given by address", "give the data itself")
	default:
		return part{}, llm.Unsupported(field+".media_type", "is none that the wire carries",
			"it takes images, wav and mp3 audio, PDF and text")
	}
}

func imagePart(field string, m *llm.Media) (part, error) {
	address := m.URI
	if address == "" {
		address = dataURL(m)
	} else if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "data" {
		return part{}, llm.Unsupported(field+".uri", "is no http or https address", "give the data itself")
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: address}}, nil
}

func dataURL(m *llm.Media) string {
	const head, mid = "data:", ";base64,"
	b := make([]byte, 0, len(head)+len(m.MediaType)+len(mid)+base64.StdEncoding.EncodedLen(len(m.Data)))
	b = append(b, head+m.MediaType+mid...)
	return string(base64.StdEncoding.AppendEncode(b, m.Data))
}

// textDocument returns the text of a document that is text: the wire has files for PDF only, and a model reads
// text as well without one.
func textDocument(m *llm.Media) (string, bool) {
	if !strings.HasPrefix(strings.ToLower(m.MediaType), "text/") || m.URI != "" || !utf8.Valid(m.Data) {
		return "", false
	}
	return string(m.Data), true
}

func audioFormat(subtype string) string {
	switch subtype {
	case "wav", "x-wav", "wave", "vnd.wave":
		return "wav"
	case "mpeg", "mp3":
		return "mp3"
	default:
		return ""
	}
}

// Refusal returns the words in which the model refused to answer, if it did.
func Refusal(r *llm.Response) (said string, ok bool) {
	if r == nil {
		return "", false
	}
	for _, p := range r.Message.Parts {
		if said, ok = refusalText(p); ok {
			return said, true
		}
	}
	return "", false
}

func refusalText(p llm.Part) (said string, ok bool) {
	o, is := p.(llm.Opaque)
	if !is || o.Type != RefusalType {
		return "", false
	}
	return said, json.Unmarshal(o.Data, &said) == nil
}
