package azure

import (
	"crypto/sha256"
	"fmt"
)

const maxID = 40

// wireID shortens the id of a call that another provider made to what this one takes. It depends on nothing but
// id, so a call and its result stay together.
func wireID(id string) string {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("call_%x", sum[:16])
}
