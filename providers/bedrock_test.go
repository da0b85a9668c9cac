package providers_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	"github.com/punctual-llm/punctual/llmtest/conformance"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

const (
	claudeProfile = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	sharedSecret  = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// signing are credentials that the simulated cloud verifies.
var signing = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: sharedSecret, SessionToken: "session"}, nil
})

func TestBedrockConformance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  string
		change func(*bedrock.Options)
		skip   map[string]string
	}{
		"signed":              {},
		"with a bearer token": {change: func(o *bedrock.Options) { o.Credentials, o.BearerToken = nil, "key-1" }},
		"slow":                {fault: "trickle=61/1ms", skip: map[string]string{"large_text": "1 MB takes longer than the suite has, at 61 bytes a millisecond"}},
		"in pieces":           {fault: "write=61"},
		"compressed":          {fault: "gzip"},
		"of another family":   {change: func(o *bedrock.Options) { o.Model = "us.amazon.nova-2-lite-v1:0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.fault != "" && name != "in pieces" || name == "of another family" {
				adaptertest.Variant(t)
			}
			conformance.Run(t, conformance.Harness{Skip: c.skip, New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
				t.Helper()
				o := &bedrockcloud.Options{AccessKey: "AKIDEXAMPLE", SecretKey: sharedSecret, SessionToken: "session", Token: "key-1", Region: "us-east-1"}
				for _, s := range script {
					o.Script = append(o.Script, bedrockcloud.Turn{Step: s, Fault: c.fault})
				}
				return bedrockOn(t, o, c.change)
			}})
		})
	}
}

// bedrockOn opens a provider on a simulated cloud of its own.
func bedrockOn(t *testing.T, o *bedrockcloud.Options, change ...func(*bedrock.Options)) *bedrock.Provider {
	t.Helper()
	server := bedrockcloud.StartOptions(o)
	t.Cleanup(server.Close)
	return bedrockOnServer(t, server, change...)
}

func bedrockOnServer(t *testing.T, server *bedrockcloud.Server, change ...func(*bedrock.Options)) *bedrock.Provider {
	t.Helper()
	options := &bedrock.Options{Region: "us-east-1", Model: claudeProfile, Endpoint: server.URL, Credentials: signing}
	for _, c := range change {
		if c != nil {
			c(options)
		}
	}
	p, err := bedrock.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Wherever a connection is reset, the call is an error that says so, and the next call is well.
func TestBedrockUnderResets(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct{ unary, stream llm.Kind }{
		"reset=start": {llm.ErrConnection, llm.ErrConnection},
		"reset=half":  {llm.ErrConnection, llm.ErrInterrupted},
		"reset=frame": {llm.ErrConnection, llm.ErrInterrupted},
		"reset=end":   {llm.ErrConnection, llm.ErrInterrupted},
		"cut=start":   {llm.ErrConnection, llm.ErrConnection},
		"cut=half":    {llm.ErrConnection, llm.ErrInterrupted},
		"cut=frame":   {llm.ErrConnection, llm.ErrInterrupted},
		"cut=end":     {llm.ErrConnection, llm.ErrInterrupted},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			step := llmtest.Text("one two three")
			p := bedrockOn(t, &bedrockcloud.Options{Script: []bedrockcloud.Turn{{Step: step, Fault: fault, Count: 2}, {Step: step}}})
			req := &llm.Request{Messages: []llm.Message{llm.User("hello")}}
			var acc llm.Accumulator
			if _, err := p.Generate(t.Context(), req, nil); llm.KindOf(err) != c.unary {
				t.Errorf("unary: want %s, got %+v", c.unary, err)
			}
			resp, err := p.Generate(t.Context(), req, func(e llm.Event) error { acc.Add(e); return nil })
			if llm.KindOf(err) != c.stream || resp.Text() != acc.Response().Text() {
				t.Errorf("stream: want %s, got %+v and %+v", c.stream, err, resp)
			}
			if resp, err := p.Generate(t.Context(), req, nil); err != nil || resp.Text() != "one two three" {
				t.Errorf("after it: %v, %+v", err, resp)
			}
		})
	}
}
