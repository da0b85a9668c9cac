package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
)

// Sleeps answers with the place of every time.Sleep and time.After in a test file
// that does not import testing/synctest. Such a test waits by the wall clock: it
// is slow on a good day and fails on a bad one.
func Sleeps(fsys fs.FS) ([]token.Position, error) {
	files, err := scan(fsys, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []token.Position
	for _, src := range files {
		if src.test && !src.uses("testing/synctest") {
			found = append(found, src.sleeps()...)
		}
	}
	return found, nil
}

// uses reports whether the file imports a package.
func (s source) uses(pkg string) bool {
	return slices.ContainsFunc(s.imports(), func(i imported) bool { return i.path == pkg })
}

// sleeps lists where the file sleeps.
func (s source) sleeps() []token.Position {
	var found []token.Position
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || (sel.Sel.Name != "Sleep" && sel.Sel.Name != "After") {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
			found = append(found, s.fset.Position(sel.Pos()))
		}
		return true
	})
	return found
}
