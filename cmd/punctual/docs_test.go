package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
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

// pages are all pages of the repository, and those whose blocks are run here. docs/deadlines.md
// and docs/configuration.md have tests of their own.
func pages(t *testing.T) (all, run []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(name))
		}
	}
	return all, []string{"README.md", "docs/quickstart.md", "docs/errors.md", "docs/providers/azure.md", "docs/providers/bedrock.md", "docs/providers/vertex.md"}
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
	_, run := pages(t)
	for _, page := range run {
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

// importPaths are the packages that fragments name.
var importPaths = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "http": "net/http", "os": "os", "signal": "os/signal",
	"syscall": "syscall", "time": "time", "slog": "log/slog",
	"punctual": "", "llm": "llm", "llmtest": "llmtest", "fallback": "fallback", "policy": "policy", "config": "config", "deadline": "deadline",
	"azure": "providers/azure", "entra": "providers/azure/entra", "bedrock": "providers/bedrock", "vertex": "providers/vertex",
	"vertexai": "providers/vertex/vertexai",
}

// given are what a fragment may use as if it stood in a program.
const given = `ctx context.Context, client *punctual.Client, req *llm.Request, mux *http.ServeMux, w http.ResponseWriter,
	endpoint string, hangUps chan os.Signal, picture, document []byte`

// TestFragmentsOfTheDocs: every other block of Go compiles inside a function.
func TestFragmentsOfTheDocs(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	_, run := pages(t)
	for _, page := range run {
		for _, b := range blocks(t, page, "go") {
			if !strings.HasPrefix(b.text, "package ") {
				files[fmt.Sprintf("zz_fragments/f%d.go", len(files))] = wrapFragment(t, b, len(files))
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay(t, files), "./zz_fragments")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if len(files) < 7 {
		t.Errorf("%d fragments only", len(files))
	}
}

// wrapFragment is a file with the fragment in a function. What the fragment declares counts as used.
func wrapFragment(t *testing.T, b *block, n int) string {
	t.Helper()
	head := fmt.Sprintf("func fragment%d(%s) error {\n//line %s:%d\n", n, given, b.page, b.line)
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+head+b.text+"}", 0)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	used := ""
	body := file.Decls[0].(*ast.FuncDecl).Body
	for _, s := range body.List {
		if assign, ok := s.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
			for _, e := range assign.Lhs {
				if name := e.(*ast.Ident).Name; name != "_" {
					used += "_ = " + name + "\n"
				}
			}
		}
	}
	packages := map[string]bool{"context": true, "punctual": true, "llm": true, "http": true, "os": true} // of given
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Obj == nil {
				if _, known := importPaths[id.Name]; known {
					packages[id.Name] = true
				}
			}
		}
		return true
	})
	text := "package p\n\nimport (\n"
	for name := range packages {
		path := importPaths[name]
		if name == "punctual" {
			path = "github.com/punctual-llm/punctual"
		} else if _, err := os.Stat(filepath.Join(root, path)); err == nil && path != "log" {
			path = "github.com/punctual-llm/punctual/" + path
		}
		text += fmt.Sprintf("\t%q\n", path)
	}
	return text + ")\n\n" + strings.Replace(head, "{\n", "{\n{\n", 1) + b.text + used + "}\nreturn nil\n}\n" // in a scope of its own
}

// TestConfigurationsOfTheDocs: every block of YAML that names targets is loaded, and so are the settings of a target.
func TestConfigurationsOfTheDocs(t *testing.T) {
	t.Parallel()
	_, run := pages(t)
	n := 0
	for _, page := range run {
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
	"punctual demo":                                 "TestDemo runs it",
	"punctual sim -- go run .":                      "TestProgramsOfTheDocs runs it",
	`punctual sim -fault "delay=500ms" -- go run .`: "TestProgramsOfTheDocs runs it without a fault",
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
	_, run := pages(t)
	seen := map[string]bool{}
	for _, page := range run {
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

// TestLinks: every link to a file, and to a heading in one, leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	all, _ := pages(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fences := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	n := 0
	for _, page := range all {
		for _, m := range link.FindAllStringSubmatch(fences.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			n++
			file, heading, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), filepath.FromSlash(file)))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: there is no %s", page, m[1])
				continue
			}
			if heading != "" && !slices.Contains(anchors(read(t, target)), heading) {
				t.Errorf("%s: %s has no heading %s", page, target, heading)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d links only", n)
	}
}

// anchors are the names of the headings of a page, as GitHub makes them.
func anchors(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			default:
				return -1
			}
		}, strings.ToLower(m[1]))
		names = append(names, name)
	}
	return names
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
