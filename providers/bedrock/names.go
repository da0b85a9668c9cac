package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// maxName is the length of a tool's name and of a call's id.
const maxName = 64

// names maps what the wire does not take to what it takes, and back.
type names struct{ toOurs map[string]string }

// wire is the name or id to send.
func (n *names) wire(name string) string {
	wire := wireName(name)
	if wire != name {
		if n.toOurs == nil {
			n.toOurs = make(map[string]string, 1)
		}
		n.toOurs[wire] = name
	}
	return wire
}

// back is the name that the request had.
func (n *names) back(wire string) string {
	if ours, ok := n.toOurs[wire]; ok {
		return ours
	}
	return wire
}

// wireName replaces a name that the wire does not take. It depends on nothing but name, so a call and its result,
// and the turns of a conversation, stay together.
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

// documentName keeps of a name what the wire takes, and makes it unlike those before it: two documents of one name
// are refused.
func (e *encoder) documentName(name string) string {
	var b strings.Builder
	blank := true
	for _, r := range name {
		switch {
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)), strings.ContainsRune("-()[]", r):
			b.WriteRune(r)
			blank = false
		case !blank:
			b.WriteByte(' ')
			blank = true
		}
	}
	clean := strings.TrimSpace(b.String())
	if len(clean) > 190 {
		clean = strings.TrimSpace(clean[:190])
	}
	if clean == "" {
		clean = "document"
	}
	if e.documents == nil {
		e.documents = make(map[string]int, 1)
	}
	key := strings.ToLower(clean)
	e.documents[key]++
	if n := e.documents[key]; n > 1 {
		return e.documentName(clean + " (" + itoa(n) + ")")
	}
	return clean
}
