package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/config"
)

const schemaHelp = `punctual schema: the JSON schema of llm.yaml, for editors and tests

Editors that know YAML's language server complete and check keys by it. The
first line that init prints names the published one.

Examples:
  punctual schema > llm.schema.json
  punctual schema | jq .properties.plans
`

func (a *app) schema() *cli.Command {
	return &cli.Command{
		Name: "schema", CustomHelpTemplate: schemaHelp, OnUsageError: usageError,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return usagef("schema takes no arguments, but there is %q\nnext: punctual schema > llm.schema.json", c.Args().First())
			}
			_, err := a.stdout.Write(config.Schema(punctual.Providers()))
			return err
		},
	}
}
