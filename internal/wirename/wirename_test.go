package wirename

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	var n Names
	for _, name := range []string{"fine_name-1", strings.Repeat("x", Max)} {
		if sent := n.Wire(name); sent != name || n != nil {
			t.Errorf("%q became %q", name, sent)
		}
	}
	seen := map[string]bool{}
	for _, name := range []string{"", "files.read", "files:read", "файл", "\xff", strings.Repeat("x", Max+1), strings.Repeat("x", Max+2)} {
		sent := n.Wire(name)
		if sent == name || Of(sent) != sent || seen[sent] || n.Wire(name) != sent || n.Back(sent) != name {
			t.Errorf("%q became %q, and that is of %q", name, sent, n.Back(sent))
		}
		seen[sent] = true
	}
	if got := n.Back("another"); got != "another" {
		t.Errorf("another was %q", got)
	}
	if got := Replaced("_", strings.Repeat("x", Max)); len(got) != Max || !strings.HasPrefix(got, "_x") {
		t.Errorf("%q", got)
	}
}
