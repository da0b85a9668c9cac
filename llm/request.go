package llm

import (
	"encoding/json"
	"time"
)

// Request is what an application asks, as plain data that names no vendor and round-trips through JSON (all
// but Accept). The zero value of every field means the default. Nobody below the Client changes a Request,
// so one value may be used for several calls at once.
type Request struct {
	Operation Operation `json:"operation,omitempty"` // the plan to run under; "": the default plan
	// Session ties the calls of one conversation together: affinity of pooled targets, and
	// gen_ai.conversation.id in telemetry.
	Session    string     `json:"session,omitempty"`
	System     string     `json:"system,omitempty"`
	Messages   []Message  `json:"messages,omitempty"`
	Tools      []Tool     `json:"tools,omitempty"`
	ToolChoice ToolChoice `json:"tool_choice,omitzero"`
	Output     *Schema    `json:"output,omitempty"` // nil: free text
	MaxTokens  int        `json:"max_tokens,omitempty"`
	// Temperature and TopP: nil is the model's default, new(0.0) is a value.
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Thinking    Thinking `json:"thinking,omitzero"`
	// CachePrefix makes tools and system prompt a cached prefix where the provider needs to be told so; a
	// CachePoint part does it inside messages.
	CachePrefix bool `json:"cache_prefix,omitempty"`
	// Limits replaces the plan's limits, field by field, longer or shorter; never beyond the caller's deadline.
	Limits   Limits            `json:"limits,omitzero"`
	Route    Route             `json:"route,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Extra holds provider-private fields by provider name; the others ignore them. azure.Extra{…}.Set(req)
	// and its like write it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
	// Accept judges an answer inside the chain: an error makes it [ErrBadOutput], and the next try or target
	// follows. It must be pure: with hedging it may run twice at once. A Client without a chain does not call it.
	Accept func(*Response) error `json:"-"`
}

// Limits bounds the time and tries of a call. A field that is 0 means the plan's, whose own zero means:
// Attempt as the operation has it (30 s for triage, 90 s for orchestration, 45 s for generation, else 60 s),
// FirstContent the same as Attempt, Idle the same but at most 30 s, Total the limit of an attempt times the
// number of targets (two at the least, three at the most).
//
// Once the content of a stream flows, only Idle and the caller's deadline hold; without a deadline a stream
// ends after 10 minutes, or after Total where that is longer ([BoundEnd]).
type Limits struct {
	Attempt      time.Duration // of one attempt, streams until their first content
	Connect      time.Duration // of connecting, TLS included, over HTTP; 0: the transport's own, 10 s each
	FirstContent time.Duration // of a stream, from the start of an attempt to the first content
	Idle         time.Duration // of a stream, between two pieces of content; it stands still while the sink runs
	Total        time.Duration // of the whole call over all targets, streams until their first content
	Tries        int           // of the whole call over all targets; 0: no limit
}

// Route narrows the targets of one call. It fails rather than widen.
type Route struct {
	Only   []string `json:"only,omitempty"`   // these, in this order, nothing else; an unknown name is ErrInvalid
	Tags   []string `json:"tags,omitempty"`   // targets that have all of these; none is ErrUnsupported
	Prefer string   `json:"prefer,omitempty"` // first while healthy; "": who wrote the last assistant message
}

// Thinking says how much a model may think before it answers: an effort or a limit of tokens, not both.
type Thinking struct {
	Effort    string `json:"effort,omitempty"` // "none", "low", "medium" or "high"
	MaxTokens int    `json:"max_tokens,omitempty"`
}

// Schema asks for JSON as output. An answer that is no JSON is [ErrBadOutput]; whether it fits the schema is
// the provider's promise and is not checked here: judge it with Request.Accept.
type Schema struct {
	Name        string          `json:"name,omitempty"` // "": "output"
	Description string          `json:"description,omitempty"`
	JSON        json.RawMessage `json:"json,omitempty"` // a JSON Schema; nil: any object
	Lenient     bool            `json:"lenient,omitempty"`
}

// Tool is a function the model may ask to have called.
type Tool struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema of an object; nil: no parameters
	Lenient     bool            `json:"lenient,omitempty"`    // arguments may differ from the schema
}

// ToolChoice says whether and which tools must be called. The zero value lets the model decide and allows
// several calls at once.
type ToolChoice struct {
	Mode   ToolMode `json:"mode,omitempty"`
	Name   string   `json:"name,omitempty"`   // of the tool, with ToolNamed
	Single bool     `json:"single,omitempty"` // at most one call a turn
}

// ToolMode is the rule of a ToolChoice.
type ToolMode string

// The tool modes.
const (
	ToolAuto     ToolMode = ""         // the model decides
	ToolNone     ToolMode = "none"     // no tool is called
	ToolRequired ToolMode = "required" // at least one tool is called
	ToolNamed    ToolMode = "named"    // the tool ToolChoice.Name is called
)
