package main

import (
	"bytes"
	"regexp"
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

// TestOutputIsPlain: with and without a terminal, with and without NO_COLOR, no output has an escape code.
func TestOutputIsPlain(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Key: "another"}) // a failure that is not tried again
	for _, args := range [][]string{{"help"}, {"version"}, {"generate", "-c", conf, "x"}, {"generate", "-demo", "x"}, {"check", "-c", conf}, {"init"}, {"completion", "zsh"}, {"frob"}, {"sim", "-fault", "x"}} {
		var before string
		for _, noColor := range []string{"", "1"} {
			for _, terminal := range []bool{false, true} {
				var out bytes.Buffer
				a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, terminal: terminal, getenv: func(name string) string {
					if name == "NO_COLOR" {
						return noColor
					}
					return ""
				}}
				a.run(t.Context(), args)
				text := measured.ReplaceAllString(out.String(), "N s")
				if strings.Contains(text, "\x1b") || before != "" && text != before {
					t.Errorf("%q, terminal %t, NO_COLOR=%s: %q, before: %q", args, terminal, noColor, text, before)
				}
				before = text
			}
		}
	}
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
