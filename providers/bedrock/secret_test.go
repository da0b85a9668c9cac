package bedrock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

const (
	aBearer  = "ABSK-CANARY-0123456789-abcdefgh"
	aSecret  = "wJalr-CANARY-EMI-K7MDENG-bPxRfiCY"
	aSession = "IQoJb-CANARY-3JpZ2luX2VjEXAMPLE-long"
)

func bearer(o *bedrock.Options) { o.Credentials, o.BearerToken = nil, aBearer }

func signed(o *bedrock.Options) {
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: aSecret, SessionToken: aSession}, nil
	})
}

// TestNoWordOfTheServiceRepeatsTheCredential: codes, ids and categories are logged.
func TestNoWordOfTheServiceRepeatsTheCredential(t *testing.T) {
	t.Parallel()
	for secret, change := range map[string]func(*bedrock.Options){aBearer: bearer, aSecret: signed, aSession: signed} {
		for name, body := range map[string]string{
			"type":       `{"__type":"` + secret + `","message":"m"}`,
			"code":       `{"code":"bad-` + secret + `","message":"m"}`,
			"most of it": `{"code":"` + secret[:len(secret)-4] + `","message":"m"}`,
			"message":    `{"message":"no such key: ` + secret + `"}`,
			"answer": `{"output":{"message":{"content":[]}},"stopReason":"` + secret + `","usage":{"inputTokens":1},
				"trace":{"promptRouter":{"invokedModelId":"` + secret + `"}}}`,
			"guardrail": answer(`{"text":"no"}`, "guardrail_intervened", `,"trace":{"guardrail":{"inputAssessment":{"g":{
				"topicPolicy":{"topics":[{"name":"`+secret+`","action":"BLOCKED"}]},"contentPolicy":{"filters":[{"type":"`+secret+`","action":"BLOCKED"}]}}}}}`),
		} {
			for _, status := range []int{200, 400, 403, 429} {
				p := serve(t, reply(status, body, "X-Amzn-Requestid", secret, "X-Amzn-Errortype", secret)).provider(t, change)
				_, err := unary(t, p, hello())
				_, _, streamErr := stream(t, p, hello())
				silent(t, fmt.Sprintf("%s, %d", name, status), err)
				silent(t, fmt.Sprintf("%s, %d, streamed", name, status), streamErr)
			}
		}
		p := serve(t, events(begin(), text(0, "a"), exception(secret, `{"message":"`+secret+`"}`))).provider(t, change)
		_, _, err := stream(t, p, hello())
		silent(t, "exception", err)
	}
}

func TestTheWordsOfTheServiceAreInNoTextOfAnError(t *testing.T) {
	t.Parallel()
	for _, p := range []*bedrock.Provider{
		serve(t, reply(429, `{"message":"CANARY"}`, "X-Amzn-Errortype", "ThrottlingException")).provider(t),
		serve(t, events(exception("throttlingException", `{"message":"CANARY"}`))).provider(t),
	} {
		_, _, err := stream(t, p, hello())
		e := failed(t, err, llm.ErrRateLimited)
		if text := fmt.Sprintf("%v %+v %v %+v %#v", e, e, e.Err, e.Err, e.Err); strings.Contains(text, "CANARY") || e.Message != "CANARY" {
			t.Errorf("%s", text)
		}
		if sdk, ok := errors.AsType[smithy.APIError](err); !ok || sdk.ErrorMessage() != "CANARY" {
			t.Errorf("the SDK's own error is not there: %v", err)
		}
	}
}

func TestAProviderDoesNotPrintItsKey(t *testing.T) {
	t.Parallel()
	p := serve(t, reply(200, ok)).provider(t, bearer)
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(format, p); strings.Contains(s, "CANARY") {
			t.Errorf("%s: %s", format, s)
		}
	}
}
