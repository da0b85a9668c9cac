package bedrock

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

// body is a request of Converse, without the model, which is in the path.
type body struct {
	Messages        []message         `json:"messages"`
	System          []any             `json:"system,omitempty"`
	InferenceConfig *inference        `json:"inferenceConfig,omitempty"`
	ToolConfig      *toolConfig       `json:"toolConfig,omitempty"`
	GuardrailConfig *Guardrail        `json:"guardrailConfig,omitempty"`
	ModelFields     map[string]any    `json:"additionalModelRequestFields,omitempty"`
	Metadata        map[string]string `json:"requestMetadata,omitempty"`
	OutputConfig    *outputConfig     `json:"outputConfig,omitempty"`
}

// message is one turn. Content holds *block, or json.RawMessage for blocks that are passed through.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// block is one block of content; exactly one member is set.
type block struct {
	Text       string      `json:"text,omitempty"`
	Image      *media      `json:"image,omitempty"`
	Document   *media      `json:"document,omitempty"`
	Video      *media      `json:"video,omitempty"`
	Audio      *media      `json:"audio,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
	Reasoning  *reasoning  `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
	ToolSpec   *toolSpec   `json:"toolSpec,omitempty"` // in toolConfig.tools
}

type media struct {
	Name      string   `json:"name,omitempty"`
	Format    string   `json:"format"`
	Source    source   `json:"source"`
	Citations *enabled `json:"citations,omitempty"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type source struct {
	Bytes []byte `json:"bytes,omitempty"`
	Text  string `json:"text,omitempty"`
	S3    *s3    `json:"s3Location,omitempty"`
}

type s3 struct {
	URI string `json:"uri"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string `json:"toolUseId"`
	Content []any  `json:"content"`
	Status  string `json:"status,omitempty"`

	order int // of the call it answers
}

type reasoning struct {
	Text reasoningText `json:"reasoningText"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type cachePoint struct {
	Type string `json:"type"`
}

func cacheMark() *block { return &block{CachePoint: &cachePoint{Type: "default"}} }

type toolSpec struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	InputSchema jsonSchema `json:"inputSchema"`
}

type jsonSchema struct {
	JSON json.RawMessage `json:"json"`
}

type toolConfig struct {
	Tools  []*block        `json:"tools"`
	Choice json.RawMessage `json:"toolChoice,omitempty"`
}

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

type outputConfig struct {
	Effort     string      `json:"effort,omitempty"`
	TextFormat *textFormat `json:"textFormat,omitempty"`
}

type textFormat struct {
	Type      string `json:"type"`
	Structure struct {
		JSONSchema outputSchema `json:"jsonSchema"`
	} `json:"structure"`
}

type outputSchema struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Schema      string `json:"schema"` // JSON in a string
}

// reply is an answer of Converse.
type reply struct {
	Output *struct {
		Message struct{ Content replyBlocks }
	}
	StopReason string
	end
}

// end is what comes with or behind a stop reason.
type end struct {
	Usage  *usage
	Trace  json.RawMessage
	Fields json.RawMessage `json:"additionalModelResponseFields"`
}

// replyBlocks are the blocks of an answer, within bounds.
type replyBlocks struct {
	list    bounds.List[replyBlock]
	unknown []json.RawMessage // as it came, if there is any that is not known: those that are, too
}

// UnmarshalJSON decodes the blocks once, if all are known.
func (b *replyBlocks) UnmarshalJSON(raw []byte) error {
	_ = b.list.UnmarshalJSON(raw) // it never fails
	if b.unknown = nil; slices.ContainsFunc(b.list.Items, func(b replyBlock) bool { return !b.known() }) {
		_ = json.Unmarshal(raw, &b.unknown) // a list, or there would be none
	}
	return nil
}

// replyBlock is one block of an answer. Members that are not here make it an opaque part.
type replyBlock struct {
	Text      *string
	ToolUse   *replyCall
	Reasoning *replyReasoning `json:"reasoningContent"`
	Cited     *replyCited     `json:"citationsContent"`
	Image     *replyImage
}

// known reports whether llm has a part for it.
func (b *replyBlock) known() bool {
	return b.Text != nil || b.ToolUse != nil && b.ToolUse.ours() || b.Reasoning != nil && b.Reasoning.Text != nil ||
		b.Cited != nil || b.Image != nil && len(b.Image.Source.Bytes) > 0
}

type replyCall struct {
	ID    string `json:"toolUseId"`
	Name  string
	Type  string // "server_tool_use": the service runs it
	Input json.RawMessage
}

// ours reports whether it is for the caller to run.
func (c *replyCall) ours() bool { return c.Type == "" || c.Type == "tool_use" }

type replyReasoning struct {
	Text *struct {
		Text, Signature string
	} `json:"reasoningText"`
}

type replyCited struct {
	Content   bounds.List[struct{ Text string }]
	Citations json.RawMessage
}

type replyImage struct {
	Format string
	Source struct{ Bytes []byte }
}

// start and delta are the payloads of a stream's events of the same names.
type start struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse    *replyCall
		ToolResult json.RawMessage
		Image      *replyImage
	}
}

type delta struct {
	Index int `json:"contentBlockIndex"`
	Delta struct {
		Text      string
		ToolUse   *struct{ Input string }
		Reasoning *struct {
			Text, Signature string
			Redacted        []byte `json:"redactedContent"`
		} `json:"reasoningContent"`
		Citation   json.RawMessage
		ToolResult json.RawMessage
		Image      *replyImage
	}
}

type usage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
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

func itoa(n int) string { return strconv.Itoa(n) }
