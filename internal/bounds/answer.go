package bounds

import "errors"

const (
	// Answer bounds the content of an answer, whole or streamed, in bytes. The largest healthy ones carry pictures or
	// speech, a few MiB.
	Answer = 32 << 20
	// Calls bounds its tool calls.
	Calls = 1024
	// Parts bounds its parts, and the lists that it is read from.
	Parts = 1 << 16
	// Problem bounds what is read of an error inside a 200, in bytes, like that of errors under their own status.
	Problem = 64 << 10
)

// Over is an answer beyond its bounds; it is the code of the error.
type Over string

// The ways to be beyond them.
const (
	TooLarge     Over = "answer_too_large"
	TooManyCalls Over = "too_many_tool_calls"
)

// Error names the bound.
func (o Over) Error() string { return "an answer beyond all bounds: " + string(o) }

// Count is a count of tokens as a provider gave it, made fit to be added to others: none is negative, and none
// beyond what anybody counts.
func Count(n int64) int64 {
	const most = 1 << 53
	return min(max(n, 0), most)
}

// TooMany reports whether a JSON array that was found valid has more than most elements. They are counted, not
// decoded: three bytes on the wire can be a hundred in memory.
func TooMany(array []byte, most int) bool {
	return len(array)/2 >= most && Elements(array) > most
}

// Elements counts the elements of a JSON array that was found valid.
func Elements(array []byte) int {
	if len(array) < 2 || array[0] != '[' {
		return 0
	}
	n, depth := 0, 0
	some, quoted, escaped := false, false, false
	for _, b := range array[1 : len(array)-1] {
		some = some || b != ' ' && b != '\n' && b != '\r' && b != '\t'
		switch {
		case escaped:
			escaped = false
		case b == '\\':
			escaped = quoted
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == ',' && depth == 0:
			n++
		case b == '{', b == '[':
			depth++
		case b == '}', b == ']':
			depth--
		}
	}
	if some {
		n++
	}
	return n
}

// ErrLate is content that comes after the end of the call's context.
var ErrLate = errors.New("content after the end of the context")

// Content is how much of an answer has come. Once the context of its call is over, a finished answer takes no more.
type Content struct {
	Size int
	Late bool
}

// Grow counts n bytes, before they are taken. Its error is ErrLate or an Over.
func (c *Content) Grow(n int) error {
	switch c.Size += n; {
	case n == 0:
		return nil
	case c.Late:
		return ErrLate
	case c.Size > Answer:
		return TooLarge
	default:
		return nil
	}
}
