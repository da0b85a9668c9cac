package azure

import (
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

const (
	// minSecret is the length below which a key is no secret but a placeholder, and part of common words.
	minSecret = 8
	// minShare is the length of a part of the key that is no accident.
	minShare = 16
)

// shows reports whether a word of the provider gives the credential away, or much of it.
func (w *wire) shows(word string) bool {
	return len(w.secret) >= minSecret &&
		(strings.Contains(word, w.secret) || len(word) >= minShare && strings.Contains(w.secret, word))
}

// clean returns word, or nothing if it shows the credential: the words of a provider are logged.
func (w *wire) clean(word string) string {
	if w.shows(word) {
		return ""
	}
	return word
}

// cleanError takes the credential out of what a provider said.
func (w *wire) cleanError(e *llm.Error) {
	e.Code, e.RequestID = w.clean(e.Code), w.clean(e.RequestID)
	for i, category := range e.Filtered {
		if w.shows(category) {
			e.Filtered[i] = "other"
		}
	}
	if len(w.secret) >= minSecret {
		e.Message = strings.ReplaceAll(e.Message, w.secret, "[the key]")
	}
}
