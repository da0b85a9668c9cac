package bounds

import (
	"fmt"

	"github.com/punctual-llm/punctual/llm"
)

// maxRequest bounds the content of a request, media as they are sent. The services refuse far less.
const maxRequest = 64 << 20

// CheckRequest refuses a request that would take longer to encode than any caller waits, and says about how much
// its content is. Extra is the member of its Extra that belongs to the adapter.
func CheckRequest(r *llm.Request, extra string) (int, error) {
	left := maxRequest - len(r.System)
	over := func(field string) (int, error) {
		return 0, llm.Unsupported(field, "goes beyond the 64 MiB that a request may have",
			"send less, or images by their address")
	}
	if left < 0 {
		return over("system")
	}
	for i := range r.Messages {
		for j, p := range r.Messages[i].Parts {
			if left -= partSize(p); left < 0 {
				return over(fmt.Sprintf("messages[%d].parts[%d]", i, j))
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
	if left < len(r.Extra[extra]) {
		return over("extra." + extra)
	}
	return maxRequest - left, nil
}

// partSize is about what a part takes on the wire.
func partSize(p llm.Part) int {
	switch p := p.(type) {
	case llm.Text:
		return len(p.Text) + len(p.Signature)
	case llm.Reasoning:
		return len(p.Text) + len(p.Signature)
	case llm.Media:
		return len(p.URI) + len(p.Data)/3*4
	case llm.ToolCall:
		return len(p.Arguments) + len(p.Name) + len(p.Signature)
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
