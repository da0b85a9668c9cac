package vertexai

import (
	"bytes"
	"encoding/json"
	"strconv"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
)

// decode reads a message.
func decode(m *aiplatformpb.GenerateContentResponse) *gemini.Response {
	r := &gemini.Response{ModelVersion: m.GetModelVersion(), ResponseID: m.GetResponseId(), Usage: usage(m.GetUsageMetadata())}
	if f := m.GetPromptFeedback(); f != nil {
		r.PromptFeedback = &gemini.PromptFeedback{
			BlockReason:        named(int32(f.GetBlockReason()), f.GetBlockReason().String(), blockReasons),
			BlockReasonMessage: f.GetBlockReasonMessage(),
			SafetyRatings:      ratings(f.GetSafetyRatings()),
		}
	}
	if all := m.GetCandidates(); len(all) > 0 {
		r.Candidates[0] = candidate(all[0])
	}
	return r
}

func candidate(c *aiplatformpb.Candidate) gemini.Candidate {
	g := gemini.Candidate{
		Index:         int(c.GetIndex()),
		FinishReason:  named(int32(c.GetFinishReason()), c.GetFinishReason().String(), finishReasons),
		FinishMessage: c.GetFinishMessage(),
		SafetyRatings: ratings(c.GetSafetyRatings()),
	}
	g.Content.Parts = parts(c.GetContent().GetParts())
	if grounding := c.GetGroundingMetadata(); grounding != nil {
		g.Grounding = asJSON(grounding)
	}
	if cited := c.GetCitationMetadata(); cited != nil {
		g.Citations = asJSON(cited)
	}
	if u := c.GetUrlContextMetadata(); u != nil {
		g.URLContext = asJSON(u)
	}
	return g
}

// Values that the REST API names and the published definitions of v1beta1 do not. They are those of v1.
var (
	finishReasons = map[int32]gemini.Enum{
		11: "IMAGE_SAFETY", 12: "IMAGE_PROHIBITED_CONTENT", 13: "IMAGE_RECITATION", 14: "IMAGE_OTHER",
		15: "UNEXPECTED_TOOL_CALL", 16: "NO_IMAGE",
	}
	blockReasons = map[int32]gemini.Enum{6: "JAILBREAK"}
)

// named is the name of a value, or its number in decimal.
func named(number int32, name string, newer map[int32]gemini.Enum) gemini.Enum {
	if n, ok := newer[number]; ok && name == strconv.Itoa(int(number)) {
		return n
	}
	return gemini.Enum(name)
}

func ratings(list []*aiplatformpb.SafetyRating) gemini.Ratings {
	return listOf(list, func(r *aiplatformpb.SafetyRating) gemini.SafetyRating {
		return gemini.SafetyRating{
			Category:    gemini.Enum(r.GetCategory().String()),
			Probability: gemini.Enum(r.GetProbability().String()),
			Blocked:     r.GetBlocked(),
		}
	})
}

// listOf is a list of what the elements of a message are in JSON, within the same bounds.
func listOf[M, T any](list []M, of func(M) T) bounds.List[T] {
	if len(list) == 0 || len(list) > bounds.Parts {
		return bounds.List[T]{TooMany: len(list) > 0}
	}
	all := make([]T, len(list))
	for i, m := range list {
		all[i] = of(m)
	}
	return bounds.List[T]{Items: all}
}

// usage reads a count of tokens. The message of an answer lacks the tokens of tools that the service ran, and keeps
// them as a field that it does not know; the definitions have the same numbers in another message of the same fields,
// which has them all. They count only if they make up the total.
func usage(u *aiplatformpb.GenerateContentResponse_UsageMetadata) *gemini.Usage {
	if u == nil {
		return nil
	}
	g := &gemini.Usage{
		Prompt:     int64(u.GetPromptTokenCount()),
		Candidates: int64(u.GetCandidatesTokenCount()),
		Thoughts:   int64(u.GetThoughtsTokenCount()),
		Cached:     int64(u.GetCachedContentTokenCount()),
		Total:      int64(u.GetTotalTokenCount()),
	}
	if unknown := u.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		more := new(aiplatformpb.UsageMetadata)
		rest := g.Total - g.Prompt - g.Candidates - g.Thoughts
		if proto.Unmarshal(unknown, more) == nil && int64(more.GetToolUsePromptTokenCount()) == rest {
			g.ToolUse = rest
		}
	}
	return g
}

func parts(list []*aiplatformpb.Part) bounds.List[gemini.Part] { return listOf(list, part) }

func part(p *aiplatformpb.Part) gemini.Part {
	g := gemini.Part{Thought: p.GetThought(), Signature: p.GetThoughtSignature()}
	switch d := p.GetData().(type) {
	case *aiplatformpb.Part_Text:
		g.Text = d.Text
	case *aiplatformpb.Part_FunctionCall:
		f := d.FunctionCall
		g.FunctionCall = &gemini.FunctionCall{ID: f.GetId(), Name: f.GetName(), Args: arguments(f.GetArgs())}
	case *aiplatformpb.Part_InlineData:
		g.InlineData = &gemini.Blob{MIMEType: d.InlineData.GetMimeType(), Data: d.InlineData.GetData()}
	case *aiplatformpb.Part_FileData:
		g.FileData = &gemini.FileData{MIMEType: d.FileData.GetMimeType(), URI: d.FileData.GetFileUri()}
	case nil: // nothing but a signature, or something that the definitions do not know
		if len(p.ProtoReflect().GetUnknown()) > 0 {
			g.Raw = encodeUnknown(p)
		}
		return g
	default:
		g.Raw = raw(p)
		return g
	}
	if g.Text == "" && g.FunctionCall == nil && g.InlineData == nil && g.FileData == nil && len(p.ProtoReflect().GetUnknown()) > 0 {
		g.Raw = encodeUnknown(p)
	}
	return g
}

// raw is a part in JSON as the REST API writes it, or its bytes if the definitions do not know all of it.
func raw(p *aiplatformpb.Part) json.RawMessage {
	text := asJSON(p)
	back := new(aiplatformpb.Part)
	if protojson.Unmarshal(text, back) != nil || !proto.Equal(p, back) {
		return encodeUnknown(p)
	}
	return text
}

// arguments are those of a call in JSON, nil if there are none.
func arguments(s *structpb.Struct) json.RawMessage {
	if s == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s.AsMap()) != nil { // a value of a kind that there is not yet
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// asJSON is a message in JSON, always the same for the same one: protojson varies its blanks on purpose.
func asJSON(m proto.Message) json.RawMessage {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
