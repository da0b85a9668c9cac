// Package wirename replaces names that a provider's wire does not take, and finds what they were.
package wirename

import (
	"crypto/sha256"
	"encoding/hex"
)

// Max is the length of the longest name, in bytes.
const Max = 64

// Of is name if it fits ^[a-zA-Z0-9_-]{1,64}$, and else what [Replaced] makes of it.
func Of(name string) string {
	fits := name != "" && len(name) <= Max
	for i := 0; fits && i < len(name); i++ {
		fits = Takes(name[i])
	}
	if fits {
		return name
	}
	return Replaced("", name)
}

// Takes reports whether every wire takes b within a name: a letter, a digit, _ or -.
func Takes(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// Replaced is a name that every wire takes, in place of name: prefix, then name with _ for what does not fit, and part of
// a hash, which keeps names apart that would come out the same. It depends on nothing but its arguments, so a call of an
// earlier turn finds its tool and its result, and a cached prompt stays the same.
func Replaced(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	out := append(make([]byte, 0, Max), prefix...)
	for _, r := range name {
		if len(out) == Max-len(suffix) {
			break
		}
		if r < 0x80 && Takes(byte(r)) {
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	return string(out) + suffix
}

// Names maps the names that were replaced back to what they were. Nil until one is.
type Names map[string]string

// Wire is the name to send for name, as [Of] has it. It remembers the way back.
func (n *Names) Wire(name string) string { return n.As(name, Of(name)) }

// As is sent, the name to send for name. It remembers the way back.
func (n *Names) As(name, sent string) string {
	if sent != name {
		if *n == nil {
			*n = make(Names)
		}
		(*n)[sent] = name
	}
	return sent
}

// Back is the name that the request has for a name of the answer.
func (n Names) Back(sent string) string {
	if name, ok := n[sent]; ok {
		return name
	}
	return sent
}
