package azure

import (
	"errors"

	"github.com/punctual-llm/punctual/llm"
)

// What an answer may hold. No healthy one comes near; a hostile one would cost memory and time for long after
// the end of its call.
const (
	// maxReply bounds the content of an answer, whole or streamed. The largest healthy ones carry speech, a few
	// MiB.
	maxReply = 32 << 20
	// maxCalls bounds its tool calls.
	maxCalls = 1024
	// maxParts bounds the parts of content that comes as a list.
	maxParts = 1 << 16
	// maxChoices is how many choices are looked at for the first one. The services make at most 128.
	maxChoices = 128
	// maxProblem bounds what is read of an error inside a 200, like that of errors under their own status.
	maxProblem = 64 << 10
)

// badOutput is an answer beyond all bounds; it is the code of the error.
type badOutput string

const (
	tooLarge     badOutput = "answer_too_large"
	tooManyCalls badOutput = "too_many_tool_calls"
)

func (b badOutput) Error() string { return "azure: " + string(b) }

// errLate is content that comes after the end of the call's context.
var errLate = errors.New("azure: content after the end of the context")

// grow counts n bytes of content, before they are taken.
func (a *answer) grow(n int) error {
	if n == 0 {
		return nil
	}
	if a.late {
		return errLate
	}
	if a.size += n; a.size > maxReply {
		return tooLarge
	}
	return nil
}

// maxRequest bounds the content of a request, media as they are sent. The services refuse far less.
const maxRequest = 64 << 20

// checkSize refuses a request that would take longer to encode than any caller waits, and says about how much
// its content is.
func checkSize(r *llm.Request) (int, error) {
	left := maxRequest - len(r.System)
	over := func(field string) (int, error) {
		return 0, llm.Unsupported(field, "is too long, or what comes before it is: a request has at most 64 MiB",
			"send less, or images by their address")
	}
	if left < 0 {
		return over("system")
	}
	for i := range r.Messages {
		for j, p := range r.Messages[i].Parts {
			if left -= partSize(p); left < 0 {
				return over(at(i, j))
			}
		}
	}
	for i := range r.Tools {
		left -= len(r.Tools[i].Name) + len(r.Tools[i].Description) + len(r.Tools[i].Parameters)
	}
	if left < 0 {
		return over("tools")
	}
	if r.Output != nil {
		left -= len(r.Output.JSON)
	}
	if left < 0 {
		return over("output.json")
	}
	if left < len(r.Extra[extraKey]) {
		return over("extra.azure")
	}
	return maxRequest - left, nil
}

// partSize is about what a part takes on the wire.
func partSize(p llm.Part) int {
	switch p := p.(type) {
	case llm.Text:
		return len(p.Text)
	case llm.Media:
		return len(p.URI) + len(p.Data)/3*4
	case llm.ToolCall:
		return len(p.Arguments) + len(p.Name)
	case llm.Opaque:
		return len(p.Data)
	case llm.ToolResult:
		n := 0
		for _, inner := range p.Parts {
			if _, nested := inner.(llm.ToolResult); !nested { // which is not sent
				n += partSize(inner)
			}
		}
		return n
	default:
		return 0
	}
}
