package bedrock_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestARequestOverItsBoundIsRefusedBeforeItIsEncoded(t *testing.T) { //nolint:paralleltest // it measures memory
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	long := strings.Repeat("x", 64*mib+1)
	for field, req := range map[string]*llm.Request{
		"system":               {System: long, Messages: hello().Messages},
		"messages[0].parts[0]": {Messages: []llm.Message{llm.User(long)}},
		"extra.bedrock":        {Messages: hello().Messages, Extra: map[string]json.RawMessage{"bedrock": json.RawMessage(long)}},
	} {
		if n := allocated(func() {
			_, err := unary(t, p, req)
			badField(t, err, llm.ErrUnsupported, field, "xxxx")
		}); n > 1 && !raceEnabled {
			t.Errorf("%s: %d MiB were allocated", field, n)
		}
	}
	if len(s.Requests()) > 0 {
		t.Error("something was sent")
	}
}

// TestAContextThatEndsDuringTheEncodingSendsNothing: and asks for no credentials.
func TestAContextThatEndsDuringTheEncodingSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	for from := int32(1); from <= 2; from++ {
		ctx := &adaptertest.Expiring{Context: t.Context(), From: from}
		p := s.provider(t, func(o *bedrock.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				t.Error("credentials were asked for")
				return aws.Credentials{}, nil
			})
		})
		_, err := p.Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrCanceled); !e.NotSent || len(s.Requests()) != 0 || ctx.Looks.Load() > from+3 {
			t.Errorf("%d: %d requests, %d looks: %+v", from, len(s.Requests()), ctx.Looks.Load(), e)
		}
	}
}
