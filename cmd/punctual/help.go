package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"
)

const rootHelp = `punctual: calls to large language models that end on time

  punctual demo                  see it work: simulated clouds, no keys
  punctual generate [PROMPT]     one call to a model
  punctual sim [-- COMMAND]      simulated clouds for anyone's tests
  punctual version               versions of the program and of what it uses
  punctual help [COMMAND|exit]   one command in detail, or the exit statuses

Examples:
  punctual demo
  punctual generate -o triage "Urgent or not? The invoice is wrong."
`

const demoHelp = `punctual demo: three simulated clouds, over their real wire protocols

Azure OpenAI hangs, AWS Bedrock throttles, Google Vertex answers. Nine calls
run through the full stack, with limits of 1/20 of the defaults: hand-over,
cool-down, breaker, retry and deadline. Under each attempt stands what the
server's own log says of it. Exit status 1 if any limit was overrun or a target
was not treated as the text says: it is a self-test, too.

Flags:
  -json        one JSON object for each attempt and call instead of text
  -no-color    accepted; this output has no colour

Examples:
  punctual demo
  punctual demo -json | jq .
`

const generateHelp = `punctual generate: one call to a model

PROMPT is the text to send; "-" or nothing reads it from standard input. The
providers come from the environment, and are asked in this order:
AZURE_OPENAI_ENDPOINT, _API_KEY, _DEPLOYMENT and _API_VERSION;
LLM_BEDROCK_MODEL, AWS_REGION or AWS_DEFAULT_REGION, AWS credentials;
LLM_VERTEX_MODEL, GOOGLE_CLOUD_PROJECT and _LOCATION, ADC; or GOOGLE_API_KEY.

Flags:
  -o NAME        operation: triage, orchestration, generation (default: none)
  -only A,B      ask these targets alone, in this order: azure, bedrock, vertex
  -stream        print the answer as it arrives
  -json          print the whole answer as one JSON object
  -deadline D    end the call after D, for example 20s
  -system TEXT   the system prompt
  -max-tokens N  the longest answer, in tokens
  -demo          ask a simulated cloud; needs no key
  -v             on failure, show the provider's own words (may echo the prompt)

Examples:
  punctual generate -demo "Hello"
  echo "Summarise: ..." | punctual generate -stream -deadline 20s -
`

const simHelp = `punctual sim: simulated clouds as a server for anyone's tests

Azure OpenAI (and OpenAI), Bedrock, Vertex AI (and the Gemini API) on one port.
Without COMMAND it prints the variables that point their clients at it and
serves until it is stopped. With COMMAND it sets them for COMMAND, ends with it
and passes on its exit status. Any key and any model are accepted. Tools are
called once, schemas are kept to. A request chooses a fault with the header
x-punctual-fault; see docs/simulated-clouds.md.

Flags:
  -listen ADDR   address to listen on (default 127.0.0.1:0, a free port)
  -replay FILE   answer every request with the response of a recording
  -fault F       a fault for every request, for example "delay=2s"
  -quiet         do not log requests

Examples:
  punctual sim -- go run .
  punctual sim -listen 127.0.0.1:8080 -fault "status=429,retry-after=2"
`

// topics are what `punctual help` knows.
func topics() map[string]string {
	return map[string]string{
		"demo": demoHelp, "generate": generateHelp, "sim": simHelp, "exit": exitHelp, "version": versionHelp,
	}
}

const versionHelp = `punctual version: versions of the program, of Go and of the SDKs inside

Examples:
  punctual version
  punctual version | head -1
`

func (a *app) help() *cli.Command {
	return &cli.Command{
		Name: "help", CustomHelpTemplate: rootHelp, OnUsageError: usageError,
		Action: func(_ context.Context, c *cli.Command) error {
			text := rootHelp
			if topic := c.Args().First(); topic != "" {
				var ok bool
				if text, ok = topics()[topic]; !ok {
					names := []string{"demo", "generate", "sim", "version", "exit"}
					return usagef("there is no help on %q%s\nnext: punctual help", topic, didYouMean(topic, names))
				}
			}
			_, err := io.WriteString(a.stdout, text)
			return err
		},
	}
}

func (a *app) version() *cli.Command {
	return &cli.Command{
		Name: "version", CustomHelpTemplate: versionHelp, OnUsageError: usageError,
		Action: func(context.Context, *cli.Command) error {
			_, err := io.WriteString(a.stdout, versionText())
			return err
		},
	}
}

// versionText reads what the linker wrote into the program.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "punctual (no build information)\n"
	}
	version, revision := info.Main.Version, ""
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " " + s.Value[:min(12, len(s.Value))]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "punctual %s%s\n%s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, m := range info.Deps {
		if m.Path == "github.com/sashabaranov/go-openai" {
			fmt.Fprintf(&b, "azure: %s %s\n", m.Path, m.Version)
		}
	}
	return b.String()
}
