package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options are for programs that read their configuration in a way of their own. The zero Options are those of [Load].
type Options struct {
	// Env is the environment as os.Environ gives it; nil is that of the process.
	Env []string
	// Overlay is the name of the environment, such as "prod": llm.prod.yaml goes over llm.yaml. "" is what the
	// variable LLM_ENV says, and no overlay if it says nothing.
	Overlay string
	// ReadFile reads the files, those of file: values too; nil reads them from the disk, none further than is needed
	// to tell that it is too large.
	ReadFile func(name string) ([]byte, error)
}

// EnvOverlay is the variable that names the environment, and with it the overlay.
const EnvOverlay = "LLM_ENV"

// Load reads the file at path, the overlay that LLM_ENV names, and the environment, whose variables go over both. With
// path "" it reads the environment only. An error is an [*Error] and holds everything that is wrong. Load sends
// nothing and starts nothing.
func Load(path string) (*Config, error) { return LoadWith(path, nil) }

// LoadWith is [Load] with options; nil are the zero Options.
func LoadWith(path string, o *Options) (*Config, error) {
	if o == nil {
		o = &Options{}
	}
	environ := o.Env
	if environ == nil {
		environ = os.Environ()
	}
	l := newLoader(lookup(environ), o.ReadFile)
	l.environ = environ
	if path == "" {
		return l.load(nil, "")
	}
	base := l.read(path, 0)
	if overlay, from := l.overlayOf(o); overlay != "" {
		if over := l.overlay(path, overlay, from); over != nil {
			base = merge(base, over, 0)
		}
	}
	return l.load(base, path)
}

// Parse is [Load] for a text and a lookup of variables; a nil env is an empty environment. Errors call the text
// "llm.yaml", and file: values with a relative path begin at the working directory. Parse knows no names of
// variables but its own, so it cannot warn of mistyped ones, and it reads no overlay.
func Parse(yaml []byte, env func(string) (string, bool)) (*Config, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	l := newLoader(env, nil)
	src := newSource(DefaultFile, "", 0, string(yaml))
	l.files = append(l.files, DefaultFile)
	return l.load(parse(src, normal(yaml), &l.report), DefaultFile)
}

// DefaultFile is the name of a configuration where none is given.
const DefaultFile = "llm.yaml"

