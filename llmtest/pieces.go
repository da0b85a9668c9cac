package llmtest

import (
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// argumentBytes is about how much of a tool call's arguments goes into one event.
const argumentBytes = 8

// events yields the events that stream parts. Joined, they are the parts; Media and Opaque have none.
func events(parts llm.Parts, yield func(llm.Event) bool) {
	for i, part := range parts {
		more := true
		switch p := part.(type) {
		case llm.Text:
			more = pieces(llm.Event{Kind: llm.EventText, Index: i}, p.Text, word, yield)
		case llm.Reasoning:
			more = pieces(llm.Event{Kind: llm.EventReasoning, Index: i}, p.Text, word, yield)
		case llm.ToolCall:
			more = yield(llm.Event{Kind: llm.EventToolCall, Index: i, ID: p.ID, Name: p.Name}) &&
				pieces(llm.Event{Kind: llm.EventToolArguments, Index: i}, p.Arguments, chunk, yield)
		}
		if !more {
			return
		}
	}
}

// pieces yields s in the pieces that next measures. It reports whether the consumer wants more.
func pieces(e llm.Event, s string, next func(string) int, yield func(llm.Event) bool) bool {
	for s != "" {
		n := next(s)
		e.Delta, s = s[:n], s[n:]
		if !yield(e) {
			return false
		}
	}
	return true
}

// word is the length of the first word of s with the blanks in front of it and behind it.
func word(s string) int {
	i := 0
	for i < len(s) && blank(s[i]) {
		i++
	}
	for i < len(s) && !blank(s[i]) {
		i++
	}
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// chunk is argumentBytes, or what s has, and never half a rune.
func chunk(s string) int {
	n := min(argumentBytes, len(s))
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}
