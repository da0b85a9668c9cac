package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCompletion: commands, flags, operations and targets of the file, by what stands before the cursor.
func TestCompletion(t *testing.T) {
	t.Parallel()
	conf := file(t, `plans: {summary: {attempt: 20s}}
targets:
  - {name: azure, provider: openai, model: m}
  - {name: azure-mini, provider: openai, model: m}
  - {name: vertex, provider: openai, model: m}
`)
	for typed, want := range map[string]string{
		"":                                  "demo generate check init sim schema completion version help",
		"g":                                 "generate",
		"generate -s":                       "-stream -schema -session -system",
		"generate --s":                      "-stream -schema -session -system",
		"generate -c " + conf + " -o ":      "default triage orchestration generation summary",
		"generate -c " + conf + " -o s":     "summary",
		"generate -o t":                     "triage",
		"generate -c " + conf + " -only ":   "azure azure-mini vertex",
		"generate -c " + conf + " -only v,": "v,azure v,azure-mini v,vertex",
		"generate -c " + conf + " -only vertex,azure-": "vertex,azure-mini",
		"check -":        "-c -live -json -no-color -v -h",
		"help e":         "exit",
		"completion ":    "bash zsh fish",
		"generate -c x":  "",
		"generate hello": "",
		"frob -":         "",
	} {
		words := strings.Split(typed, " ")
		status, stdout, stderr := command(t.Context(), nil, "", append([]string{"completion", "words"}, words...)...)
		if got := strings.Join(strings.Fields(stdout), " "); status != 0 || got != want || stderr != "" {
			t.Errorf("%q: %d %q, want %q; %s", typed, status, got, want, stderr)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}} {
		status, stdout, stderr := command(t.Context(), nil, "", "completion", shell)
		if status != 0 || stderr != "" || !strings.Contains(stdout, "punctual completion words") {
			t.Errorf("%s: %d %s", shell, status, stderr)
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), check[0], append(check[1:], file(t, stdout))...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", shell, err, out)
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "bsh"}} {
		status, _, stderr := command(t.Context(), nil, "", args...)
		if status != exitUsage || !strings.Contains(stderr, "bash") {
			t.Errorf("%q: %d %s", args, status, stderr)
		}
	}
}

// TestCompletionInBash types into a real bash.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	script := bashCompletion + `
punctual() { [ "$1 $2" = "completion words" ] && shift 2 && printf '%s\n' "$#" "last:$#:${!#}" azure,vertex; }
COMP_WORDS=(punctual generate -only az) COMP_CWORD=3
_punctual
printf '%s\n' "${COMPREPLY[@]}"
`
	out, err := exec.CommandContext(t.Context(), bash, "--norc", "-c", script).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "azure,vertex" {
		t.Errorf("%v %q", err, out)
	}
}

// TestCompletionRunsNothing: a file may come from anybody, and completing a word may not run what stands in it.
func TestCompletionRunsNothing(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, sign := range []string{"$(touch ran)", "`touch ran`", "$HOME", "a;touch ran", "a b", "a>ran", "~", "*", "a'b", `a"b`, `a\\b`} {
		t.Run(sign, func(t *testing.T) {
			t.Parallel()
			conf := file(t, fmt.Sprintf("plans: {%q: {attempt: 5s}, fine: {attempt: 5s}}\ntargets: [{name: a, provider: openai, model: m}]\n", sign))
			_, words, _ := command(t.Context(), nil, "", "completion", "words", "generate", "-c", conf, "-o", "")
			refused := strings.Contains(sign, "${") // the file as a whole, for a variable in the name of a plan
			if strings.Contains(words, "fine\n") == refused || strings.Contains(words, sign) {
				t.Errorf("offered %q", words)
			}
			// The script itself runs nothing either, whatever it is given.
			script := bashCompletion + `
punctual() { printf '%s\n' "$WORD"; }
COMP_WORDS=(punctual generate -o "") COMP_CWORD=3
_punctual
printf '%s' "${COMPREPLY[0]}"
`
			c := exec.CommandContext(t.Context(), bash, "--norc", "-c", script)
			c.Dir, c.Env = t.TempDir(), append(os.Environ(), "WORD="+sign)
			out, err := c.CombinedOutput()
			ran, _ := os.ReadDir(c.Dir)
			if err != nil || string(out) != sign || len(ran) > 0 {
				t.Errorf("%v %q, and made %v", err, out, ran)
			}
		})
	}
}
