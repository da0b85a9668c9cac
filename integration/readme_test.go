package integration_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the Markdown files of the repository, with slashes and from its root.
func pages(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", ".github/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator))))
		}
	}
	if len(files) < 3 {
		t.Fatalf("found only %q", files)
	}
	return files
}

func markdown(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// fenced are the blocks of a language on a page.
func fenced(t *testing.T, page, language string) []string {
	t.Helper()
	var blocks []string
	for _, m := range fence.FindAllStringSubmatch(markdown(t, page), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

// TestGoOnPagesCompiles builds a module of a user's own from all Go of the README and the docs, vets it, and runs
// the program of the README unchanged against a simulated account.
func TestGoOnPagesCompiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModule(t, dir)
	program := ""
	for _, page := range pages(t) {
		if page != "README.md" && !strings.HasPrefix(page, "docs/") {
			continue
		}
		for i, block := range fenced(t, page, "go") {
			name := fmt.Sprintf("%s%d", strings.ToLower(strings.TrimSuffix(filepath.Base(page), ".md")), i+1)
			source := goFile(t, page, block)
			file := "block.go"
			if strings.HasSuffix(packageName(source), "_test") {
				file = "block_test.go"
			}
			writeFile(t, filepath.Join(dir, name, file), source)
			if page == "README.md" && packageName(source) == "main" && program == "" {
				program = filepath.Join(dir, name)
			}
		}
	}
	if program == "" {
		t.Fatal("the README has no program")
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir = dir
	start(t, vet, offline()).ends(t, 0)

	sim := exec.CommandContext(t.Context(), punctual(t), "sim", "--", "go", "run", ".")
	sim.Dir = program
	p := start(t, sim, offline())
	p.ends(t, 0)
	if got := p.stdout.String(); got != "Hello from a simulated Azure OpenAI account.\n" {
		t.Errorf("the program of the README printed %q", got)
	}
	if got := strings.Count(p.stderr.String(), "sim: POST "); got != 1 {
		t.Errorf("it made %d requests, want 1\n%s", got, p.said())
	}
}

// offline keeps the go command from the network: all that it needs is there since the test itself was built.
func offline() []string {
	return []string{"GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local"}
}

// writeModule writes a module that requires what the repository requires, and the repository itself.
func writeModule(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/punctual-llm/punctual"
	text := strings.Replace(string(mod), "module "+path, "module example.com/pages", 1)
	text += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %q\n", path, root)
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "go.mod"), text)
	writeFile(t, filepath.Join(dir, "go.sum"), string(sums))
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// packageName is what a whole Go file says, "" if it says nothing.
func packageName(source string) string {
	if m := regexp.MustCompile(`(?m)^package (\w+)$`).FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return ""
}

// What a fragment may use without saying where it comes from.
var (
	variables = map[string]string{
		"ctx": "context.Context", "client": "*punctual.Client", "req": "*llm.Request",
		"targets": "[]fallback.Target", "chain": "*fallback.Chain", "w": "http.ResponseWriter", "mux": "*http.ServeMux",
		"hangUps": "chan os.Signal", "endpoint": "string", "picture": "[]byte", "document": "[]byte",
	}
	imports = map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "time": "time",
		"llm": ours + "llm", "fallback": ours + "fallback", "policy": ours + "policy", "azure": ours + "providers/azure",
		"llmtest": ours + "llmtest", "breaker": ours + "breaker", "deadline": ours + "deadline", "http": "net/http",
		"entra": ours + "providers/azure/entra", "bedrock": ours + "providers/bedrock", "vertex": ours + "providers/vertex",
		"vertexai": ours + "providers/vertex/vertexai", "config": ours + "config",
		"signal": "os/signal", "syscall": "syscall", "punctual": strings.TrimSuffix(ours, "/"),
		"grpc": "google.golang.org/grpc", "grpcdeadline": ours + "deadline/grpcdeadline",
	}
)

const ours = "github.com/punctual-llm/punctual/"

// goFile makes a file of a block: a block without a package clause is what stands in a function, or beside one.
func goFile(t *testing.T, page, block string) string {
	t.Helper()
	if packageName(block) != "" {
		return block
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, page, "package p\n"+block, parser.SkipObjectResolution)
	if err == nil {
		return "package p\n" + importsOf(file) + block
	}
	file, err = parser.ParseFile(files, page, "package p\nfunc _() error {\n"+block+"}\n", parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s: a block that is no Go: %v\n%s", page, err, block)
	}
	body := file.Decls[0].(*ast.FuncDecl).Body.List
	used, declared := names(file), declaredBy(body)
	var parameters []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if used[name] && !slices.Contains(declared, name) {
			parameters = append(parameters, name+" "+variables[name])
		}
	}
	text := "func _(" + strings.Join(parameters, ", ") + ") error {\n" + block
	if _, returns := body[len(body)-1].(*ast.ReturnStmt); !returns {
		for _, name := range declared {
			text += "_ = " + name + "\n" // what comes next on the page would use it
		}
		text += "return nil\n"
	}
	text += "}\n"
	whole, err := parser.ParseFile(files, page, "package p\n"+text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return "package p\n" + importsOf(whole) + text
}

// names are all words of a file that may be variables or packages.
func names(file ast.Node) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			all[id.Name] = true
		}
		return true
	})
	return all
}

