package bedrock

import (
	"strings"
	"unicode"
)

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
