package azure

import (
	"bytes"
	"encoding/json"
)

var problemHead = []byte(`{"error":`)

// problemBody makes an error body of what a 200 reported: the error itself, or an object around it. Of one that
// is too long the members at its head are kept, as far as they are whole.
func problemBody(payload []byte) []byte {
	if bytes.HasPrefix(payload, problemHead) {
		if len(payload) <= maxProblem {
			return payload
		}
		payload = payload[len(problemHead):]
	}
	if len(payload) > maxProblem {
		payload = headMembers(payload[:maxProblem])
	}
	return append(append(bytes.Clone(problemHead), payload...), '}')
}

// headMembers returns the object that the whole members at the head of a cut one make. What is no object becomes
// an empty one.
func headMembers(cut []byte) []byte {
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
