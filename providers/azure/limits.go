package azure

import (
	"errors"

	"github.com/punctual-llm/punctual/internal/bounds"
)

// maxChoices is how many choices are looked at for the first one. The services make at most 128.
const maxChoices = 128

// errLate is content that comes after the end of the call's context.
var errLate = errors.New("azure: content after the end of the context")

// grow counts n bytes of content, before they are taken.
func (a *answer) grow(n int) error {
	if n == 0 {
		return nil
	}
	if a.late {
		return errLate
	}
	if a.size += n; a.size > bounds.Answer {
		return bounds.TooLarge
	}
	return nil
}
