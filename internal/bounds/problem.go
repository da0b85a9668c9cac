package bounds

import (
	"bytes"
	"encoding/json"
)

var errorHead = []byte(`{"error":`)

// ErrorBody makes the body of an error, of bounded length, of what a 200 reported: the error itself, or an object
// around it.
func ErrorBody(reported []byte) []byte {
	if inner, ok := bytes.CutPrefix(reported, errorHead); ok {
		if len(reported) <= Problem {
			return reported
		}
		reported = inner[:len(inner)-1] // without the outer bracket
	}
	return append(append(bytes.Clone(errorHead), Head(reported)...), '}')
}

// Head returns a JSON value that a provider reported as an error, if it is no longer than Problem. Of a longer one
// the members at its head are kept, as far as they are whole; one that is no object becomes an empty one.
func Head(problem []byte) []byte {
	if len(problem) <= Problem {
		return problem
	}
	cut := problem[:Problem]
	kept := []byte{'{'}
	decoder := json.NewDecoder(bytes.NewReader(cut))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return []byte("{}")
	}
	for {
		key, err := decoder.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			break
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil || decoder.InputOffset() == int64(len(cut)) { // half a number looks whole
			break
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		quoted, _ := json.Marshal(name) // a string has no way to fail
		kept = append(append(append(kept, quoted...), ':'), value...)
	}
	return append(kept, '}')
}
