package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"google.golang.org/genai"
)

// childSDKs asks with the vendors' own SDKs for Go, which find their clouds by the variables alone.
func childSDKs() int {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return failed(err)
	}
	model := os.Getenv("LLM_BEDROCK_MODEL")
	out, err := bedrockruntime.NewFromConfig(cfg).Converse(ctx, &bedrockruntime.ConverseInput{
		ModelId: &model,
		Messages: []types.Message{{
			Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: prompt}},
		}},
	})
	if err != nil {
		return failed(err)
	}
	if m, ok := out.Output.(*types.ConverseOutputMemberMessage); ok {
		if text, ok := m.Value.Content[0].(*types.ContentBlockMemberText); ok {
			fmt.Fprintln(os.Stdout, text.Value)
		}
	}
	// Without its project and location in the program this SDK asks an endpoint of another address without either, and
	// without a credential.
	vertex := &genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: os.Getenv("GOOGLE_CLOUD_PROJECT"), Location: os.Getenv("GOOGLE_CLOUD_LOCATION"),
	}
	for _, c := range []*genai.ClientConfig{vertex, {Backend: genai.BackendGeminiAPI}} {
		client, err := genai.NewClient(ctx, c)
		if err != nil {
			return failed(err)
		}
		answer, err := client.Models.GenerateContent(ctx, os.Getenv("LLM_VERTEX_MODEL"), genai.Text(prompt), nil)
		if err != nil {
			return failed(err)
		}
		fmt.Fprintln(os.Stdout, answer.Text())
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestGoSDKsFindSimByItsVariables(t *testing.T) {
	t.Parallel()
	env := append(realAccounts(), childVariable+"=sdks")
	p := run(t, env, punctual(t), "sim", "-quiet", "--", self(t))
	p.ends(t, 0)
	const want = "Hello from a simulated Bedrock account.\n" +
		"Hello from a simulated Vertex AI account.\nHello from a simulated Vertex AI account.\n"
	if got := p.stdout.String(); got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
}