// lookup finds variables in a list such as that of os.Environ. As there, the last of a name counts.
func lookup(environ []string) func(string) (string, bool) {
	m := make(map[string]string, len(environ))
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// loader makes one Config.
type loader struct {
	env      func(string) (string, bool) // a variable that is empty is not set
	environ  []string
	readFile func(string) ([]byte, error)
	files    []string
	report   report
	config   *Config
	tree     *tree
}

func newLoader(env func(string) (string, bool), readFile func(string) ([]byte, error)) *loader {
	if readFile == nil {
		readFile = readBounded
	}
	l := &loader{readFile: readFile}
	l.env = func(name string) (string, bool) {
		value, ok := env(name)
		return value, ok && value != ""
	}
	return l
}

// readBounded is os.ReadFile for what may have no end, such as a device.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// normal takes off a byte order mark and turns line ends of Windows into those of the rest of the world, so that
// columns are right.
func normal(text []byte) []byte {
	s := strings.TrimPrefix(string(text), "\ufeff")
	return []byte(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}

// read is the tree of a file, nil if it has no content or cannot be read, which is then reported.
func (l *loader) read(path string, order int) *node {
	data, err := l.readFile(path)
	text := normal(data)
	src := newSource(path, filepath.Dir(path), order, string(text))
	if err != nil {
		l.report.add(place{src: src}, "", "cannot be read: "+reason(err), "", "next: correct the path, or let this user read it")
		return nil
	}
	l.files = append(l.files, path)
	return parse(src, text, &l.report)
}

func (l *loader) overlayOf(o *Options) (name string, from place) {
	if o.Overlay != "" {
		return o.Overlay, place{}
	}
	name, _ = l.env(EnvOverlay)
	return name, place{variable: EnvOverlay}
}

// overlay is the tree of the overlay of a file. One that is named and is not there is an error: the base alone
// might be another environment's.
func (l *loader) overlay(path, name string, from place) *node {
	if !isKey(name) || strings.Contains(name, "..") {
		l.report.add(from, "", "the name of the environment has other signs than letters, digits, - and _", "", "next: write one such as prod")
		return nil
	}
	extension := filepath.Ext(path)
	base := strings.TrimSuffix(path, extension)
	file := base + "." + name + extension
	if _, err := l.readFile(file); os.IsNotExist(err) {
		note := "next: make the file (it may be empty), or leave " + EnvOverlay + " out"
		found, _ := filepath.Glob(base + ".*" + extension)
		for i := range found {
			found[i] = strings.TrimSuffix(strings.TrimPrefix(found[i], base+"."), extension)
		}
		fix := ""
		if near := nearest(name, found); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if len(found) > 0 {
			note = "there are: " + list(found)
		}
		l.report.add(from, "", fmt.Sprintf("%s names the environment %s, but there is no file %s", overlayWord(from), quoteKey(name), file), fix, note)
		return nil
	}
	return l.read(file, 1)
}

func overlayWord(from place) string {
	if from.variable != "" {
		return "it"
	}
	return "the overlay"
}

// merge puts over on base: maps key by key, targets by name, all else is replaced. A key without a value takes the
// base's away.
func merge(base, over *node, depth int) *node {
	switch {
	case base == nil || over.broken:
		return over
	case depth > 0 && over.kind == nullKind, over == nil:
		return base
	case base.kind != mapKind || over.kind != mapKind:
		return over
	}
	out := *base
	out.entries = slices.Clone(base.entries)
	for _, e := range over.entries {
		i := slices.IndexFunc(out.entries, func(b entry) bool { return b.key == e.key })
		switch {
		case i < 0:
			out.entries = append(out.entries, e)
		case e.value.kind == nullKind && !e.value.broken:
			out.entries = slices.Delete(out.entries, i, i+1)
		case depth == 0 && e.key == "targets":
			out.entries[i] = entry{key: e.key, at: e.at, value: mergeTargets(out.entries[i].value, e.value)}
		default:
			out.entries[i] = entry{key: e.key, at: e.at, value: merge(out.entries[i].value, e.value, depth+1)}
		}
	}
	return &out
}

func mergeTargets(base, over *node) *node {
	if base.kind != listKind || over.kind != listKind {
		return over
	}
	out := *base
	out.items = slices.Clone(base.items)
	for k, item := range over.items {
		same := func(other *node) bool { return sameName(other, item) }
		i := slices.IndexFunc(out.items, same)
		if i < 0 || slices.ContainsFunc(over.items[:k], same) { // one that is named twice in a file is told of later
			out.items = append(out.items, item)
		} else {
			out.items[i] = merge(out.items[i], item, 1)
		}
	}
	return &out
}

// sameName reports whether two targets have one name.
func sameName(a, b *node) bool {
	x, y := a.get("name"), b.get("name")
	return x != nil && y != nil && x.kind.scalar() && x.written == y.written
}

// load makes the Config of a tree, which may be nil.
func (l *loader) load(root *node, path string) (*Config, error) {
	if root == nil && l.report.failed() {
		return nil, l.report.err() // nothing could be read
	}
	l.tree = &tree{file: path, root: root, origin: map[string]place{}, files: l.files, targets: map[string]*node{}}
	l.config = &Config{tree: l.tree}
	var file File
	if root != nil {
		x := &expander{env: l.env, readFile: l.readFile, report: &l.report}
		x.all("", root, false)
		d := &decoder{report: &l.report, origin: l.tree.origin}
		d.structure("", root, reflectValue(&file))
	}
	l.plans(&file)
	l.retry(&file)
	l.breaker(&file)
	l.targets(&file)
	l.environment()
	l.check(&file)
	if err := l.report.err(); err != nil {
		return nil, err
	}
	return l.config, nil
}
