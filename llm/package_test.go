package llm_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The vocabulary costs its users the standard library, and of that no HTTP and no TLS.
func TestImports(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"bytes", "cmp", "context", "encoding/json", "errors", "fmt", "io", "iter", "log/slog", "maps", "math", "net",
		"reflect", "runtime/debug", "slices", "strconv", "strings", "sync/atomic", "syscall", "time", "unicode",
		"unicode/utf8",
	}
	used := map[string]bool{}
	for name, file := range sources(t) {
		for _, imp := range file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			used[path] = true
			if !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, allowed) {
		t.Errorf("imports are %q: keep the list in step", got)
	}
}

// Every exported name has a doc comment of its own that begins with it; constants and fields have a comment.
func TestDocComments(t *testing.T) {
	t.Parallel()
	for name, file := range sources(t) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && !strings.HasPrefix(d.Doc.Text(), d.Name.Name+" ") {
					t.Errorf("%s: %s has no doc comment", name, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					checkDoc(t, name, d, spec)
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return !ok || id.IsExported()
}

func checkDoc(t *testing.T, file string, d *ast.GenDecl, spec ast.Spec) {
	t.Helper()
	switch s := spec.(type) {
	case *ast.TypeSpec:
		doc := s.Doc.Text()
		if doc == "" && !d.Lparen.IsValid() {
			doc = d.Doc.Text()
		}
		words := strings.TrimPrefix(strings.TrimPrefix(doc, "An "), "A ")
		if s.Name.IsExported() && !strings.HasPrefix(words, s.Name.Name+" ") && !strings.HasPrefix(words, s.Name.Name+",") {
			t.Errorf("%s: %s has no doc comment", file, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" && (d.Tok != token.CONST || d.Doc.Text() == "") {
				t.Errorf("%s: %s has no comment", file, n.Name)
			}
		}
	}
}
