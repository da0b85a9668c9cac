package vertex

import (
	"bytes"
	"encoding/json"
)

// These take apart JSON that is known to be valid, in order and without copies: requests may have megabytes in them.

// members are the members of a JSON object in order; false: it is none.
func members(raw json.RawMessage) (all []member, ok bool) {
	rest := bytes.TrimLeft(raw, blanks)
	if len(rest) == 0 || rest[0] != '{' {
		return nil, false
	}
	for rest = after(rest, 1); rest[0] != '}'; {
		var name, value []byte
		name, rest = cutValue(rest)
		value, rest = cutValue(after(rest, 1))
		m := member{value: value}
		_ = json.Unmarshal(name, &m.name)
		all = append(all, m)
		if rest[0] == ',' {
			rest = after(rest, 1)
		}
	}
	return all, true
}

// elements are those of a JSON array. A single value is an array of one, as the service takes it.
func elements(raw json.RawMessage) (all []json.RawMessage) {
	rest := bytes.TrimSpace(raw)
	if rest[0] != '[' {
		return []json.RawMessage{rest}
	}
	for rest = after(rest, 1); rest[0] != ']'; {
		var value []byte
		value, rest = cutValue(rest)
		all = append(all, value)
		if rest[0] == ',' {
			rest = after(rest, 1)
		}
	}
	return all
}

const blanks = " \t\r\n"

// after is what follows the first n bytes and the blanks behind them.
func after(b []byte, n int) []byte { return bytes.TrimLeft(b[n:], blanks) }

// cutValue cuts off the value that b begins with, and the blanks behind it.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += quoted(b[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			n := bytes.IndexAny(b[i:], ",]}:"+blanks) // a number or a word
			if n < 0 {
				n = len(b) - i
			}
			i += n - 1
		}
		if depth == 0 {
			return b[:i+1], after(b, i+1)
		}
	}
	return b, nil
}

// quoted is the length of the string that b begins with.
func quoted(b []byte) int {
	for i := 1; ; {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if i++; slashes%2 == 0 {
			return i
		}
	}
}
