package layering

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the module's root as seen from this folder.
var root = os.DirFS("../..")

func TestModuleKeepsItsLayers(t *testing.T) {
	t.Parallel()
	found, err := Check(root, Table)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

func TestModuleSleepsOnlyUnderSynctest(t *testing.T) {
	t.Parallel()
	found, err := Sleeps(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, pos := range found {
		t.Errorf("%s: a test waits by the wall clock: use testing/synctest, or wait for an event", pos)
	}
}

// TestCheckFindsViolations proves that the checker can fail: each tree breaks one
// rule once, or keeps all of them.
func TestCheckFindsViolations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		file    string
		imports string
		rule    Rule // "" if the import is allowed
		imp     string
	}{
		{"standard library", "llm/a.go", "net/http", "", ""},
		{"down and listed", "fallback/a.go", "m/breaker", "", ""},
		{"upward", "llm/a.go", "m/fallback", Upward, "fallback"},
		{"upward to the root", "config/a.go", "m", Upward, "."},
		{"upward within a family", "providers/vertex/a.go", "m/providers/vertex/vertexai", Upward, "providers/vertex/vertexai"},
		{"an allowed internal that lies higher", "providers/azure/a.go", "m/internal/cloud", Upward, "internal/cloud"},
		{"sibling", "providers/azure/a.go", "m/providers/bedrock", Sibling, "providers/bedrock"},
		{"sibling at the bottom", "deadline/a.go", "m/llm", Sibling, "llm"},
		{"sibling of one pattern", "internal/one/a.go", "m/internal/two", Sibling, "internal/two"},
		{"down but not listed", "breaker/redis/a.go", "m/policy", NotListed, "policy"},
		{"config never knows a provider", "config/a.go", "m/providers/azure", NotListed, "providers/azure"},
		{"own SDK", "providers/azure/a.go", "github.com/sashabaranov/go-openai", "", ""},
		{"another's SDK", "policy/a.go", "github.com/sashabaranov/go-openai", ThirdParty, "github.com/sashabaranov/go-openai"},
		{"SDK below an exact entry", "providers/azure/a.go", "github.com/sashabaranov/go-openai/x", ThirdParty, "github.com/sashabaranov/go-openai/x"},
		{"a name that only begins alike", "providers/bedrock/a.go", "github.com/aws/smithy-gophers", ThirdParty, "github.com/aws/smithy-gophers"},
		{"a fourth provider", "providers/acme/a.go", "m/internal/httpx", "", ""},
		{"a fourth provider's SDK", "providers/acme/a.go", "acme.dev/sdk", ThirdParty, "acme.dev/sdk"},
		{"nested module", "cmd/punctual/a.go", "m/examples/triage", NestedModule, "examples/triage"},
		{"unknown package", "util/a.go", "strings", UnknownPackage, ""},
		{"import of an unknown package", "cmd/punctual/a.go", "m/util", UnknownPackage, "util"},
		{"test with a fake", "llm/a_test.go", "m/llmtest", "", ""},
		{"test with goleak", "deadline/a_test.go", "go.uber.org/goleak", "", ""},
		{"test of its own package", "llm/a_test.go", "m/llm", "", ""},
		{"test with an internal helper", "policy/a_test.go", "m/internal/golden", "", ""},
		{"test with a simulated cloud", "providers/azure/a_test.go", "m/llmtest/cloud/azure", TestImport, "llmtest/cloud/azure"},
		{"test with a sibling", "llm/a_test.go", "m/deadline", TestImport, "deadline"},
		{"test with a library", "llm/a_test.go", "github.com/stretchr/testify/assert", TestImport, "github.com/stretchr/testify/assert"},
		{"goleak outside tests", "llm/a.go", "go.uber.org/goleak", ThirdParty, "go.uber.org/goleak"},
		{"test over several providers", "providers/a_test.go", "m/llmtest/cloud/vertex", "", ""},
		{"test library of one row", "breaker/redis/a_test.go", "github.com/alicebob/miniredis/v2", "", ""},
		{"test library outside tests", "breaker/redis/a.go", "github.com/alicebob/miniredis/v2", ThirdParty, "github.com/alicebob/miniredis/v2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := Check(tree(tt.file, tt.imports), Table)
			if err != nil {
				t.Fatal(err)
			}
			want := Violation{Rule: tt.rule, Package: path.Dir(tt.file), Import: tt.imp}
			if tt.rule == "" {
				if len(found) != 0 {
					t.Fatalf("found %v, want nothing", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("found %v, want one violation", found)
			}
			got := found[0]
			if got.Rule != want.Rule || got.Package != want.Package || got.Import != want.Import {
				t.Errorf("got %v, want %s: %s imports %s", got, want.Rule, want.Package, want.Import)
			}
			if got.Pos.Filename != tt.file || got.Help == "" {
				t.Errorf("got %q, want the file's position and some help", got)
			}
		})
	}
}

func TestUnknownPackageSaysWhatToAdd(t *testing.T) {
	t.Parallel()
	fsys := tree("util/a.go", "strings")
	fsys["util/b.go"] = goFile("util", "bytes")
	found, err := Check(fsys, Table)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("found %v, want the package named once", found)
	}
	want := `util/a.go:1:1: unknown package: util: add a row {Path: "util",`
	if got := found[0].String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "internal/layering/table.go") {
		t.Errorf("got %q, want it to begin with %q and to name the table", got, want)
	}
}

