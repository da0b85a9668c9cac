package vertex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

const (
	aKey   = "AIza-CANARY-0123456789-abcdefgh"
	aToken = "ya29.CANARY-0123456789-abcdefgh"
)

func withKey(o *vertex.Options) { o.APIKey = aKey }

// TestNoWordOfTheServiceRepeatsTheCredential: codes, ids and categories are logged.
func TestNoWordOfTheServiceRepeatsTheCredential(t *testing.T) {
	t.Parallel()
	for secret, change := range map[string]func(*vertex.Options){
		aKey: withKey, aToken: tokens(func(context.Context) (string, error) { return aToken, nil }),
	} {
		for name, body := range map[string]string{
			"status":     `{"error":{"status":"` + secret + `","message":"m"}}`,
			"code":       `{"error":{"code":"bad-` + secret + `","message":"m"}}`,
			"most of it": `{"error":{"status":"` + secret[:len(secret)-4] + `","message":"m"}}`,
			"message":    `{"error":{"status":"x","message":"no such key: ` + secret + `"}}`,
			"answer":     `{"responseId":"` + secret + `","modelVersion":"` + secret + `","candidates":[{"finishReason":"` + secret + `"}],"usageMetadata":{"promptTokenCount":1}}`,
			"blocked":    `{"promptFeedback":{"blockReason":"` + secret + `","blockReasonMessage":"` + secret + `"}}`,
			"category": `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"SAFETY","safetyRatings":[{"blocked":true,"category":"` + secret +
				`"},{"blocked":true,"category":"c","probability":"` + secret + `"}]}]}`,
		} {
			for _, status := range []int{200, 400, 403, 429} {
				p := serve(t, reply(status, body, "X-Request-Id", secret)).provider(t, change)
				_, err := unary(t, p, hello())
				_, _, streamErr := stream(t, p, hello())
				silent(t, fmt.Sprintf("%s, %d", name, status), err)
				silent(t, fmt.Sprintf("%s, %d, streamed", name, status), streamErr)
			}
		}
	}
}

func TestTheWordsOfTheServiceAreInNoTextOfAnError(t *testing.T) {
	t.Parallel()
	p := serve(t, reply(429, `{"error":{"code":429,"message":"CANARY","status":"RESOURCE_EXHAUSTED"}}`)).provider(t)
	_, unaryErr := unary(t, p, hello())
	_, _, streamErr := stream(t, p, hello())
	for _, err := range []error{unaryErr, streamErr} {
		e := failed(t, err, llm.ErrRateLimited)
		if text := fmt.Sprintf("%v %+v %v %+v %#v", e, e, e.Err, e.Err, e.Err); strings.Contains(text, "CANARY") || e.Message != "CANARY" {
			t.Errorf("%s", text)
		}
		if sdk, ok := errors.AsType[genai.APIError](err); !ok || sdk.Code != 429 || sdk.Message != "CANARY" {
			t.Errorf("the SDK's own error is not there: %v", err)
		}
	}
}

func TestAProviderDoesNotPrintItsKey(t *testing.T) {
	t.Parallel()
	p := serve(t, reply(200, ok)).provider(t, withKey)
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(format, p); strings.Contains(s, "CANARY") {
			t.Errorf("%s: %s", format, s)
		}
	}
}
