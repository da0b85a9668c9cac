package main

import (
	"bytes"
	"regexp"
	"runtime"
	"strings"
	"testing"

	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	for topic := range topics() {
		status, stdout, stderr := command(t.Context(), nil, "", "help", topic)
		if status != 0 || stderr != "" || strings.Count(stdout, "\n") > 24 {
			t.Errorf("help %s: %d, %d lines, %q", topic, status, strings.Count(stdout, "\n"), stderr)
		}
		for _, line := range strings.Split(stdout, "\n") {
			if len(line) > 80 {
				t.Errorf("help %s: longer than 80 columns: %q", topic, line)
			}
		}
		if topic == "exit" {
			continue
		}
		if _, examples, ok := strings.Cut(stdout, "Examples:\n"); !ok || strings.Count(examples, "punctual") < 2 {
			t.Errorf("help %s has no two examples", topic)
		}
		for _, flag := range []string{"-h", "--help"} {
			if _, out, _ := command(t.Context(), nil, "", topic, flag); out != stdout {
				t.Errorf("%s %s differs from help %s: %q", topic, flag, topic, out)
			}
		}
	}
	for _, args := range [][]string{{}, {"help"}, {"-h"}, {"--help"}} {
		if status, stdout, _ := command(t.Context(), nil, "", args...); status != 0 || stdout != rootHelp {
			t.Errorf("%q: %d %q", args, status, stdout)
		}
	}
}

// TestHelpFits: all that help prints fits 24 lines of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	texts := topics()
	texts["punctual"] = rootHelp
	for name, text := range texts {
		if n := strings.Count(text, "\n"); n > 24 {
			t.Errorf("%s: %d lines", name, n)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 || strings.Contains(line, "\t") {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
	}
}

// TestOutputIsPlain: with and without a terminal output is the same text; colour is in it on a terminal only, and where
// nobody is against it.
func TestOutputIsPlain(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Key: "another"}) // a failure that is not tried again
	warns := file(t, "targets: [{name: a, provider: openai, model: o3-mini}]\nplans: {default: {first_content: 1s}}\n")
	coloured := runtime.GOOS != "windows"
	for _, tt := range []struct {
		args   []string
		colour string // what is in it on a terminal
	}{
		{[]string{"help"}, ""},
		{[]string{"version"}, ""},
		{[]string{"generate", "-c", conf, "x"}, "\x1b[31mauth (401)\x1b[0m\n"},
		{[]string{"generate", "-c", conf, "-v", "x"}, "\x1b[31mauth (401)\x1b[0m\n"},
		{[]string{"generate", "-demo", "x"}, ""},
		{[]string{"generate", "-demo", "-v", "-json", "x"}, "\x1b[32manswered, 331 tokens\x1b[0m\n"},
		{[]string{"check", "-c", warns}, "\x1b[33mwarning:\x1b[0m plan default"},
		{[]string{"init"}, ""},
		{[]string{"completion", "zsh"}, ""},
		{[]string{"frob"}, ""},
		{[]string{"sim", "-fault", "x"}, ""},
	} {
		plain := coloursOf(t, tt.args, false, "")
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%q: not plain: %q", tt.args, plain)
		}
		if got := coloursOf(t, tt.args, true, "1"); got != plain {
			t.Errorf("%q with NO_COLOR: %q, before: %q", tt.args, got, plain)
		}
		onTerminal := coloursOf(t, tt.args, true, "")
		if got := escapes.ReplaceAllString(onTerminal, ""); got != plain {
			t.Errorf("%q on a terminal: %q, before: %q", tt.args, got, plain)
		}
		if strings.Contains(onTerminal, "\x1b") != (coloured && tt.colour != "") || coloured && !strings.Contains(onTerminal, tt.colour) {
			t.Errorf("%q lacks %q: %q", tt.args, tt.colour, onTerminal)
		}
		if tt.colour != "" {
			without := append([]string{tt.args[0], "-no-color"}, tt.args[1:]...)
			if got := coloursOf(t, without, true, ""); got != plain {
				t.Errorf("%q: %q, before: %q", without, got, plain)
			}
		}
	}
}

// escapes are the codes of colours, overwritten a line that is written over, with what takes it away.
var (
	escapes     = regexp.MustCompile(`\x1b\[\d+m`)
	overwritten = regexp.MustCompile(`\r[^\n]*\r`)
)

// coloursOf is what a command prints, times and the objects of -json left out.
func coloursOf(t *testing.T, args []string, terminal bool, noColor string) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, terminal: terminal, errTerminal: terminal, getenv: func(name string) string {
		if name == "NO_COLOR" {
			return noColor
		}
		return ""
	}}
	a.run(t.Context(), args)
	var text strings.Builder
	for line := range strings.Lines(normalised(overwritten.ReplaceAllString(out.String(), ""))) {
		if !strings.HasPrefix(line, "{") {
			text.WriteString(line)
		}
	}
	return text.String()
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	a := &app{}
	for _, c := range a.root().Commands {
		for _, f := range c.Flags {
			name := f.Names()[0]
			if name != "help" && !regexp.MustCompile(`(?m)^  -`+name+`\b`).MatchString(topics()[c.Name]) {
				t.Errorf("help %s says nothing of -%s", c.Name, name)
			}
		}
	}
}
