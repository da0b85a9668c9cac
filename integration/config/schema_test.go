package config_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/punctual-llm/punctual/config"
)

const (
	schemaFile = "../../docs/llm.schema.json"
	pageFile   = "../../docs/configuration.md"
)

func TestTheSchemaIsMadeFromTheTypes(t *testing.T) {
	t.Parallel()
	same(t, schemaFile, string(config.Schema(providers())))
}

func TestThePageIsMadeFromTheTypes(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- begin: made from the types by go test ./integration/config -update -->\n", "<!-- end -->\n"
	page := read(t, pageFile)
	before, rest, ok := strings.Cut(page, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part between %q and %q", pageFile, begin, end)
	}
	same(t, pageFile, before+begin+"\n"+config.Reference(providers())+"\n"+end+after)
}

// document is a YAML text as JSON has it.
func document(t *testing.T, text string) (v any, ok bool) {
	t.Helper()
	var y any
	if yaml.Unmarshal([]byte(text), &y) != nil {
		return nil, false
	}
	data, err := json.Marshal(y)
	if err != nil {
		return nil, false
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v, true
}

func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(config.Schema(providers()), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// beyondTheSchema are wrong files of these kinds that a schema of forms and ranges takes, and why.
var beyondTheSchema = map[string]string{
	"unit/from-a-variable":              "the value is known at run time only",
	"unknown-name/plan-target-near":     "names of targets are the file's own",
	"unknown-name/plan-target-far":      "names of targets are the file's own",
	"unknown-name/fallback-on":          "kinds of error are an open set in the schema",
	"unknown-name/fallback-on-canceled": "as above",
	"unknown-name/plan-variable":        "names of plans are the file's own",
	"unknown-name/plan-escape":          "as above",
	"unknown-name/plan-line":            "as above",
	"unknown-name/plan-direction":       "as above",
	"unknown-name/plan-long":            "as above",
	"unknown-name/alias":                "is none of YAML's to a schema",
	"out-of-range/attempt-zero":         "a schema has no ranges of durations",
	"out-of-range/attempt-year":         "as above",
	"out-of-range/tokens-zero":          "0 is in the range, and means nothing",
	"wrong-type/no-value":               "as a section without keys",
	"out-of-range/open-for-zero":        "",
}

func TestWrongFilesAreWrongByTheSchemaToo(t *testing.T) {
	t.Parallel()
	s := schema(t)
	files, err := filepath.Glob("../../config/testdata/wrong/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, file := range files {
		name := strings.TrimSuffix(strings.Join(strings.Split(filepath.ToSlash(file), "/")[5:], "/"), ".yaml")
		kind, _, _ := strings.Cut(name, "/")
		if !slices.Contains([]string{"unknown-key", "wrong-type", "unit", "unknown-name", "out-of-range"}, kind) {
			continue
		}
		v, ok := document(t, read(t, file))
		if _, beyond := beyondTheSchema[name]; beyond || !ok {
			continue
		}
		looked++
		if s.Validate(v) == nil {
			t.Errorf("%s is right by the schema", name)
		}
	}
	if looked < 40 {
		t.Errorf("only %d wrong files were looked at", looked)
	}
}

func TestRightFilesAreRightByTheSchemaToo(t *testing.T) {
	t.Parallel()
	s := schema(t)
	blocks := fenced(read(t, pageFile))
	if len(blocks) < 5 {
		t.Fatalf("the page has %d examples", len(blocks))
	}
	for _, text := range blocks {
		v, ok := document(t, text)
		if !ok {
			t.Errorf("no YAML:\n%s", text)
			continue
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

// fenced are the blocks of YAML on a page.
func fenced(page string) (blocks []string) {
	for {
		_, rest, ok := strings.Cut(page, "```yaml\n")
		if !ok {
			return blocks
		}
		block, after, _ := strings.Cut(rest, "```\n")
		blocks, page = append(blocks, block), after
	}
}

// TestTheExamplesOfThePageWork: each is loaded and opened; the one of the overlay goes over the first.
func TestTheExamplesOfThePageWork(t *testing.T) {
	t.Parallel()
	blocks := fenced(read(t, pageFile))
	certificate, key := clientCertificate(t)
	for _, text := range blocks {
		files := map[string]string{"llm.yaml": text}
		o := &config.Options{Env: []string{"AZURE_OPENAI_API_KEY=k", "GOOGLE_CLOUD_PROJECT=p", "GATEWAY_KEY=k"}}
		if strings.Contains(text, "https://PROD.") {
			files, o.Overlay = map[string]string{"llm.yaml": blocks[0], "llm.prod.yaml": text}, "prod"
		}
		o.ReadFile = func(name string) ([]byte, error) {
			switch {
			case files[name] != "":
				return []byte(files[name]), nil
			case strings.HasSuffix(name, "key.pem"):
				return key, nil
			case strings.HasSuffix(name, ".pem"):
				return certificate, nil
			default:
				return []byte("k\n"), nil
			}
		}
		c, err := config.LoadWith("llm.yaml", o)
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		chain, err := c.Build(t.Context(), providers(), nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		if err := chain.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
