package azure

import (
	"encoding/json"

	"github.com/punctual-llm/punctual/internal/bounds"
)

// body is the request as it is sent.
type body struct {
	Messages            []message         `json:"-"` // written on their own: see encoder.encode
	Model               string            `json:"model"`
	Stream              bool              `json:"stream,omitempty"`
	StreamOptions       *streamOptions    `json:"stream_options,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                *float64          `json:"top_p,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	Seed                *int64            `json:"seed,omitempty"`
	ReasoningEffort     string            `json:"reasoning_effort,omitempty"`
	Tools               []tool            `json:"tools,omitempty"`
	ToolChoice          any               `json:"tool_choice,omitempty"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      *responseFormat   `json:"response_format,omitempty"`
	Metadata            map[string]string `json:"metadata,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one message of the request. Content is a string, a []part, or nil in an assistant's turn that
// only calls tools: services refuse messages without the property.
type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCalls  []any  `json:"tool_calls,omitempty"` // toolCall, or json.RawMessage as it was received
	ToolCallID string `json:"tool_call_id,omitempty"`
	Audio      any    `json:"audio,omitempty"` // of an earlier answer, by its id
}

type part struct {
	Type       string      `json:"type"`
	Text       string      `json:"text,omitempty"`
	ImageURL   *imageURL   `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	File       *file       `json:"file,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   []byte `json:"data"`
	Format string `json:"format"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict,omitempty"`
}

type namedTool struct {
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Strict      bool            `json:"strict,omitempty"`
}

// chunk is an answer, whole or one event of a stream. The SDK's own types have no place for an error beside
// or inside the choices, for reasoning under its second name and for custom tools, and a chunk of theirs
// costs three times the memory.
type chunk struct {
	ID    string `json:"id"`
	Model string `json:"model"`
	content
}

// content is what matters of a chunk once its head is known.
//
// Of the choices the first in the list is decoded, which nearly always is the only one; the decoder skips the
// others without a cost in memory. See firstChoice.
type content struct {
	Choices [1]choice       `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        delta           `json:"delta"`
	Message      delta           `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// delta is a message or a piece of one.
type delta struct {
	Content          flexText       `json:"content"`
	ReasoningContent string         `json:"reasoning_content"`
	Reasoning        string         `json:"reasoning"` // the same on OpenRouter and newer vLLM
	Refusal          string         `json:"refusal"`
	ToolCalls        callList       `json:"tool_calls"`
	FunctionCall     *functionDelta `json:"function_call"` // from before tools
	Audio            *audioDelta    `json:"audio"`         // of spoken answers
}

// audioDelta is a spoken answer or a piece of one.
type audioDelta struct {
	ID         string `json:"id"`
	Data       string `json:"data"` // in base64
	Transcript string `json:"transcript"`
	ExpiresAt  int64  `json:"expires_at"`
}

// callList is a list of tool calls, within bounds.
type callList struct {
	list    []callDelta
	tooMany bool // nothing was decoded
}

// UnmarshalJSON counts before it decodes. It never fails: an error would be lost behind an earlier one that is
// tolerated.
func (l *callList) UnmarshalJSON(raw []byte) error {
	n := bounds.Elements(raw)
	if l.tooMany = n > bounds.Calls; n == 0 || l.tooMany {
		l.list = nil
		return nil
	}
	l.list = make([]callDelta, 0, n)
	_ = json.Unmarshal(raw, &l.list) // it is valid: only members of other types can fail
	return nil
}

type callDelta struct {
	Index    *int          `json:"index"`
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function functionDelta `json:"function"`
	Custom   *customDelta  `json:"custom"`
}

type functionDelta struct {
	Name      string   `json:"name"`
	Arguments flexText `json:"arguments"`
}

type customDelta struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

type usage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
		Writes int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}
