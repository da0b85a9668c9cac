package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/config"
)

// FuzzParse holds that no file makes the decoder panic, and that a file is either refused with a message of one line
// that has a place, or makes a Config.
func FuzzParse(f *testing.F) {
	files, err := os.ReadDir("testdata/wrong")
	if err != nil {
		f.Fatal(err)
	}
	for _, dir := range files {
		inside, err := os.ReadDir("testdata/wrong/" + dir.Name())
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range inside {
			if text, err := os.ReadFile("testdata/wrong/" + dir.Name() + "/" + file.Name()); err == nil && strings.HasSuffix(file.Name(), ".yaml") {
				f.Add(text)
			}
		}
	}
	f.Add([]byte(whole))
	f.Add([]byte("a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d [*c,*c]"))
	f.Add([]byte("? - ? - a\n: b"))
	f.Add([]byte("{{{{[[[["))
	f.Add([]byte("plans: {x: {attempt: !!str 5}}\n\x00\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse(text, func(name string) (string, bool) { return name, strings.HasPrefix(name, "K") })
		switch {
		case err == nil && c == nil:
			t.Fatal("neither a Config nor an error")
		case err != nil && (err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r")):
			t.Fatalf("a message that is not one line: %q", err)
		case err != nil:
			var e *config.Error
			if !asConfigError(err, &e) || len(e.Problems) == 0 || e.Detail() == "" {
				t.Fatalf("an error without a problem: %#v", err)
			}
		default:
			for i := range c.Targets {
				var s azureKeys
				_ = c.Targets[i].Settings(&s)
			}
			_ = c.Origin("plans.default.attempt")
		}
	})
}