func TestCheckPassesOverWhatIsNotOfTheModule(t *testing.T) {
	t.Parallel()
	fsys := tree("llm/a.go", "strings")
	for _, file := range []string{
		"bench/a.go", "llm/testdata/a.go", ".ci/a.go", "_old/a.go", "llm/_a.go",
		"integration/js/node_modules/x/a.go",
	} {
		fsys[file] = goFile("x", "m/fallback")
	}
	fsys["bench/go.mod"] = &fstest.MapFile{Data: []byte("module m/bench\n")}
	found, err := Check(fsys, Table)
	if err != nil || len(found) != 0 {
		t.Errorf("got %v, %v, want nothing", found, err)
	}
}

func TestCheckFailsOnABrokenTree(t *testing.T) {
	t.Parallel()
	broken := tree("llm/a.go", "strings")
	broken["llm/b.go"] = &fstest.MapFile{Data: []byte("packag llm")}
	for name, fsys := range map[string]fstest.MapFS{
		"no go.mod":      {"llm/a.go": goFile("llm", "strings")},
		"no module line": {"go.mod": {Data: []byte("go 1.26\n")}},
		"syntax error":   broken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, err := Check(fsys, Table); err == nil {
				t.Errorf("got %v and no error", found)
			}
		})
	}
}

func TestSleepsFindsWallClocks(t *testing.T) {
	t.Parallel()
	body := "\nfunc f() { time.Sleep(1); <-time.After(1); time.Now() }\n"
	fsys := tree("llm/a.go", "time")
	fsys["llm/a.go"].Data = append(fsys["llm/a.go"].Data, body...)
	fsys["llm/b_test.go"] = goFile("llm", "time")
	fsys["llm/b_test.go"].Data = append(fsys["llm/b_test.go"].Data, body...)
	fsys["llm/c_test.go"] = &fstest.MapFile{
		Data: []byte("package llm\nimport \"time\"\nimport \"testing/synctest\"\nvar _ = synctest.Test\n" + body),
	}
	found, err := Sleeps(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].Filename != "llm/b_test.go" || found[1].Filename != "llm/b_test.go" {
		t.Errorf("got %v, want the two of llm/b_test.go", found)
	}
}

// TestTableIsSound holds the table itself to its rules.
func TestTableIsSound(t *testing.T) {
	t.Parallel()
	c := checker{table: Table}
	seen := map[string]bool{}
	for _, row := range Table {
		if seen[row.Path] {
			t.Errorf("%s has two rows", row.Path)
		}
		seen[row.Path] = true
		if _, err := path.Match(row.Path, ""); err != nil {
			t.Errorf("%s: %v", row.Path, err)
		}
		for _, name := range row.Ours {
			if strings.HasSuffix(name, "...") {
				continue
			}
			if to, ok := c.row(name); !ok || to.Layer >= row.Layer {
				t.Errorf("%s (%s) lists %s, which has no row in a lower layer", row.Path, row.Layer, name)
			}
		}
		for _, name := range slices.Concat(row.Third, row.Tests.Third) {
			if isStandard(name) {
				t.Errorf("%s lists %s among packages of others", row.Path, name)
			}
		}
	}
}

// TestBottomIsStandardLibraryOnly keeps the promise that an importer of llm or
// deadline downloads nothing else.
func TestBottomIsStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	c := checker{table: Table}
	for _, name := range []string{"llm", "deadline"} {
		row, ok := c.row(name)
		if !ok || row.Layer != L0 || len(row.Ours)+len(row.Third)+len(row.Tests.Third) != 0 || row.Tests.Free {
			t.Errorf("%s has the row %+v, want L0 and no imports", name, row)
		}
	}
}

func TestLayerString(t *testing.T) {
	t.Parallel()
	for layer, want := range map[Layer]string{L0: "L0", L1 + 1: "L1+1", L5: "L5"} {
		if got := layer.String(); got != want {
			t.Errorf("Layer(%d) is %q, want %q", int(layer), got, want)
		}
	}
}

// tree is a module named m with one file that has one import.
func tree(file, imp string) fstest.MapFS {
	return fstest.MapFS{
		"go.mod": {Data: []byte("module m\n\ngo 1.26\n")},
		file:     goFile(path.Base(path.Dir(file)), imp),
	}
}

// goFile is a source file with one import.
func goFile(pkg, imp string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("package " + pkg + "\n\nimport _ \"" + imp + "\"\n")}
}

// TestDesignNamesEveryRow keeps the table that people read in step with this one.
func TestDesignNamesEveryRow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Table {
		if !strings.Contains(string(text), "`"+row.Path+"`") {
			t.Errorf("docs/design.md does not name `%s` (%s)", row.Path, row.Layer)
		}
	}
}
