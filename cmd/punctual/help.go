package main

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v3"
)

const rootHelp = `punctual: calls to large language models that end on time

  punctual demo                  see it work: simulated clouds, no keys
  punctual generate [PROMPT]     one call to a model
  punctual check                 what your llm.yaml comes to, and what is wrong
  punctual init                  an llm.yaml to begin with
  punctual sim [-- COMMAND]      simulated clouds for anyone's tests
  punctual schema                the JSON schema of llm.yaml, for editors
  punctual completion SHELL      a script that completes commands and names
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
  -no-color    no colour on a terminal, as with NO_COLOR

Examples:
  punctual demo
  punctual demo -json | jq .
`

const generateHelp = `punctual generate: one call to a model

It sends PROMPT, or standard input, to targets of llm.yaml or the environment.

Flags:
  -c FILE        the configuration (default: llm.yaml, if it is there)
  -o NAME        operation: triage, orchestration, generation, or the file's
  -only A,B      ask these targets alone, in this order
  -stream        print the answer as it arrives, as a terminal does anyway
  -json          print the whole answer as one JSON object, an error too
  -lines         answer every line of standard input; rereads a changed llm.yaml
  -schema FILE   the answer is JSON that keeps this schema
  -file FILE     send a file too: text, picture, PDF, sound; may be repeated
  -session ID    calls of one session stay with one target of a pool
  -deadline D    end the call after D, for example 20s
  -system TEXT   the system prompt
  -max-tokens N  the longest answer, in tokens
  -demo          ask a simulated cloud; needs no key
  -no-color      no colour on a terminal, as with NO_COLOR
  -v             show the trail as it goes, and on failure the provider's words

Examples:
  punctual generate -demo "Hello"
  cat mail.txt | punctual generate -o triage -deadline 20s -file invoice.pdf -
`

const checkHelp = `punctual check: what a configuration comes to

It prints the plans with their limits, the longest a call can take, what a
target that hangs costs, and the credentials that each target needs. Of what
is wrong it says where it is written; of what cannot work it warns. Without
-live nothing is sent.

Flags:
  -c FILE   the configuration (default: llm.yaml, or else the environment)
  -live     send one short call to each target, and say what it answers
  -json     one JSON object for each plan, target, warning and answer
  -no-color no colour on a terminal, as with NO_COLOR
  -v        where each value comes from: file:line:column, variable, default

Examples:
  punctual check
  LLM_EXECUTION_TIME_LIMIT_SECONDS=120 punctual check -c prod.yaml -v
`

const initHelp = `punctual init: an llm.yaml to begin with

It prints a configuration with comments for the providers that it finds in
the environment: Azure by AZURE_OPENAI_ENDPOINT, _API_KEY and _DEPLOYMENT,
Bedrock by LLM_BEDROCK_MODEL and AWS_REGION or AWS_DEFAULT_REGION, Vertex by
LLM_VERTEX_MODEL and GOOGLE_CLOUD_PROJECT, or GOOGLE_API_KEY or
GEMINI_API_KEY. The others stand in it, too, commented out. Keys stay in
their variables.

Examples:
  punctual init > llm.yaml
  punctual init | less
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
		"demo": demoHelp, "generate": generateHelp, "check": checkHelp, "init": initHelp, "sim": simHelp, "schema": schemaHelp,
		"completion": completionHelp, "version": versionHelp, "exit": exitHelp,
	}
}

func topicNames() []string { return slices.Sorted(maps.Keys(topics())) }

func (a *app) help() *cli.Command {
	return &cli.Command{
		Name: "help", CustomHelpTemplate: rootHelp, OnUsageError: usageError,
		Action: func(_ context.Context, c *cli.Command) error {
			text := rootHelp
			if c.Args().Len() > 1 {
				return usagef("help is on one thing, but there are %d\nnext: punctual help %s", c.Args().Len(), c.Args().First())
			}
			if topic := c.Args().First(); topic != "" {
				var ok bool
				if text, ok = topics()[topic]; !ok {
					return usagef("there is no help on %q%s\nnext: punctual help", topic, didYouMean(topic, topicNames()))
				}
			}
			_, err := io.WriteString(a.stdout, text)
			return err
		},
	}
}
