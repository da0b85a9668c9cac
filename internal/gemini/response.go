package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/punctual-llm/punctual/internal/bounds"
)

// Response is an answer, or one event of a stream.
type Response struct {
	Candidates     [1]Candidate    `json:"candidates"` // the first: the decoder skips others without a cost in memory
	PromptFeedback *PromptFeedback `json:"promptFeedback"`
	Usage          *Usage          `json:"usageMetadata"`
	ModelVersion   string          `json:"modelVersion"`
	ResponseID     string          `json:"responseId"`
	Error          json.RawMessage `json:"error"`
}

// Candidate is one answer of those asked for.
type Candidate struct {
	Index         int             `json:"index"`
	Content       Content         `json:"content"`
	FinishReason  Enum            `json:"finishReason"`
	FinishMessage string          `json:"finishMessage"`
	SafetyRatings Ratings         `json:"safetyRatings"`
	Grounding     json.RawMessage `json:"groundingMetadata"`
	Citations     json.RawMessage `json:"citationMetadata"`
	URLContext    json.RawMessage `json:"urlContextMetadata"`
}

// Content is the message of a candidate.
type Content struct {
	Parts bounds.List[Part] `json:"parts"`
}

// Part is one part of a content. Raw is the whole part if none of the other fields says what it is.
type Part struct {
	Text         string        `json:"text"`
	Thought      bool          `json:"thought"`
	Signature    Bytes         `json:"thoughtSignature"`
	FunctionCall *FunctionCall `json:"functionCall"`
	InlineData   *Blob         `json:"inlineData"`
	FileData     *FileData     `json:"fileData"`

	Raw json.RawMessage `json:"-"`
}

// FunctionCall is a call of a tool.
type FunctionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Blob is data of a media type.
type Blob struct {
	MIMEType string `json:"mimeType"`
	Data     Bytes  `json:"data"`
}

// FileData is data elsewhere.
type FileData struct {
	MIMEType string `json:"mimeType"`
	URI      string `json:"fileUri"`
}

// PromptFeedback is the verdict on a prompt. Without a reason it blocks nothing.
type PromptFeedback struct {
	BlockReason        Enum    `json:"blockReason"`
	BlockReasonMessage string  `json:"blockReasonMessage"`
	SafetyRatings      Ratings `json:"safetyRatings"`
}

// Ratings are the verdicts of filters.
type Ratings = bounds.List[SafetyRating]

// SafetyRating is the verdict of one filter.
type SafetyRating struct {
	Category    Enum `json:"category"`
	Probability Enum `json:"probability"`
	Blocked     bool `json:"blocked"`
}

// Usage counts tokens. In a stream it is a running count.
type Usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	ToolUse    int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Total      int64 `json:"totalTokenCount"`
}

// Enum is the name of a value, or its number in decimal where the service wrote that.
type Enum string

// UnmarshalJSON takes a name or a number.
func (e *Enum) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
	case raw[0] == '"':
		*e = Enum(unquote(raw))
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		*e = Enum(raw)
	}
	return nil
}

// Bytes is base64 of either alphabet, with or without padding.
type Bytes []byte

// UnmarshalJSON never fails: bytes that cannot be read cost no answer.
func (b *Bytes) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return nil
	}
	s := strings.TrimRight(unquote(raw), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	if data, err := enc.DecodeString(s); err == nil {
		*b = data
	}
	return nil
}

// unquote reads a JSON string that the decoder has checked.
func unquote(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// UnmarshalJSON keeps the whole of a part that it does not know.
func (p *Part) UnmarshalJSON(raw []byte) error {
	type plain Part
	err := json.Unmarshal(raw, (*plain)(p))
	if p.Text == "" && p.FunctionCall == nil && p.InlineData == nil && p.FileData == nil && unknown(raw) {
		p.Raw = bytes.Clone(raw)
	}
	return err
}

// unknown reports whether a part has a member of which Part knows nothing, or that Part could not read.
func unknown(raw []byte) bool {
	members := json.NewDecoder(bytes.NewReader(raw))
	if open, err := members.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	var value json.RawMessage
	for members.More() {
		name, err := members.Token()
		if err != nil || members.Decode(&value) != nil {
			return false
		}
		switch name {
		case "thought", "thoughtSignature":
		case "text":
			if value[0] != '"' && string(value) != "null" {
				return true
			}
		default:
			if string(value) != "null" {
				return true
			}
		}
	}
	return false
}

// maxResponses bounds a list of answers: the events of a stream that came as one value.
const maxResponses = 1 << 14

// Decode reads one JSON value: a response, or a list of them as the service sends it without alt=sse. What comes
// behind the value does not matter. Members of another type than ours pass, since the rest of the value was read.
func Decode(raw []byte) ([]Response, error) {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(raw) > 0 && raw[0] == '[' {
		if bounds.TooMany(raw, maxResponses) {
			return nil, bounds.TooLarge
		}
		var all []Response
		return all, decodeFirst(raw, &all)
	}
	one := make([]Response, 1)
	return one, decodeFirst(raw, &one[0])
}

func decodeFirst(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = json.NewDecoder(bytes.NewReader(raw)).Decode(v)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && raw[0] != '"' {
		return nil
	}
	return err
}

// Says reports whether an error member says something.
func Says(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	default:
		return true
	}
}
