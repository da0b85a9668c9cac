package vertex

import (
	"bytes"
	"encoding/json"
	"strings"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// The JSON of an answer, its fields in the service's order. Enums are names or numbers.
type (
	response struct {
		Candidates   []candidate `json:"candidates,omitempty"`
		Feedback     *feedback   `json:"promptFeedback,omitempty"`
		Usage        *usage      `json:"usageMetadata,omitempty"`
		ModelVersion string      `json:"modelVersion,omitempty"`
		CreateTime   string      `json:"createTime,omitempty"`
		ResponseID   string      `json:"responseId,omitempty"`
	}
	candidate struct {
		Content       *content `json:"content,omitempty"`
		Finish        any      `json:"finishReason,omitempty"`
		Ratings       []rating `json:"safetyRatings,omitempty"`
		FinishMessage string   `json:"finishMessage,omitempty"`
	}
	content struct {
		Role  string            `json:"role,omitempty"`
		Parts []json.RawMessage `json:"parts,omitempty"`
	}
	part struct {
		Text         *string       `json:"text,omitempty"`
		Thought      bool          `json:"thought,omitempty"`
		FunctionCall *functionCall `json:"functionCall,omitempty"`
		Inline       *blob         `json:"inlineData,omitempty"`
		File         *file         `json:"fileData,omitempty"`
		Signature    []byte        `json:"thoughtSignature,omitempty"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	blob struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	file struct {
		MIMEType string `json:"mimeType"`
		URI      string `json:"fileUri"`
	}
	feedback struct {
		Reason  any      `json:"blockReason,omitempty"`
		Ratings []rating `json:"safetyRatings,omitempty"`
		Message string   `json:"blockReasonMessage,omitempty"`
	}
	rating struct {
		Category    any  `json:"category"`
		Probability any  `json:"probability"`
		Blocked     bool `json:"blocked,omitempty"`
	}
	usage struct {
		Prompt            int64      `json:"promptTokenCount,omitempty"`
		Candidates        int64      `json:"candidatesTokenCount,omitempty"`
		Total             int64      `json:"totalTokenCount,omitempty"`
		Cached            int64      `json:"cachedContentTokenCount,omitempty"`
		Traffic           any        `json:"trafficType,omitempty"`
		PromptDetails     []modality `json:"promptTokensDetails,omitempty"`
		CandidatesDetails []modality `json:"candidatesTokensDetails,omitempty"`
		Thoughts          int64      `json:"thoughtsTokenCount,omitempty"`
	}
	modality struct {
		Modality any   `json:"modality"`
		Tokens   int64 `json:"tokenCount"`
	}
)

// contentOf are the parts of an answer as the service writes them, in pieces of a stream if it is one. What a script
// has as arguments and is no JSON object the service cannot write: malformed is then the call, and nothing follows it.
func (c *call) contentOf(r *llm.Response, pieces bool) (parts []json.RawMessage, malformed *llm.ToolCall) {
	signed := !c.signs()
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			parts = append(parts, texts(p.Text, p.Signature, false, pieces)...)
		case llm.Reasoning:
			parts = append(parts, texts(p.Text, p.Signature, true, pieces)...)
		case llm.ToolCall:
			if !isObject(p.Arguments) {
				return parts, &p
			}
			f := &functionCall{Name: p.Name, Args: json.RawMessage(p.Arguments)}
			if c.namesCalls() {
				f.ID = p.ID
			}
			if len(p.Signature) == 0 && !signed {
				p.Signature = []byte("simulated signature of " + c.responseID())
			}
			signed = true
			parts = append(parts, marshal(part{FunctionCall: f, Signature: p.Signature}))
		case llm.Media:
			one := part{Inline: &blob{p.MediaType, p.Data}}
			if p.URI != "" {
				one = part{File: &file{p.MediaType, p.URI}}
			}
			parts = append(parts, marshal(one))
		case llm.Opaque:
			parts = append(parts, opaque(p))
		default: // the service writes nothing else
		}
	}
	return parts, nil
}

// texts is a text in one part, or in one a word; its signature is in the last.
func texts(text string, signature []byte, thought, pieces bool) (parts []json.RawMessage) {
	if !pieces || text == "" {
		return []json.RawMessage{marshal(part{Text: &text, Thought: thought, Signature: signature})}
	}
	for word := range cloud.Words(text) {
		parts = append(parts, marshal(part{Text: &word, Thought: thought}))
	}
	if len(signature) > 0 {
		parts = append(parts, marshal(part{Text: new(""), Thought: thought, Signature: signature}))
	}
	return parts
}

// opaque is a part that llm does not know: its JSON without the type that llm put in, or under its type.
func opaque(p llm.Opaque) json.RawMessage {
	if !isObject(string(p.Data)) {
		return marshal(map[string]any{p.Type: p.Data})
	}
	all, _ := members(p.Data)
	fields := map[string]json.RawMessage{}
	for _, m := range all {
		fields[m.name] = m.value
	}
	if _, whole := fields["type"]; !whole {
		return marshal(map[string]any{p.Type: p.Data})
	}
	delete(fields, "type")
	return marshal(fields)
}

// isCall reports whether a part that was written here is a function call.
func isCall(raw json.RawMessage) bool {
	var p part
	return json.Unmarshal(raw, &p) == nil && p.FunctionCall != nil
}

func isObject(text string) bool {
	return json.Valid([]byte(text)) && bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("{"))
}

// shell is a response without its candidates.
func (c *call) shell(r *llm.Response) response {
	out := response{ModelVersion: c.model, ResponseID: c.responseID()}
	if r.ModelVersion != "" {
		out.ModelVersion = r.ModelVersion
	}
	if r.ID != "" {
		out.ResponseID = r.ID
	}
	if c.vertex() {
		out.CreateTime = c.timestamp()
	}
	return out
}

// finishOf is the service's word for why the answer ended.
func finishOf(r *llm.Response) string {
	switch {
	case r.RawFinish != "":
		return r.RawFinish
	case r.Finish == llm.FinishLength:
		return "MAX_TOKENS"
	case r.Finish == llm.FinishOther:
		return "OTHER"
	default:
		return "STOP"
	}
}

// usageOf is the count at the end. Gemini counts thoughts apart from the answer.
func (c *call) usageOf(u llm.Usage) *usage {
	answer := max(u.Output-u.Reasoning, 0)
	out := &usage{
		Prompt: u.Input, Candidates: answer, Total: u.Input + u.Output, Cached: u.CacheRead, Thoughts: u.Reasoning,
		PromptDetails: []modality{{c.enum("modality", "TEXT"), u.Input}},
	}
	if answer > 0 {
		out.CandidatesDetails = []modality{{c.enum("modality", "TEXT"), answer}}
	}
	if c.vertex() {
		out.Traffic = c.enum("trafficType", "ON_DEMAND")
	}
	return out
}

// running is the count before the end: that of Vertex AI has no numbers then.
func (c *call) running(u llm.Usage) *usage {
	if c.vertex() {
		return &usage{Traffic: c.enum("trafficType", "ON_DEMAND")}
	}
	return &usage{Prompt: u.Input, Total: u.Input, PromptDetails: []modality{{c.enum("modality", "TEXT"), u.Input}}}
}

// harms are the categories that are rated, and what a script may call them.
func harms() [][2]string {
	return [][2]string{
		{"HARM_CATEGORY_HATE_SPEECH", "hate"},
		{"HARM_CATEGORY_DANGEROUS_CONTENT", "dangerous"},
		{"HARM_CATEGORY_HARASSMENT", "harassment"},
		{"HARM_CATEGORY_SEXUALLY_EXPLICIT", "sexual"},
	}
}

// ratings are the verdicts of the filters; those named in what, such as "hate (high)" or the whole category, block.
// What names none of them is taken for dangerous content.
func (c *call) ratings(what []string) []rating {
	blocked := map[string]string{}
	for _, w := range what {
		name, level, ok := strings.Cut(strings.TrimSuffix(w, ")"), " (")
		if !ok {
			level = "high"
		}
		at := harms()[1][0]
		for _, h := range harms() {
			if strings.EqualFold(name, h[0]) || strings.HasPrefix(strings.ToLower(name), h[1]) {
				at = h[0]
			}
		}
		blocked[at] = strings.ToUpper(level)
	}
	var all []rating
	for _, h := range harms() {
		r := rating{Category: c.enum("category", h[0]), Probability: c.enum("probability", "NEGLIGIBLE")}
		if level := blocked[h[0]]; level != "" {
			r.Probability, r.Blocked = c.enum("probability", level), true
		}
		all = append(all, r)
	}
	return all
}

// enum is a value of an enum by its name, or by its number if the client wants numbers. Names without one stay.
func (c *call) enum(of, name string) any {
	numbers := map[string]map[string]int32{
		"finishReason": aiplatformpb.Candidate_FinishReason_value,
		"category":     aiplatformpb.HarmCategory_value,
		"probability":  aiplatformpb.SafetyRating_HarmProbability_value,
		"modality":     aiplatformpb.Modality_value,
		"blockReason":  aiplatformpb.GenerateContentResponse_PromptFeedback_BlockedReason_value,
		"trafficType":  {"ON_DEMAND": 1, "PROVISIONED_THROUGHPUT": 2},
	}[of]
	if of == "category" && !c.vertex() {
		numbers = map[string]int32{
			"HARM_CATEGORY_HARASSMENT": 7, "HARM_CATEGORY_HATE_SPEECH": 8,
			"HARM_CATEGORY_SEXUALLY_EXPLICIT": 9, "HARM_CATEGORY_DANGEROUS_CONTENT": 10,
		}
	}
	if n, ok := numbers[name]; ok && c.ints {
		return n
	}
	return name
}
