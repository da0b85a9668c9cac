package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// expander puts variables and files into the values of a tree.
type expander struct {
	env      func(string) (string, bool)
	readFile func(string) ([]byte, error)
	report   *report
}

// Files that hold one value: a key, a certificate.
const maxValueFile = 256 << 10

// fileScheme begins a value that stands in a file of its own.
const fileScheme = "file:"

// reference is a ${NAME}, a ${NAME:-default} or a $${, which stands for ${ itself.
var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{`)

// all expands n and what is below. files says whether file: names a file there: in a target, but not in the
// parameters, which are the request's.
func (x *expander) all(path string, n *node, files bool) {
	switch n.kind {
	case mapKind:
		for _, e := range n.entries {
			x.all(join(path, e.key), e.value, files && e.key != "parameters")
		}
	case listKind:
		for i, item := range n.items {
			name := fmt.Sprintf("%s[%d]", path, i)
			x.all(itemPath(path, name, item), item, files || path == "targets")
		}
	case stringKind:
		x.variables(path, n)
		if files && !n.broken && strings.HasPrefix(n.written, fileScheme) {
			x.file(path, n)
		}
	default:
	}
}

// itemPath is the path of an item of a list: targets go by their name.
func itemPath(path, numbered string, item *node) string {
	if path != "targets" {
		return numbered
	}
	if name := item.get("name"); name != nil && name.kind.scalar() && isKey(name.written) {
		return path + "." + name.written
	}
	return numbered
}

func join(path, key string) string {
	if !isKey(key) {
		key = quoteKey(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func (x *expander) fail(path string, n *node, what, note string) {
	n.broken = true
	at := n.at
	at.hidden = true // in most places this is a key
	x.report.add(at, path, what, "", note)
}

func (x *expander) variables(path string, n *node) {
	if !strings.Contains(n.text, "${") {
		return
	}
	onlyReferences := reference.ReplaceAllString(n.text, "") == ""
	n.text = reference.ReplaceAllStringFunc(n.text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		switch name := m[1]; {
		case ref == "$${":
			return "${"
		case name == "":
			if !n.broken {
				x.fail(path, n, "${ has no name and } behind it", `next: write "${NAME}", or $${ for the two signs themselves`)
			}
			return ""
		default:
			n.vars = append(n.vars, name)
			if value, ok := x.env(name); ok && value != "" {
				return value
			}
			if strings.Contains(ref, ":-") {
				return m[2]
			}
			if !n.broken {
				x.fail(path, n, name+" is not set", "next: export it"+inPlaceOf(path, name))
			}
			return ""
		}
	})
	if onlyReferences && !strings.Contains(n.written, ":-") {
		n.show()
	}
	if n.plain {
		n.kind = plainKind(n.text)
	}
}

// inPlaceOf is what else to write for a secret.
func inPlaceOf(path, variable string) string {
	key := path[strings.LastIndexByte(path, '.')+1:]
	if !secretKey(key) {
		return `, or write the value itself, or "${` + variable + `:-VALUE}" for one to use without it`
	}
	owner := strings.TrimSuffix(strings.TrimPrefix(path, "targets."), "."+key)
	if !isKey(owner) {
		owner = "NAME"
	}
	return fmt.Sprintf(`, or write %s: "file:/run/secrets/%s"`, key, owner)
}

// plainKind is what a text without quotes is in YAML.
func plainKind(text string) kind {
	switch {
	case text == "true" || text == "false":
		return boolKind
	case integer.MatchString(text):
		return intKind
	case decimal.MatchString(text):
		return floatKind
	default:
		return stringKind
	}
}

var (
	integer = regexp.MustCompile(`^[-+]?[0-9]+$`)
	decimal = regexp.MustCompile(`^[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+)$`)
)

func (x *expander) file(path string, n *node) {
	name := strings.TrimPrefix(n.text, fileScheme)
	if name == "" {
		x.fail(path, n, "file: has no path behind it", `next: write "file:/run/secrets/NAME"`)
		return
	}
	if !filepath.IsAbs(name) && n.at.src != nil {
		name = filepath.Join(n.at.src.dir, name)
	}
	data, err := x.readFile(name)
	switch {
	case err != nil:
		x.fail(path, n, fmt.Sprintf("the file %s cannot be read: %s", name, reason(err)), "next: correct the path, or let this user read it")
		return
	case len(data) > maxValueFile:
		x.fail(path, n, fmt.Sprintf("the file %s has more than %d bytes", name, maxValueFile), "next: is it the right file?")
		return
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		x.fail(path, n, fmt.Sprintf("the file %s is empty", name), "next: put the value into it")
		return
	}
	n.text, n.kind, n.plain = text, stringKind, false
}

// reason is why a file cannot be read, without its name and without the words of Go.
func reason(err error) string {
	switch {
	case os.IsNotExist(err):
		return "there is no such file"
	case os.IsPermission(err):
		return "permission denied"
	}
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err.Error()
		}
		err = inner.Unwrap()
	}
}
