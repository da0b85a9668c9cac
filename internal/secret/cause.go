package secret

import (
	"fmt"
	"io"
)

// Cause returns an error of an SDK as one that may be logged. Its own text may quote the prompt, the provider's words
// or an address with a key in it; errors.Is, errors.As and errors.Unwrap reach it. Nil stays nil.
func Cause(err error) error {
	if err == nil {
		return nil
	}
	return cause{err}
}

type cause struct{ err error }

// Error names the type of the cause.
func (c cause) Error() string {
	return fmt.Sprintf("%T, whose text may hold what must not be logged", c.err)
}

// Unwrap returns the cause.
func (c cause) Unwrap() error { return c.err }

// Format prints Error for every verb: %#v and %d would go through the fields.
func (c cause) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.Error()) }
