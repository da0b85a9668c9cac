package main

import (
	"runtime"

	"github.com/urfave/cli/v3"
)

// The colours of a terminal, by what they are for.
const (
	colourGood = "32" // green
	colourBad  = "31" // red
	colourNote = "33" // yellow
)

// paint colours words. It is never all that tells one thing from another: the words say it, too. The zero paint
// leaves them plain.
type paint bool

func (p paint) word(colour, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// paint is for an output: colours go to a terminal only, and to none where somebody does not want them. Older consoles
// of Windows print their codes, so none go there.
func (a *app) paint(c *cli.Command, terminal bool) paint {
	return paint(terminal && a.getenv("NO_COLOR") == "" && !c.Bool("no-color") && runtime.GOOS != "windows")
}
