package bedrock_test

import (
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestAModelThatLeadsElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "..", "a/..", "../a", "a/../b", "a/./b", "./a", "arn:aws:bedrock:us-east-1:1:x/.."} {
		_, err := bedrock.New(&bedrock.Options{Region: "us-east-1", Model: name, BearerToken: "key"})
		badField(t, err, llm.ErrInvalid, "model")
	}
	for _, name := range []string{"a.b", "a..b", ".a", "a.", "...", "a/b"} {
		if _, err := bedrock.New(&bedrock.Options{Region: "us-east-1", Model: name, BearerToken: "key"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
