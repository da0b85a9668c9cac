package layering

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Rule names the rule that an import, or a package, breaks.
type Rule string

// The rules, in the order in which they are judged.
const (
	UnknownPackage Rule = "unknown package" // no row for the importing or the imported package
	NestedModule   Rule = "nested module"   // an import of a module of its own
	Upward         Rule = "upward"          // an import of a higher layer
	Sibling        Rule = "sibling"         // an import of a package of the same layer
	NotListed      Rule = "not listed"      // one of ours that lies lower but that the row does not give
	ThirdParty     Rule = "third party"     // one of others that the row does not give
	TestImport     Rule = "test import"     // an import that only the rule for tests forbids
)

// Violation is one break of a rule.
type Violation struct {
	Rule    Rule
	Pos     token.Position
	Package string // the importing folder
	Import  string // the folder, or for other modules' packages the path, that is imported
	Help    string // what the rule says and how to keep it
}

// String is the violation on one line, position first as compilers write it.
func (v Violation) String() string {
	what := v.Package
	if v.Import != "" {
		what += " imports " + v.Import
	}
	return fmt.Sprintf("%s: %s: %s: %s", v.Pos, v.Rule, what, v.Help)
}

// Check answers with every break of the table in the module at the root of fsys.
func Check(fsys fs.FS, table []Row) ([]Violation, error) {
	module, err := modulePath(fsys)
	if err != nil {
		return nil, err
	}
	files, err := scan(fsys, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	c := checker{module: module, table: table, unknown: map[string]bool{}}
	for _, src := range files {
		c.source(src)
	}
	return c.found, nil
}

// checker gathers the violations of one tree.
type checker struct {
	module  string
	table   []Row
	unknown map[string]bool // packages already reported as unknown
	found   []Violation
}

// source checks one file.
func (c *checker) source(src source) {
	row, ok := c.row(src.pkg)
	if !ok {
		c.unknownPackage(src)
		return
	}
	for _, imp := range src.imports() {
		rule, name, help := c.judge(row, src, imp.path)
		if rule != "" {
			c.found = append(c.found, Violation{Rule: rule, Pos: imp.pos, Package: src.pkg, Import: name, Help: help})
		}
	}
}

// unknownPackage reports a package without a row, once.
func (c *checker) unknownPackage(src source) {
	if c.unknown[src.pkg] {
		return
	}
	c.unknown[src.pkg] = true
	c.found = append(c.found, Violation{
		Rule: UnknownPackage, Pos: src.fset.Position(src.file.Package), Package: src.pkg,
		Help: fmt.Sprintf("add a row {Path: %q, Layer: …, Ours: …, Third: …} to Table in internal/layering/table.go, and to docs/design.md", src.pkg),
	})
}

// judge names the rule that an import breaks, "" if none. name is the import as
// the table would write it.
func (c *checker) judge(row Row, src source, imp string) (rule Rule, name, help string) {
	folder, own := c.folder(imp)
	switch {
	case own:
		rule, help = c.judgeOwn(row, src, folder)
		return rule, folder, help
	case isStandard(imp):
		return "", imp, ""
	default:
		rule, help = judgeThird(row, src, imp)
		return rule, imp, help
	}
}

// judgeOwn judges the import of one of our packages.
func (c *checker) judgeOwn(row Row, src source, folder string) (Rule, string) {
	if top, _, _ := strings.Cut(folder, "/"); slices.Contains(nested, top) {
		return NestedModule, top + " is a module of its own: nothing in this one may need it"
	}
	to, ok := c.row(folder)
	if !ok {
		return UnknownPackage, "the imported package has no row in internal/layering/table.go"
	}
	if src.test && (folder == src.pkg || row.Tests.Free || matchAny(testHelpers.ours, folder)) {
		return "", ""
	}
	listed := matchAny(row.Ours, folder)
	switch {
	case listed && to.Layer < row.Layer:
		return "", ""
	case src.test:
		return TestImport, fmt.Sprintf("tests of %s may import %s; tests over several packages live in providers/ and llmtest/cases",
			row.Path, list(row.Ours, testHelpers.ours))
	case to.Layer > row.Layer:
		return Upward, fmt.Sprintf("%s is %s, %s is %s: arrows point down only", row.Path, row.Layer, to.Path, to.Layer)
	case to.Layer == row.Layer:
		return Sibling, fmt.Sprintf("both are %s: share through internal/, or pass a value down from above", row.Layer)
	default:
		return NotListed, fmt.Sprintf("%s may import of ours: %s", row.Path, list(row.Ours))
	}
}

// judgeThird judges the import of a package of another module.
func judgeThird(row Row, src source, imp string) (Rule, string) {
	if matchAny(row.Third, imp) {
		return "", ""
	}
	if !src.test {
		return ThirdParty, fmt.Sprintf("%s may import of others: %s; docs/design.md keeps the reason of each dependency", row.Path, list(row.Third))
	}
	if matchAny(testHelpers.third, imp) || matchAny(row.Tests.Third, imp) {
		return "", ""
	}
	return TestImport, fmt.Sprintf("tests of %s may import of others: %s (a test's imports reach the go.sum of users)",
		row.Path, list(row.Third, testHelpers.third, row.Tests.Third))
}

// folder turns an import path into a folder of this module, if it is one.
func (c *checker) folder(imp string) (string, bool) {
	if imp == c.module {
		return ".", true
	}
	return strings.CutPrefix(imp, c.module+"/")
}

// row finds the row of a folder: an exact one before a pattern.
func (c *checker) row(folder string) (Row, bool) {
	i := slices.IndexFunc(c.table, func(r Row) bool { return r.Path == folder })
	if i < 0 {
		i = slices.IndexFunc(c.table, func(r Row) bool {
			ok, err := path.Match(r.Path, folder)
			return ok && err == nil
		})
	}
	if i < 0 {
		return Row{}, false
	}
	return c.table[i], true
}

// isStandard reports whether an import path is the standard library's: the first
// element of any other has a dot.
func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// matchAny reports whether one of the patterns matches name.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// match knows the go command's "..." at the end of a pattern, and nothing else.
func match(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return pattern == name
}

// list joins patterns for a message.
func list(groups ...[]string) string {
	all := slices.Concat(groups...)
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
