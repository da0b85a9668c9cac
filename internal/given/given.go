// Package given finds the data that a test is given from outside of the repository: recordings, cases.
package given

import (
	"os"
	"path/filepath"
	"testing"
)

// Data is a file or a folder of data.
type Data struct {
	What     string // "cases"
	Variable string // of the environment, which names Path
	Path     string
	Chosen   bool // by the variable; else it is where such data lies by custom
}

// Find is the data that variable names, or else what lies at custom. A relative path counts from the root of the module.
func Find(t *testing.T, what, variable, custom string) Data {
	t.Helper()
	d := Data{What: what, Variable: variable, Path: os.Getenv(variable), Chosen: true}
	if d.Path == "" {
		d.Path, d.Chosen = custom, false
	}
	if !filepath.IsAbs(d.Path) {
		d.Path = filepath.Join(moduleRoot(t), d.Path)
	}
	return d
}

// Check says what a test does that read n pieces of the data, or failed to read it. Without any it is skipped, but where
// somebody has chosen the data it fails.
func (d Data) Check(t *testing.T, n int, err error) {
	t.Helper()
	switch {
	case !d.Chosen && (err != nil || n == 0):
		t.Skipf("no %s: %s is not there, and %s is not set", d.What, d.Path, d.Variable)
	case err != nil:
		t.Fatal(err)
	case n == 0:
		t.Fatalf("%s: %s holds no %s", d.Variable, d.Path, d.What)
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
