package llm

import "context"

// Generator answers requests: providers, chains and middleware are Generators.
//
// A nil sink asks for the whole answer. Otherwise content events (text, reasoning, the start of a tool call
// and its arguments; never empty, never [EventDone]) go to sink in order, one at a time, on the calling
// goroutine, never after Generate has returned, and never under a recover.
//
// Generate returns soon after ctx ends (conformance: 100 ms), never changes or keeps req, and is safe for
// concurrent use. The Response is fresh and the caller's to change. With an error it may be non-nil: then it
// is exactly what the sink accepted, without tool calls that had not ended ([Accumulator.Partial] is that); beside
// [ErrContentFiltered] it is what there is of the answer, also without a sink.
// Errors should be [*Error]; an error of the sink comes back as it was.
type Generator interface {
	Generate(ctx context.Context, req *Request, sink Sink) (*Response, error)
}

// GeneratorFunc makes a Generator of a function.
type GeneratorFunc func(ctx context.Context, req *Request, sink Sink) (*Response, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req *Request, sink Sink) (*Response, error) {
	return f(ctx, req, sink)
}

// Sink takes the events of a stream. An error it returns ends the call and comes back as it was.
type Sink func(Event) error

// Capabilities says what a target can and cannot do. The zero value means that nothing is known: then
// everything is tried.
type Capabilities struct {
	ContextWindow int `json:"context_window,omitempty"` // tokens of input and output together; 0: unknown
	MaxOutput     int `json:"max_output,omitempty"`     // tokens of output; 0: unknown
	// Lacks names what the target cannot carry: tools, tool_choice, parallel_tools, image, document, audio,
	// video, json_schema, thinking, cache, seed, stop, stream.
	Lacks   []string `json:"lacks,omitempty"`
	Streams bool     `json:"streams,omitempty"` // it can stream
	Silent  bool     `json:"silent,omitempty"`  // it sends nothing for long while it thinks, so silence is no sign of a hang
}

// Endpoint is one opened way to a model, as a [Factory] returns it.
type Endpoint struct {
	Generator Generator
	Model     ModelRef
	Can       Capabilities
	// Prompt: the Generator passes the cancel cases of llmtest/conformance, so it may run on the caller's
	// goroutine. Otherwise a chain runs it [Detached].
	Prompt bool
	Close  func() error // nil: nothing to close
}

// Factory opens an Endpoint from a section of a configuration. settings decodes the section into a struct by
// its yaml tags, strictly; a tag secret:"true" keeps the field's value out of messages, doc:"…" describes it in the
// schema. A Factory sends nothing.
type Factory func(ctx context.Context, settings func(into any) error) (Endpoint, error)
