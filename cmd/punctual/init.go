package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/config"
)

func (a *app) initialize() *cli.Command {
	return &cli.Command{
		Name: "init", CustomHelpTemplate: initHelp, OnUsageError: usageError,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return usagef("init takes no arguments, but there is %q\nnext: punctual init > llm.yaml", c.Args().First())
			}
			text, found := a.starter()
			if found == 0 {
				fmt.Fprintln(a.stderr, "no provider is set in the environment: all targets are commented out; take the # from one")
			}
			_, err := io.WriteString(a.stdout, text)
			return err
		},
	}
}

// starterHead is what every starter file begins with. Editors complete keys by its first line.
const starterHead = `# yaml-language-server: $schema=` + config.SchemaURL + `
# What this comes to: punctual check.  Every key: docs/configuration.md.

# The limits of each operation. A call may take its attempt limit times its
# targets, three at the most, and never longer than its caller's deadline.
plans:
  default:       {attempt: 60s}
  triage:        {attempt: 30s}   # a short decision at the entry
  orchestration: {attempt: 90s}   # what to do next
  generation:    {attempt: 45s, first_content: 15s, idle: 20s}   # for a reader

# Targets are asked in this order, until one answers.
targets:
`

// starterTarget is one target of the starter file, with the variable that says that its provider is there.
type starterTarget struct{ variable, title, text string }

var starterTargets = []starterTarget{
	{envAzureEndpoint, "Azure OpenAI. In place of api_key: auth: entra (az login, or a managed identity).", `- name: azure
  provider: azure
  endpoint: "${AZURE_OPENAI_ENDPOINT}"
  deployment: "${AZURE_OPENAI_DEPLOYMENT:-gpt-4o}"
  api_version: "${AZURE_OPENAI_API_VERSION:-2024-10-21}"
  api_key: "${AZURE_OPENAI_API_KEY}"
`},
	{envBedrockModel, "AWS Bedrock, with the credentials that AWS's own tools find.", `- name: bedrock
  provider: bedrock
  region: "${AWS_REGION:-us-east-1}"
  model: "${LLM_BEDROCK_MODEL:-us.anthropic.claude-sonnet-4-5-20250929-v1:0}"
`},
	{envVertexModel, "Google Vertex, with Application Default Credentials.", `- name: vertex
  provider: vertex
  project: "${GOOGLE_CLOUD_PROJECT}"
  location: "${GOOGLE_CLOUD_LOCATION:-global}"
  model: "${LLM_VERTEX_MODEL:-gemini-2.5-flash}"
`},
}

// starter is a file to begin with: the providers of the environment, and the others commented out.
func (a *app) starter() (text string, found int) {
	var b strings.Builder
	b.WriteString(starterHead)
	for _, t := range starterTargets {
		lead := "  "
		if a.getenv(t.variable) == "" {
			lead = "  # "
		} else {
			found++
		}
		fmt.Fprintf(&b, "  # %s\n", t.title)
		for line := range strings.Lines(a.asHere(t.text)) {
			b.WriteString(lead + line)
		}
	}
	return b.String(), found
}

// asHere is a target by the variables that this environment has: with the file it must ask what it asks without one.
func (a *app) asHere(text string) string {
	if a.getenv("AWS_REGION") == "" && a.getenv("AWS_DEFAULT_REGION") != "" {
		text = strings.Replace(text, "${AWS_REGION:-", "${AWS_DEFAULT_REGION:-", 1)
	}
	if a.getenv("GOOGLE_CLOUD_PROJECT") != "" {
		return text
	}
	for _, key := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"} { // the Gemini API has no projects
		if a.getenv(key) != "" {
			text = strings.Replace(text, `project: "${GOOGLE_CLOUD_PROJECT}"`, `api_key: "${`+key+`}"`, 1)
			return strings.Replace(text, `  location: "${GOOGLE_CLOUD_LOCATION:-global}"`+"\n", "", 1)
		}
	}
	return text
}
