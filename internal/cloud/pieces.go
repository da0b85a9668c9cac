package cloud

import (
	"iter"
	"unicode/utf8"
)

// Words yields s word by word, each with the blanks around it, as models write text.
func Words(s string) iter.Seq[string] { return split(s, word) }

// Pieces yields s in pieces of about n bytes, never half a rune, as models write arguments.
func Pieces(s string, n int) iter.Seq[string] {
	return split(s, func(s string) int {
		end := min(n, len(s))
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		return end
	})
}

func split(s string, next func(string) int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := s; s != ""; {
			n := next(s)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// word is the length of the first word of s with its blanks.
func word(s string) (n int) {
	for _, inWord := range []bool{false, true, false} {
		for n < len(s) && blank(s[n]) != inWord {
			n++
		}
	}
	return n
}

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
