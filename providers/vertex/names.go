package vertex

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxName is the narrower of what the two services document.
const maxName = 64

// names maps the names of tools that were replaced on the wire back to what they were. Nil until one is.
type names map[string]string

// wire returns the name to send for name, and remembers the way back.
func (n *names) wire(name string) string {
	sent := wireName(name)
	if sent != name {
		if *n == nil {
			*n = make(names)
		}
		(*n)[sent] = name
	}
	return sent
}

// back is the name that the request has for a name of the answer.
func (n names) back(sent string) string {
	if name, ok := n[sent]; ok {
		return name
	}
	return sent
}

// wireName is name if it fits ^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$. Otherwise what does not fit becomes _, and part of a hash
// keeps names apart that would come out the same. It depends on nothing but name, so a call of an earlier turn
// finds its tool, and a cached prompt stays the same.
func wireName(name string) string {
	fits := name != "" && len(name) <= maxName && firstNameByte(name[0])
	for i := 0; fits && i < len(name); i++ {
		fits = nameByte(name[i])
	}
	if fits {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	out := make([]byte, 0, maxName)
	if name == "" || !firstNameByte(name[0]) {
		out = append(out, '_')
	}
	for _, r := range name {
		if len(out) == maxName-len(suffix) {
			break
		}
		if r < 0x80 && nameByte(byte(r)) && r != '.' && r != ':' { // not every place that has names takes these two
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	return string(out) + suffix
}

func firstNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
}

func nameByte(b byte) bool {
	return firstNameByte(b) || '0' <= b && b <= '9' || b == '-' || b == '.' || b == ':'
}
