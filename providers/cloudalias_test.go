package providers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	azurecloud "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// The types that the simulated clouds share lie in a package that nobody else can import, so go doc shows a user the
// comment at the alias and nothing more: it has to name every field.
func TestTheAliasesOfTheCloudsAreExplained(t *testing.T) {
	t.Parallel()
	types := map[string]reflect.Type{
		"Reply": reflect.TypeFor[azurecloud.Reply](), "Chunk": reflect.TypeFor[azurecloud.Chunk](), "Ping": reflect.TypeFor[azurecloud.Ping](),
		"Drip": reflect.TypeFor[azurecloud.Drip](), "Turn": reflect.TypeFor[azurecloud.Turn](), "Request": reflect.TypeFor[azurecloud.Request](),
	}
	for _, cloud := range []string{"azure", "bedrock", "vertex"} {
		explained := 0
		files, err := filepath.Glob("../llmtest/cloud/" + cloud + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", cloud, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
					return true
				}
				explained++
				of := types[spec.Name.Name]
				if of == nil {
					t.Errorf("%s.%s is an alias that this test does not know", cloud, spec.Name.Name)
					return false
				}
				for i := range of.NumField() {
					if field := of.Field(i).Name; !regexp.MustCompile(`\b` + field + `\b`).MatchString(spec.Doc.Text()) {
						t.Errorf("the comment of %s.%s does not name %s", cloud, spec.Name.Name, field)
					}
				}
				return false
			})
		}
		if explained != len(types) {
			t.Errorf("%s has %d aliases, want %d", cloud, explained, len(types))
		}
	}
}
