package llm

// EventKind says what an [Event] brings. The set is open: skip kinds you do not know.
type EventKind string

// The kinds of event.
const (
	EventText          EventKind = "text"           // Delta is text for the reader
	EventReasoning     EventKind = "reasoning"      // Delta is thought
	EventToolCall      EventKind = "tool_call"      // a tool call begins: ID and Name
	EventToolArguments EventKind = "tool_arguments" // Delta continues its arguments
	EventDone          EventKind = "done"           // the end: Response is the complete answer; only from a Client
)

// Event is one piece of an answer as it arrives.
type Event struct {
	Kind EventKind `json:"kind,omitempty"`
	// Index is the place of the part in Message.Parts, counted in order of first appearance, never the
	// vendor's own.
	Index    int       `json:"index,omitempty"`
	Delta    string    `json:"delta,omitempty"`
	ID       string    `json:"id,omitempty"`
	Name     string    `json:"name,omitempty"`
	Response *Response `json:"response,omitempty"`
}

// content reports whether e brings content: only that may reach a sink, and only that ends the wait for the
// first content.
func (e *Event) content() bool {
	switch e.Kind {
	case EventDone, "":
		return false
	case EventText, EventReasoning, EventToolArguments:
		return e.Delta != ""
	default:
		return true
	}
}
