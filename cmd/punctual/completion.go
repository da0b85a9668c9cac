package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
)

// The scripts ask `punctual completion words` for what may stand at the last of the words typed so far. They are
// ours because the library's know neither flags with one dash nor what may follow a flag. No word may reach a shell as
// text of a program: compgen -W, for one, runs what stands in $( ).
const (
	bashCompletion = `# source <(punctual completion bash)
_punctual() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == "${COMP_WORDS[COMP_CWORD]}"* ]]; then COMPREPLY+=("$word"); fi
  done < <(punctual completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _punctual punctual
`
	zshCompletion = `#compdef punctual
# source <(punctual completion zsh)
_punctual() {
  local -a found
  found=("${(@f)$(punctual completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [ "$funcstack[1]" = _punctual ]; then _punctual "$@"; else compdef _punctual punctual; fi
`
	fishCompletion = `# punctual completion fish | source
function __punctual
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  punctual completion words $before[2..-1] "$current" 2>/dev/null
end
complete -c punctual -a '(__punctual)'
`
)

func (a *app) completion() *cli.Command {
	return &cli.Command{
		Name: "completion", CustomHelpTemplate: completionHelp, OnUsageError: usageError,
		SkipFlagParsing: true, // words are anybody's
		Action: func(_ context.Context, c *cli.Command) error {
			scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			shell := c.Args().First()
			text, ok := scripts[shell]
			switch {
			case c.Args().Len() > 1 && shell != "words":
				return usagef("completion is for one shell, but there is %q, too\nnext: punctual completion %s", c.Args().Get(1), shell)
			case ok:
			case shell == "words":
				for _, word := range a.words(c.Root(), c.Args().Tail()) {
					text += word + "\n"
				}
			case shell == "-h", shell == "--help":
				text = completionHelp
			case shell == "":
				return usagef("completion wants the name of a shell\nnext: punctual completion bash, zsh or fish")
			default:
				return usagef("there is no completion for %q%s\nnext: use bash, zsh or fish", shell, didYouMean(shell, []string{"bash", "zsh", "fish"}))
			}
			_, err := io.WriteString(a.stdout, text)
			return err
		},
	}
}

// words are what may stand in place of the last of the words typed so far. None lets the shell offer files.
func (a *app) words(root *cli.Command, typed []string) []string {
	if len(typed) == 0 {
		typed = []string{""}
	}
	before, current := typed[:len(typed)-1], typed[len(typed)-1]
	if len(before) == 0 {
		return starting(current, commandNames(root))
	}
	i := slices.IndexFunc(root.Commands, func(c *cli.Command) bool { return c.Name == before[0] })
	if i < 0 {
		return nil
	}
	command := root.Commands[i]
	if values, ok := a.values(before, current); ok {
		return values
	}
	switch {
	case strings.HasPrefix(current, "-"):
		return starting(strings.Replace(current, "--", "-", 1), flagNames(command))
	case command.Name == "help":
		return starting(current, topicNames())
	case command.Name == "completion":
		return starting(current, []string{"bash", "zsh", "fish"})
	default:
		return nil
	}
}

// values are what may follow the flag before the word; ok is false if there is none that has known values.
func (a *app) values(before []string, current string) (words []string, ok bool) {
	switch strings.TrimLeft(before[len(before)-1], "-") {
	case "o":
		return starting(current, harmless(operationNames(a.plansNear(before)))), true
	case "only":
		head, last := "", current
		if i := strings.LastIndexByte(current, ','); i >= 0 {
			head, last = current[:i+1], current[i+1:]
		}
		for _, name := range starting(last, targetNames(a.plansNear(before))) {
			words = append(words, head+name)
		}
		return words, true
	default:
		return nil, false
	}
}

// harmless are the names that mean nothing else to a shell. A file may come from anybody, and the name of an operation
// has nearly any sign in it.
func harmless(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.ContainsFunc(name, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@+", r)
		})
	})
}

// plansNear is the configuration that the words mean, nil if there is none that can be read.
func (a *app) plansNear(before []string) *config.Config {
	file := ""
	for i := range before[:len(before)-1] {
		if strings.TrimLeft(before[i], "-") == "c" {
			file = before[i+1]
		}
	}
	conf, err := config.Load(a.configPath(file))
	if err != nil {
		return nil
	}
	return conf
}

// operationNames are those with a plan, the fixed ones first.
func operationNames(conf *config.Config) []string {
	names := []string{"default", string(llm.Triage), string(llm.Orchestration), string(llm.Generation)}
	if conf == nil {
		return names
	}
	var own []string
	for op := range conf.Plans.Operations {
		if !slices.Contains(names, string(op)) {
			own = append(own, string(op))
		}
	}
	slices.Sort(own)
	return append(names, own...)
}

func targetNames(conf *config.Config) []string {
	if conf == nil {
		return nil
	}
	names := make([]string, len(conf.Targets))
	for i := range conf.Targets {
		names[i] = conf.Targets[i].Name
	}
	return names
}

func flagNames(c *cli.Command) []string {
	var names []string
	for _, f := range c.Flags {
		for _, name := range f.Names() {
			if name != "help" {
				names = append(names, "-"+name)
			}
		}
	}
	return names
}

// starting are the words that begin as that.
func starting(begin string, words []string) []string {
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, begin) {
			found = append(found, w)
		}
	}
	return found
}

const completionHelp = `punctual completion: a script that completes commands, flags and names

It completes commands and flags, and behind -o and -only the operations and
targets of llm.yaml, or of the file behind -c. There is one for bash, one for
zsh and one for fish.

Examples:
  source <(punctual completion bash)
  punctual completion fish > ~/.config/fish/completions/punctual.fish
`
