package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
)

// root is the folder of the module.
var root, _ = filepath.Abs("../..")

// block is what a page has between two lines of ```.
type block struct {
	page, language string
	line           int
	text           string
}

func (b *block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// pages are those whose programs, configurations, command lines and output are run here. That their Go compiles and
// their links lead somewhere is tested in folder integration; other pages have tests of their own.
func pages() []string {
	return []string{"README.md", "docs/quickstart.md", "docs/errors.md", "docs/providers/azure.md", "docs/providers/bedrock.md", "docs/providers/vertex.md"}
}

func read(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// blocks are those of a page in one language.
func blocks(t *testing.T, page, language string) []*block {
	t.Helper()
	var found []*block
	var open *block
	for i, line := range strings.Split(read(t, page), "\n") {
		mark, isMark := strings.CutPrefix(line, "```")
		switch {
		case isMark && open == nil:
			open = &block{page: page, language: mark, line: i + 2}
		case isMark:
			if open.language == language {
				found = append(found, open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s: a block is not closed", open)
	}
	return found
}

// overlay makes Go see files that are in no folder: name, from the module's root, to text.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProgramsOfTheDocs: each whole program runs unchanged under punctual sim, as the pages say, without an account.
func TestProgramsOfTheDocs(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	var names []string
	for _, page := range pages() {
		for _, b := range blocks(t, page, "go") {
			if strings.HasPrefix(b.text, "package main") {
				name := fmt.Sprintf("zz_program_%d", len(names))
				files[name+"/main.go"] = b.text
				names = append(names, name)
			}
		}
	}
	if len(names) < 2 {
		t.Fatalf("%d programs", len(names))
	}
	over := overlay(t, files)
	for _, name := range names {
		status, stdout, stderr := sim(t, over, name)
		if status != 0 || strings.TrimSpace(stdout) == "" {
			t.Errorf("%s: %d %q %s", name, status, stdout, stderr)
		}
		checkClean(t, stderr)
	}
	// A program that fails must fail the test: its exit status is passed on.
	broken := overlay(t, map[string]string{"zz_program_x/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(7) }\n"})
	if status, _, _ := sim(t, broken, "zz_program_x"); status == 0 {
		t.Error("the exit status of a program is lost")
	}
}

// sim runs a program of the overlay under punctual sim.
func sim(t *testing.T, over, name string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: os.Getenv, environ: os.Environ()}
	status = a.run(t.Context(), []string{"sim", "-quiet", "--", "go", "-C", root, "run", "-overlay", over, "./" + name})
	return status, out.String(), errOut.String()
}

// TestConfigurationsOfTheDocs: every block of YAML that names targets is loaded, and so are the settings of a target.
func TestConfigurationsOfTheDocs(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range pages() {
		for _, b := range blocks(t, page, "yaml") {
			text := b.text
			if !strings.Contains(text, "targets:") {
				continue
			}
			n++
			conf, err := config.Parse([]byte(text), func(name string) (string, bool) {
				return "https://h", !strings.HasPrefix(name, "LLM_") && !strings.HasPrefix(name, "CIRCUIT_")
			})
			if err != nil {
				t.Errorf("%s: %+v", b, err)
				continue
			}
			chain, err := conf.Build(t.Context(), punctual.Providers(), nil)
			if err != nil || len(conf.Warnings) > 0 {
				t.Errorf("%s: %+v %v", b, err, conf.Warnings)
				continue
			}
			_ = chain.Close(t.Context())
		}
	}
	if n < 2 {
		t.Errorf("%d configurations only", n)
	}
}

// elsewhere are command lines that are not run here, and why.
var elsewhere = map[string]string{
	"go install ./cmd/punctual":                     "writes into a folder of the user's",
	"go run ./cmd/punctual demo":                    "TestDemo runs it",
	"go test ./...":                                 "is what runs this",
	"punctual demo":                                 "TestDemo runs it",
	"punctual sim -- go run .":                      "TestProgramsOfTheDocs runs it",
	`punctual sim -fault "delay=500ms" -- go run .`: "TestProgramsOfTheDocs runs it without a fault",
	"punctual sim -- env AZURE_OPENAI_ENDPOINT=http://127.0.0.1:9 go run .": "TestProgramsOfTheDocs runs it with the address of sim",
}

// TestCommandsOfTheDocs: every other line of a shell is run, beside the llm.yaml of the quickstart. Its targets lead to
// no account, so calls may fail, but not for wrong use or a wrong configuration.
func TestCommandsOfTheDocs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("llm.yaml", []byte(blocks(t, "docs/quickstart.md", "yaml")[0].text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envAzureKey, secret)
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential") // none is there, and nobody is asked
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1") // nothing leaves this machine
	}
	seen := map[string]bool{}
	for _, page := range pages() {
		for _, b := range blocks(t, page, "sh") {
			for line := range strings.Lines(b.text) {
				line = strings.TrimSpace(line)
				seen[line] = true
				if elsewhere[line] != "" {
					continue
				}
				args, ok := strings.CutPrefix(line, "punctual ")
				if !ok {
					t.Errorf("%s: nobody runs %q", b, line)
					continue
				}
				if strings.Contains(args, "-live") || strings.Contains(args, "generate") && !strings.Contains(args, "-demo") {
					args = strings.Replace(args, "generate ", "generate -deadline 300ms ", 1)
				}
				status, _, stderr := command(t.Context(), nil, "", shellWords(args)...)
				if status == exitUsage || status == exitConfig {
					t.Errorf("%s: %q: %d %s", b, line, status, stderr)
				}
				checkClean(t, stderr)
			}
		}
	}
	for line := range elsewhere {
		if !seen[line] {
			t.Errorf("no page has %q any more", line)
		}
	}
}

// shellWords splits a line at blanks outside of quotes.
func shellWords(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

// TestOutputOfTheDocs: what pages print of the demo and of errors is what they print.
func TestOutputOfTheDocs(t *testing.T) {
	t.Parallel()
	golden := func(name string) string {
		data, err := os.ReadFile(filepath.Join(testdata, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	demo := golden("demo.txt")
	calls := 0
	for _, b := range blocks(t, "README.md", "text") {
		if strings.Contains(b.text, "agent node") { // the diagram
			continue
		}
		calls++
		if got := normalised(b.text); !strings.Contains(demo, got) {
			t.Errorf("%s is not what the demo prints:\n%s", b, got)
		}
	}
	if calls != 3 {
		t.Errorf("%d calls of the demo", calls)
	}
	if b := blocks(t, "docs/errors.md", "text")[0]; b.text != golden("error-key.txt") {
		t.Errorf("%s: %s", b, golden("error-key.txt"))
	}
}

// TestEveryKindIsInTheDocs: with the exit status that the command has for it.
func TestEveryKindIsInTheDocs(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/errors.md")
	for kind, status := range statuses {
		row := regexp.MustCompile("(?m)^\\| `" + string(kind) + "` \\|.*\\| ([0-9, ]+) \\|$").FindStringSubmatch(page)
		if row == nil || !slices.Contains(strings.Split(row[1], ", "), fmt.Sprint(status)) {
			t.Errorf("%s: %q, want exit status %d", string(kind), row, status)
		}
	}
	for _, b := range []llm.Bound{
		llm.BoundCaller, llm.BoundExecution, llm.BoundTotal, llm.BoundAttempt, llm.BoundConnect, llm.BoundFirstContent, llm.BoundIdle, llm.BoundEnd,
	} {
		if !strings.Contains(page, "`"+string(b)+"`") {
			t.Errorf("the bound %s is not there", string(b))
		}
	}
}

// TestReadmeIsShort: what a newcomer needs is near the top, and the whole is read in minutes.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text := read(t, "README.md")
	if lines, words := strings.Count(text, "\n"), len(strings.Fields(text)); lines > 250 || words > 1200 {
		t.Errorf("%d lines and %d words", lines, words)
	}
	if before, _, _ := strings.Cut(text, "punctual demo"); strings.Count(before, "\n") >= 25 {
		t.Error("the line that runs the demo is too far down")
	}
	program := blocks(t, "README.md", "go")[0]
	if lines := strings.Count(program.text, "\n"); lines > 25 || program.line >= 70 || strings.Count(program.text, "\t\"") > 5 || strings.Contains(program.text, "_ =") {
		t.Errorf("the program has %d lines, and begins at %d", lines, program.line)
	}
	if !strings.Contains(program.text, "punctual.Open(") {
		t.Error("the program does not use the root package")
	}
}
