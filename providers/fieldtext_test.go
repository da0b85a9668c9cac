package providers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// hint is one text that says what is wrong with a field and what to do, as it stands in the code: what only a run
// knows is a sample of usual length.
type hint struct {
	where string
	llm.FieldError
}

// The samples.
const (
	somePart = "messages[12].parts[3]"
	someWord = "temperature"
)

// TestEveryHintIsWholeInAnErrorText holds the texts to what Error() has room for behind the longest usual names.
func TestEveryHintIsWholeInAnErrorText(t *testing.T) {
	t.Parallel()
	var hints []hint
	for _, folder := range []string{"../llm", "../fallback", "../internal/bounds", "../internal/gemini", "."} {
		hints = append(hints, hintsUnder(t, folder)...)
	}
	if len(hints) < 120 {
		t.Errorf("%d hints were found: the search does not see them all", len(hints))
	}
	for _, h := range hints {
		e := &llm.Error{
			Kind: llm.ErrUnsupported, Operation: llm.Orchestration, Target: "bedrock",
			Model: llm.ModelRef{Provider: "bedrock", Model: "anthropic.claude-sonnet-4-5"}, Err: &h.FieldError,
		}
		if text := e.Error(); !strings.Contains(text, h.Error()) {
			t.Errorf("%s: %d bytes are too long for %s", h.where, len(h.Error()), text)
		}
	}
}

// hintsUnder finds the hints of the packages in a folder, tests aside.
func hintsUnder(t *testing.T, folder string) (all []hint) {
	t.Helper()
	packages := map[string]*texts{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = &texts{fset: token.NewFileSet(), consts: map[string]ast.Expr{}}
		}
		return packages[dir].parse(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		all = append(all, p.hints()...)
	}
	return all
}

// texts evaluates the texts of one package.
type texts struct {
	fset   *token.FileSet
	files  []*ast.File
	consts map[string]ast.Expr
	locals map[string][]ast.Expr // of the function at hand
}

func (p *texts) parse(path string) error {
	file, err := parser.ParseFile(p.fset, path, nil, 0)
	if err != nil {
		return err
	}
	p.files = append(p.files, file)
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
					for i, name := range v.Names {
						p.consts[name.Name] = v.Values[i]
					}
				}
			}
		}
	}
	return nil
}

func (p *texts) hints() (all []hint) {
	for _, file := range p.files {
		for _, d := range file.Decls {
			p.locals = map[string][]ast.Expr{}
			ast.Inspect(d, p.local)
			ast.Inspect(d, func(n ast.Node) bool {
				if f, ok := p.hint(n); ok {
					all = append(all, hint{p.fset.Position(n.Pos()).String(), f})
				}
				return true
			})
		}
	}
	return all
}

// local notes what a variable is set to.
func (p *texts) local(n ast.Node) bool {
	if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
		for i, left := range a.Lhs {
			if id, ok := left.(*ast.Ident); ok {
				p.locals[id.Name] = append(p.locals[id.Name], a.Rhs[i])
			}
		}
	}
	return true
}

// hint reads a call that makes an error about a field, or a FieldError that is written out.
func (p *texts) hint(n ast.Node) (f llm.FieldError, ok bool) {
	switch n := n.(type) {
	case *ast.CallExpr:
		return p.call(n)
	case *ast.CompositeLit:
		if name(n.Type) != "FieldError" {
			return f, false
		}
		for _, e := range n.Elts {
			pair, isPair := e.(*ast.KeyValueExpr)
			if !isPair {
				return f, false
			}
			switch text := p.text(pair.Value); name(pair.Key) {
			case "Field":
				f.Field = text
			case "Problem":
				f.Problem = text
			case "Next":
				f.Next = text
			}
		}
		return f, true
	}
	return f, false
}

// call reads a call by its name and the number of its arguments.
func (p *texts) call(c *ast.CallExpr) (f llm.FieldError, ok bool) {
	switch kind := name(c.Fun); {
	case !strings.EqualFold(kind, "invalid") && !strings.EqualFold(kind, "unsupported"):
		return f, false
	case len(c.Args) == 3:
		f = llm.FieldError{Field: p.text(c.Args[0]), Problem: p.text(c.Args[1]), Next: p.text(c.Args[2])}
	case len(c.Args) == 2: // of an engine that has one next step
		f = llm.FieldError{Field: p.text(c.Args[0]), Problem: p.text(c.Args[1]), Next: p.text(p.consts["useGenai"])}
	default:
		return f, false
	}
	if s, isMethod := c.Fun.(*ast.SelectorExpr); isMethod && name(s.X) == "at" {
		f.Field = somePart + f.Field
	}
	return f, true
}

// text is the value of an expression, the longest one if there are several, and a sample where only a run knows.
func (p *texts) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return strings.NewReplacer("%s", someWord, "%q", strconv.Quote(someWord), "%d", "12").Replace(s)
		}
	case *ast.BinaryExpr:
		return p.text(e.X) + p.text(e.Y)
	case *ast.CallExpr:
		switch name(e.Fun) {
		case "Sprintf":
			return p.text(e.Args[0])
		case "clean":
			return someWord
		default:
			return somePart
		}
	case *ast.Ident:
		if c, ok := p.consts[e.Name]; ok {
			return p.text(c)
		}
		return p.variable(e.Name)
	}
	return someWord
}

func (p *texts) variable(name string) (longest string) {
	for _, value := range p.locals[name] {
		if id, ok := value.(*ast.Ident); ok && id.Name == name {
			continue
		}
		if bin, ok := value.(*ast.BinaryExpr); ok && mentions(bin, name) {
			continue
		}
		if s := p.text(value); len(s) > len(longest) {
			longest = s
		}
	}
	switch {
	case longest != "":
		return longest
	case name == "source": // the variable that an address was read from
		return "of AWS_ENDPOINT_URL_BEDROCK_RUNTIME "
	case name == "field" || name == "path" || name == "what":
		return somePart
	default:
		return someWord
	}
}

func mentions(e ast.Expr, name string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// name is the last word of a name.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}