// declaredBy are the variables that statements declare for those after them.
func declaredBy(statements []ast.Stmt) []string {
	var all []string
	for _, s := range statements {
		var ids []ast.Expr
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				ids = s.Lhs
			}
		case *ast.DeclStmt:
			ast.Inspect(s, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						ids = append(ids, id)
					}
				}
				return true
			})
		}
		for _, expr := range ids {
			if id, ok := expr.(*ast.Ident); ok && id.Name != "_" && !slices.Contains(all, id.Name) {
				all = append(all, id.Name)
			}
		}
	}
	return all
}

// importsOf imports the packages whose names stand before a dot.
func importsOf(file ast.Node) string {
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && imports[id.Name] != "" {
				found[imports[id.Name]] = true
			}
		}
		return true
	})
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&text, "import %q\n", path)
	}
	return text.String()
}

// TestFragmentsBecomeFiles: what goFile makes of blocks of each form.
func TestFragmentsBecomeFiles(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"package main\n\nfunc main() {}\n": "package main\n\nfunc main() {}\n",
		"type T struct{ At time.Time }\n":  "package p\nimport \"time\"\ntype T struct{ At time.Time }\n",
		"resp, err := client.Generate(ctx, req)\n": "package p\nimport \"context\"\nimport \"" + strings.TrimSuffix(ours, "/") + "\"\nimport \"" + ours + "llm\"\n" +
			"func _(client *punctual.Client, ctx context.Context, req *llm.Request) error {\nresp, err := client.Generate(ctx, req)\n_ = resp\n_ = err\nreturn nil\n}\n",
		"req := &llm.Request{}\nvar n int\nreturn nil\n": "package p\nimport \"" + ours + "llm\"\nfunc _() error {\nreq := &llm.Request{}\nvar n int\nreturn nil\n}\n",
	} {
		if got := goFile(t, "a test", block); got != want {
			t.Errorf("%q became\n%s\nwant\n%s", block, got, want)
		}
	}
}

// TestCommandsOfTheREADMEAreRunByCI: the two that show a clone to work stand in the script word for word.
func TestCommandsOfTheREADMEAreRunByCI(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, block := range fenced(t, "README.md", "sh") {
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, " #")
			command = strings.TrimSpace(command)
			for _, start := range []string{"go run ./cmd/punctual demo", "go test ./..."} {
				if !strings.HasPrefix(command, start) {
					continue
				}
				found[start] = true
				if !regexp.MustCompile(`(?m)` + regexp.QuoteMeta(command) + `($|[ ;<>|&])`).Match(script) {
					t.Errorf("the README says %q, and CI does not run it", command)
				}
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("the README has only %v", found)
	}
}

var (
	link       = regexp.MustCompile(`\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)`)
	definition = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s*<?([^\s>]+)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?)[ #]*$`)
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	anyFence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// TestLinksResolve: every link to a file of the repository and to a heading leads there.
func TestLinksResolve(t *testing.T) {
	t.Parallel()
	links := 0
	for _, page := range pages(t) {
		text := anyFence.ReplaceAllString(markdown(t, page), "")
		text = inlineCode.ReplaceAllStringFunc(text, func(code string) string { return strings.NewReplacer("[", "", "(", "").Replace(code) })
		for _, m := range slices.Concat(link.FindAllStringSubmatch(text, -1), definition.FindAllStringSubmatch(text, -1)) {
			if target := m[1]; !regexp.MustCompile(`^[a-z]+:`).MatchString(target) {
				links++
				if problem := broken(t, page, target); problem != "" {
					t.Errorf("%s: %s: %s", page, target, problem)
				}
			}
		}
	}
	if links < 10 {
		t.Errorf("found only %d links", links)
	}
}

// broken says what is wrong with a relative link, "" if it leads somewhere.
func broken(t *testing.T, page, target string) string {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(page), filepath.FromSlash(file)))
	}
	if strings.HasPrefix(path, "../") || strings.HasPrefix(path, "/") {
		return "leads out of the repository"
	}
	info, err := os.Stat(filepath.Join("..", filepath.FromSlash(path)))
	switch {
	case err != nil:
		return "there is no such file"
	case anchor == "":
		return ""
	case info.IsDir() || !strings.HasSuffix(path, ".md"):
		return "only pages have headings"
	case !slices.Contains(anchors(markdown(t, path)), anchor):
		return "there is no such heading"
	}
	return ""
}

// anchors are the names by which GitHub knows the headings of a page.
func anchors(text string) []string {
	var all []string
	times := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(anyFence.ReplaceAllString(text, ""), -1) {
		words := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(m[1], "")
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(words), "")
		name = strings.ReplaceAll(name, " ", "-")
		if n := times[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", name, n))
		} else {
			all = append(all, name)
		}
		times[name]++
	}
	return all
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	t.Parallel()
	got := anchors("# A `word`, and *more*\n\n```sh\n# no heading\n```\n## From Go\n## From Go\n### [a link](x.md) – snake_case & co. ##\n")
	want := []string{"a-word-and-more", "from-go", "from-go-1", "a-link--snake_case--co"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for target, want := range map[string]string{
		"README.md": "", "#faults": "there is no such heading", "docs": "", "docs#x": "only pages have headings", "../x.md": "leads out of the repository",
		"docs/simulated-clouds.md#faults": "", "docs/simulated-clouds.md#fault": "there is no such heading", "nothing.md": "there is no such file",
	} {
		if got := broken(t, "README.md", target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}
