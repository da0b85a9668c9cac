package layering

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// source is one Go file of the tree.
type source struct {
	pkg  string // its folder, "." at the root
	test bool
	fset *token.FileSet
	file *ast.File
}

// imported is one import of a source file.
type imported struct {
	path string
	pos  token.Position
}

// imports lists what the file imports, in its order.
func (s source) imports() []imported {
	list := make([]imported, 0, len(s.file.Imports))
	for _, spec := range s.file.Imports {
		list = append(list, imported{
			path: strings.Trim(spec.Path.Value, "`\""),
			pos:  s.fset.Position(spec.Pos()),
		})
	}
	return list
}

// scan parses the Go files of a module. It leaves out what the go command leaves
// out (hidden folders, testdata, nested modules) and installed JavaScript.
func scan(fsys fs.FS, mode parser.Mode) ([]source, error) {
	var list []source
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignored(d.Name()) || isNested(fsys, name)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || ignored(d.Name()):
			return nil
		}
		src, err := parse(fsys, name, mode)
		list = append(list, src)
		return err
	})
	return list, err
}

// ignored reports whether the go command, or we, pass over a name.
func ignored(name string) bool {
	if name == "." {
		return false
	}
	return name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor" || name == "node_modules"
}

// isNested reports whether dir is the root of another module.
func isNested(fsys fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

// parse reads one file.
func parse(fsys fs.FS, name string, mode parser.Mode) (source, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, mode)
	if err != nil {
		return source{}, fmt.Errorf("layering: %w", err)
	}
	return source{
		pkg:  path.Dir(name),
		test: strings.HasSuffix(name, "_test.go"),
		fset: fset,
		file: file,
	}, nil
}

// modulePath reads the module's own path from its go.mod.
func modulePath(fsys fs.FS) (string, error) {
	text, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return "", fmt.Errorf("layering: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			return f[1], nil
		}
	}
	return "", errors.New("layering: go.mod has no module line")
}
