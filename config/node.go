package config

import (
	"regexp"
	"strings"
)

// kind is the form of a node.
type kind uint8

const (
	nullKind kind = iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	mapKind
)

// String is the kind in the words of an error.
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a number", "text", "a list", "a map"}[k]
}

// node is one value of a file, with its place.
type node struct {
	kind    kind
	at      place
	text    string // of a scalar: its value, ${VAR} and file: replaced
	written string // of a scalar: as it stands in the file, without quotes
	source  string // of a scalar: as it stands in the file, with quotes
	plain   bool   // of a scalar: without quotes, so that what a variable holds decides its kind
	vars    []string
	entries []entry
	items   []*node
	broken  bool // an error about it has been told
}

// entry is one key of a map.
type entry struct {
	key   string
	at    place
	value *node
}

func (k kind) scalar() bool { return k < listKind }

// get returns the value of a key, nil if there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

// changed says that what the file says is not the value itself.
func (n *node) changed() bool { return len(n.vars) > 0 || n.text != n.written }

// quote is the value as a message shows it: as it stands in the file, never what a variable or a file held.
func (n *node) quote() string {
	const most = 40
	text := []rune(strings.Map(printable, n.written))
	if len(text) > most {
		text = append(text[:most-3], []rune("...")...)
	}
	return string(text)
}

// risky reports whether a value may hold a secret whatever its key is: an address with a password, a query or a long
// word in its path, and one that is no address at all, in which nobody can tell what is which.
func (n *node) risky() bool {
	return strings.ContainsAny(n.written, "@?") || strings.Contains(n.written, "//") && !plainAddress.MatchString(n.written)
}

var plainAddress = regexp.MustCompile(`^[a-z0-9]+://([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?(/[A-Za-z0-9._-]{0,15})*$`)

// secrets are the values below a key that may hold one.
func (n *node) secrets(key string, secret bool) (all []string) {
	secret = secret || secretKey(key)
	const shortest = 4 // what is shorter is part of many words
	if n.kind.scalar() && len(n.text) >= shortest && (secret || n.risky() || n.changed()) {
		all = append(all, n.text)
	}
	for _, e := range n.entries {
		all = append(all, e.value.secrets(e.key, secret)...)
	}
	for _, item := range n.items {
		all = append(all, item.secrets(key, secret)...)
	}
	return all
}

// show marks the value as harmless.
func (n *node) show() {
	if n.kind.scalar() && n.source != "" && !n.risky() {
		n.at.src.show(n.at.line, n.at.col, n.source)
	}
}

// variables are the names of all ${VAR} in the value and below.
func (n *node) variables() []string {
	if n == nil {
		return nil
	}
	names := n.vars
	for _, e := range n.entries {
		names = append(names[:len(names):len(names)], e.value.variables()...)
	}
	for _, item := range n.items {
		names = append(names[:len(names):len(names)], item.variables()...)
	}
	return names
}
