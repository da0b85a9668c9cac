package azure

import (
	"bytes"
	"encoding/json"
)

// firstChoice looks in a chunk for the choice with index 0, where it is not the first in the list: more than one
// answer was asked for, through [Extra]. It is nil if there is none.
func firstChoice(raw []byte) *choice {
	var c struct {
		Choices json.RawMessage `json:"choices"`
	}
	_ = json.Unmarshal(raw, &c) // it was decoded before
	decoder := json.NewDecoder(bytes.NewReader(c.Choices))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	for range maxChoices {
		var ch choice
		if !decoder.More() || tolerate(decoder.Decode(&ch)) != nil {
			return nil
		}
		if ch.Index == 0 {
			return &ch
		}
	}
	return nil
}
