package secret

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

// Credential is what a call is authorised with: no word of a provider may repeat it. It does not print itself.
type Credential struct{ words []string }

// Of returns the credential that consists of words, of which some may be empty.
func Of(words ...string) Credential {
	var c Credential
	for _, w := range words {
		if len(w) >= minSecret {
			c.words = append(c.words, w)
		}
	}
	return c
}

// String is the same for every credential.
func (c Credential) String() string { return "[the key]" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// shows reports whether a word of the provider gives the credential away, or much of it.
func (c Credential) shows(word string) bool {
	for _, secret := range c.words {
		if strings.Contains(word, secret) || len(word) >= minShare && strings.Contains(secret, word) {
			return true
		}
	}
	return false
}

// Clean returns word, or nothing if it shows the credential: the words of a provider are logged.
func (c Credential) Clean(word string) string {
	if c.shows(word) {
		return ""
	}
	return word
}

// CleanError takes the credential out of what a provider said.
func (c Credential) CleanError(e *llm.Error) {
	e.Code, e.RequestID = c.Clean(e.Code), c.Clean(e.RequestID)
	for i, category := range e.Filtered {
		if c.shows(category) {
			e.Filtered[i] = "other"
		}
	}
	for _, secret := range c.words {
		e.Message = strings.ReplaceAll(e.Message, secret, c.String())
	}
}

// CleanResponse takes the credential out of what a provider said of an answer. The answer itself stays as it is.
func (c Credential) CleanResponse(r *llm.Response) {
	r.ID, r.ModelVersion, r.RawFinish = c.Clean(r.ID), c.Clean(r.ModelVersion), c.Clean(r.RawFinish)
}
