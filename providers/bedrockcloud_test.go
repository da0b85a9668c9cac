package providers_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// The simulated Bedrock before AWS's own SDK: its signer, its decoder, its exceptions.

const nova = "amazon.nova-pro-v1:0"

// bedrockSDK is a client of the SDK for s, without retries; change, if any, sets its credentials.
func bedrockSDK(t *testing.T, s *bedrockcloud.Server, change func(*bedrockruntime.Options)) *bedrockruntime.Client {
	t.Helper()
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")            // the SDK would prefer it
	client := httpx.Client(s.Client(), httpx.Options{}) // or the SDK loses some streams of a server so near
	t.Cleanup(client.CloseIdleConnections)
	o := bedrockruntime.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(s.URL), HTTPClient: client, Retryer: aws.NopRetryer{},
		Credentials: credentials("AKID", "secret/+=", "session"),
	}
	if change != nil {
		change(&o)
	}
	return bedrockruntime.New(o)
}

func credentials(key, secret, session string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: session}, nil
	})
}

func question(model string) *bedrockruntime.ConverseInput {
	return &bedrockruntime.ConverseInput{
		ModelId: aws.String(model),
		Messages: []types.Message{{
			Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "hi <ü>"}},
		}},
	}
}

func startBedrock(t *testing.T, o *bedrockcloud.Options) *bedrockcloud.Server {
	t.Helper()
	s := bedrockcloud.StartOptions(o)
	t.Cleanup(s.Close)
	return s
}

func TestBedrockCloudVerifiesTheSDKsSignature(t *testing.T) {
	s := startBedrock(t, &bedrockcloud.Options{
		AccessKey: "AKID", SecretKey: "secret/+=", SessionToken: "session", Region: "eu-west-1", Expired: []string{"old"},
	})
	const profile = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
	for name, test := range map[string]struct {
		model  string
		change func(*bedrockruntime.Options)
		want   string // code
	}{
		"right":           {nova, nil, ""},
		"ARN":             {profile, nil, ""},
		"another secret":  {nova, func(o *bedrockruntime.Options) { o.Credentials = credentials("AKID", "x", "session") }, "InvalidSignatureException"},
		"another key":     {nova, func(o *bedrockruntime.Options) { o.Credentials = credentials("x", "secret/+=", "session") }, "UnrecognizedClientException"},
		"no session":      {nova, func(o *bedrockruntime.Options) { o.Credentials = credentials("AKID", "secret/+=", "") }, "UnrecognizedClientException"},
		"expired session": {nova, func(o *bedrockruntime.Options) { o.Credentials = credentials("AKID", "secret/+=", "old") }, "ExpiredTokenException"},
		"another region":  {nova, func(o *bedrockruntime.Options) { o.Region = "us-east-1" }, "InvalidSignatureException"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := bedrockSDK(t, s, test.change).Converse(t.Context(), question(test.model))
			code := ""
			if e, ok := errors.AsType[smithy.APIError](err); ok {
				code = e.ErrorCode()
			}
			if code != test.want || test.want == "" && (err != nil || out.StopReason != types.StopReasonEndTurn) {
				t.Errorf("%v, code %q", err, code)
			}
		})
	}
}

func TestBedrockCloudTakesTheSDKsBearerTokenOverTLS(t *testing.T) {
	s := startBedrock(t, &bedrockcloud.Options{TLS: true, Token: "the-token"})
	for token, want := range map[string]string{"the-token": "", "x": "AccessDeniedException"} {
		_, err := bedrockSDK(t, s, func(o *bedrockruntime.Options) {
			o.Credentials = nil
			o.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: token}}
			o.AuthSchemePreference = []string{"httpBearerAuth"}
		}).Converse(t.Context(), question(nova))
		code := ""
		if e, ok := errors.AsType[smithy.APIError](err); ok {
			code = e.ErrorCode()
		}
		if code != want || want == "" && err != nil {
			t.Errorf("%s: %v", token, err)
		}
	}
}

func TestBedrockCloudSpeaksToTheSDK(t *testing.T) {
	fails := llmtest.Text("a b")
	fails.Error, fails.Phase = &llm.Error{Kind: llm.ErrRateLimited}, llmtest.PhaseStream
	s := startBedrock(t, &bedrockcloud.Options{Script: []bedrockcloud.Turn{
		{Step: llmtest.Respond(&llm.Response{Message: llm.Message{Parts: llm.Parts{
			llm.Reasoning{Text: "so", Signature: []byte("sig")},
			llm.Text{Text: "a b"},
			llm.ToolCall{ID: "c", Name: "f", Arguments: `{"x":1}`},
		}}}), Fault: "ping=1ms/3ms"},
		{Step: fails},
		{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrTimeout})},
	}})
	client := bedrockSDK(t, s, nil)
	in := question(nova)
	stream := &bedrockruntime.ConverseStreamInput{ModelId: in.ModelId, Messages: in.Messages}
	got, err := readSDK(t, client, stream)
	const want = "unknown ping|unknown ping|unknown ping|assistant|(so)|(sig)|end|a |b|end|call c f|<{\"x\":1}>|end|tool_use|8 tokens"
	if err != nil || strings.Join(got, "|") != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, strings.Join(got, "|"), want)
	}
	got, err = readSDK(t, client, stream)
	if _, ok := errors.AsType[*types.ThrottlingException](err); !ok || strings.Join(got, "|") != "assistant|a " {
		t.Errorf("%v after %q", err, got)
	}
	_, err = client.Converse(t.Context(), in)
	if e, ok := errors.AsType[*types.ModelTimeoutException](err); !ok || e.ErrorMessage() == "" {
		t.Errorf("%v", err)
	}
}

// readSDK says in a word what each event of a stream brings.
func readSDK(t *testing.T, client *bedrockruntime.Client, in *bedrockruntime.ConverseStreamInput) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, err := client.ConverseStream(ctx, in)
	if err != nil {
		return nil, err
	}
	stream := out.GetStream()
	defer stream.Close()
	var got []string
	for event := range stream.Events() {
		switch e := event.(type) {
		case *types.ConverseStreamOutputMemberMessageStart:
			got = append(got, string(e.Value.Role))
		case *types.ConverseStreamOutputMemberContentBlockStart:
			use := e.Value.Start.(*types.ContentBlockStartMemberToolUse).Value
			got = append(got, "call "+*use.ToolUseId+" "+*use.Name)
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			got = append(got, deltaWord(e.Value.Delta))
		case *types.ConverseStreamOutputMemberContentBlockStop:
			got = append(got, "end")
		case *types.ConverseStreamOutputMemberMessageStop:
			got = append(got, string(e.Value.StopReason))
		case *types.ConverseStreamOutputMemberMetadata:
			got = append(got, strconv.Itoa(int(*e.Value.Usage.TotalTokens))+" tokens")
		case *types.UnknownUnionMember:
			got = append(got, "unknown "+e.Tag)
		}
	}
	return got, stream.Err()
}

func deltaWord(d types.ContentBlockDelta) string {
	switch d := d.(type) {
	case *types.ContentBlockDeltaMemberText:
		return d.Value
	case *types.ContentBlockDeltaMemberToolUse:
		return "<" + *d.Value.Input + ">"
	case *types.ContentBlockDeltaMemberReasoningContent:
		switch r := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			return "(" + r.Value + ")"
		case *types.ReasoningContentBlockDeltaMemberSignature:
			return "(" + r.Value + ")"
		}
	}
	return "?"
}
