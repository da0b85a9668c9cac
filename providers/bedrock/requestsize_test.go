package bedrock_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestARequestOverItsBoundIsRefusedBeforeItIsEncoded(t *testing.T) { //nolint:paralleltest // it measures memory
	s := serve(t, reply(200, ok))
	adaptertest.RefusesTooLarge(t, s.Server, s.provider(t), "bedrock")
}

// TestAContextThatEndsDuringTheEncodingSendsNothing: and asks for no credentials.
func TestAContextThatEndsDuringTheEncodingSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	adaptertest.EndsWhileEncoding(t, s.Server, s.provider(t, func(o *bedrock.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			t.Error("credentials were asked for")
			return aws.Credentials{}, nil
		})
	}))
}
