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

const versionHelp = `punctual version: versions of the program, of Go and of the SDKs inside

Examples:
  punctual version
  punctual version | head -1
`

func (a *app) version() *cli.Command {
	return &cli.Command{
		Name: "version", CustomHelpTemplate: versionHelp, OnUsageError: usageError,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return usagef("version takes no arguments, but there is %q\nnext: punctual version", c.Args().First())
			}
			_, err := io.WriteString(a.stdout, versionText())
			return err
		},
	}
}

// sdks are what the adapters are built on.
var sdks = []struct{ provider, module string }{
	{"azure", "github.com/sashabaranov/go-openai"},
	{"bedrock", "github.com/aws/aws-sdk-go-v2/service/bedrockruntime"},
	{"vertex", "google.golang.org/genai"},
	{"vertexai", "cloud.google.com/go/vertexai"},
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
	for _, sdk := range sdks {
		for _, m := range info.Deps {
			if m.Path == sdk.module {
				fmt.Fprintf(&b, "%-8s %s %s\n", sdk.provider, m.Path, m.Version)
			}
		}
	}
	return b.String()
}
