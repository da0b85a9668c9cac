package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const (
	maxName = 64
	maxID   = 40
)

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

// wireName is name if it fits ^[a-zA-Z0-9_-]{1,64}$. Otherwise what does not fit becomes _, and part of a hash
// keeps names apart that would come out the same. It depends on nothing but name, so a call of an earlier turn
// finds its tool, and a cached prompt stays the same.
func wireName(name string) string {
	fits := name != "" && len(name) <= maxName
	for i := 0; fits && i < len(name); i++ {
		fits = nameByte(name[i])
	}
	if fits {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	out := make([]byte, 0, maxName)
	for _, r := range name {
		if len(out) == maxName-len(suffix) {
			break
		}
		if r < 0x80 && nameByte(byte(r)) {
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	return string(out) + suffix
}

func nameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// wireID shortens the id of a call that another provider made to what this one takes. It depends on nothing but
// id, so a call and its result stay together.
func wireID(id string) string {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("call_%x", sum[:16])
}
