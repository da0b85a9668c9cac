package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What a file may have. A configuration of a hundred targets is far below all of them; what is above is a mistake
// or an attack, such as aliases of aliases.
const (
	maxBytes = 1 << 20
	maxDepth = 32
	maxNodes = 50_000
	// The YAML library takes the square of the number of tokens in some files. A thousand targets are below this.
	maxTokens = 40_000
)

// parse reads one file as a tree. It never panics; nil without a problem is a file without content.
func parse(src *source, text []byte, r *report) (root *node) {
	defer func() {
		if recover() != nil { // the YAML library's; it has no more to say
			r.add(place{src: src}, "", "this is no YAML", "", "next: look for the line that was changed last")
			root = nil
		}
	}()
	if len(text) > maxBytes {
		r.add(place{src: src}, "", fmt.Sprintf("the file has more than %d bytes", maxBytes), "", "next: is it the right file?")
		return nil
	}
	if !readable(src, text, r) {
		return nil
	}
	tokens := lexer.Tokenize(string(text))
	if len(tokens) > maxTokens {
		r.add(place{src: src}, "", fmt.Sprintf("the file has more than %d words and signs", maxTokens), "", "next: is it the right file?")
		return nil
	}
	if !shallow(src, tokens, r) {
		return nil
	}
	src.showSigns(tokens)
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		syntax(src, err, r)
		return nil
	}
	b := &builder{src: src, report: r, anchors: map[string]ast.Node{}, open: map[string]bool{}}
	for _, d := range file.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); directive || d.Body == nil { // %YAML 1.2 says nothing new
			continue
		}
		if root != nil {
			r.add(b.build(d.Body, 0).at, "", "a second document begins here", "keep one in a file", "")
			return nil
		}
		root = b.build(d.Body, 0)
	}
	if b.stopped {
		return nil
	}
	if root != nil && root.kind != mapKind && root.kind != nullKind {
		r.add(root.at, "", "the file holds "+root.kind.String()+" in place of keys", "write keys such as plans: and targets:", "")
		return nil
	}
	return root
}

// readable refuses bytes that are no UTF-8, which a name or a key would be sent with, and signs that nobody sees and
// YAML does not allow.
func readable(src *source, text []byte, r *report) bool {
	at := place{src: src, line: 1, hidden: true}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		r.add(place{src: src}, "", "the file is UTF-16", "", "next: save it as UTF-8")
		return false
	}
	for len(text) > 0 {
		sign, size := utf8.DecodeRune(text)
		at.col++
		switch {
		case sign == utf8.RuneError && size == 1:
			r.add(at, "", "a byte that is no UTF-8 stands here", "", "next: save the file as UTF-8")
			return false
		case sign == '\n':
			at.line, at.col = at.line+1, 0
		case sign == '\ufeff', unicode.IsControl(sign) && sign != '\t' && sign != '\u0085':
			r.add(at, "", fmt.Sprintf("a sign stands here that cannot be seen (U+%04X)", sign), "", "next: take it out")
			return false
		}
		text = text[size:]
	}
	return true
}

// shallow refuses what nests so deeply that the parser could run out of stack, which nothing can recover from.
func shallow(src *source, tokens token.Tokens, r *report) bool {
	depth, run, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position == nil {
			continue
		}
		if t.Position.Line != line {
			line, run = t.Position.Line, 0
		}
		switch t.Type { //nolint:exhaustive // the others do not nest
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType, token.AliasType:
			run++
		}
		if depth > maxDepth || depth == 0 && run > maxDepth {
			r.add(place{src: src, line: line, col: t.Position.Column, hidden: true}, "",
				fmt.Sprintf("this nests more than %d levels", maxDepth), "", "next: is it the right file?")
			return false
		}
	}
	return true
}

// syntax tells what the YAML library says, without the lines that it quotes.
func syntax(src *source, err error, r *report) {
	at, message := place{src: src}, ""
	var e yaml.Error
	if errors.As(err, &e) {
		message = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			at.line, at.col = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
	}
	if open, ok := openQuote(src, at); ok {
		r.add(open, "", "a quote is not closed", "close it", "")
		return
	}
	what, fix, note := explain(src, at, message)
	r.add(at, "", what, fix, note)
}

// openQuote is the last double quote that opens above a place and that nobody closes. YAML reads on from it to the
// opening quote of a later value, and finds the fault behind that, where nothing is wrong.
func openQuote(src *source, at place) (place, bool) {
	open, found := place{}, false
	for i := range min(at.line-1, len(src.lines)) {
		line, _, _ := strings.Cut(src.lines[i], " #")
		last := strings.LastIndexByte(line, '"')
		switch {
		case strings.Count(line, `"`)%2 == 0:
		case found:
			found = false
		case last > 0 && strings.ContainsRune(" [{,", rune(line[last-1])): // else it is a sign within a word
			open, found = place{src: src, line: i + 1, col: utf8.RuneCountInString(line[:last]) + 1}, true
		}
	}
	return open, found
}

// explain turns a message of the YAML library into what is wrong and what to write. Its own words are used only
// where they cannot quote the file.
func explain(src *source, at place, message string) (what, fix, note string) {
	line := ""
	if at.line >= 1 && at.line <= len(src.lines) {
		line = src.lines[at.line-1]
	}
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"), strings.Contains(message, "found character '\t'"):
		return "a tab stands where YAML wants blanks", "indent with blanks", ""
	case strings.Contains(line, "${") && strings.Contains(message, "must be specified"):
		return "${ without quotes inside { } or [ ]", `write it in quotes: "${NAME}"`, ""
	case strings.Contains(message, "must be specified"):
		return "a bracket is not closed before this", "close it with } or ]", ""
	case strings.Contains(message, "end character of"):
		return "a quote is not closed", "close it", ""
	case strings.Contains(message, "mapping value is not allowed"):
		return "a second colon in one value", `put the value in quotes, or each key on a line of its own`, ""
	case noColon.MatchString(line):
		return "there is no colon behind the key", "write KEY: VALUE", ""
	case noBlank.MatchString(line):
		return "there is no blank behind the colon", "write KEY: VALUE", ""
	case strings.Contains(message, "non-map value is specified"), strings.Contains(message, "value is not allowed in this context"):
		return "this is not at the level of the lines around it", "indent it like its neighbours", ""
	case strings.Contains(message, "invalid key"):
		return "this is no key", "write NAME: VALUE", ""
	default:
		return "this is no YAML", "", "next: check indentation, colons, quotes and brackets here and on the line before"
	}
}

// noColon is a key and one word, without a colon between them.
var noColon = regexp.MustCompile(`^[ -]*[a-z_]+ +[^ :#]+ *(#.*)?$`)

// noBlank is a key whose value stands right behind the colon.
var noBlank = regexp.MustCompile(`^[ -]*[a-z_]+:[^ ]`)

// showSigns marks braces, commas and the like as harmless, and the words that are keys of ours.
func (s *source) showSigns(tokens token.Tokens) {
	words := ownWords()
	for _, t := range tokens {
		if t.Position == nil {
			continue
		}
		switch t.Type {
		case token.MappingStartType, token.MappingEndType, token.SequenceStartType, token.SequenceEndType,
			token.CollectEntryType, token.MappingValueType, token.SequenceEntryType:
			s.show(t.Position.Line, t.Position.Column, t.Value)
		case token.StringType:
			if slices.Contains(words, t.Value) {
				s.show(t.Position.Line, t.Position.Column, t.Value)
			}
		default:
		}
	}
}

// isKey reports whether a text has the form of a key, so that it may be shown.
func isKey(key string) bool {
	ok := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return key != "" && len(key) <= 40 && strings.IndexFunc(key, func(r rune) bool { return !ok(r) }) < 0
}

// builder makes nodes of the parser's.
type builder struct {
	src     *source
	report  *report
	anchors map[string]ast.Node
	open    map[string]bool // the anchors that are being resolved
	path    string          // of what is being built
	count   int
	stopped bool
}

// inside builds what is at a path below.
func (b *builder) inside(path string, n ast.Node, depth int) *node {
	outer := b.path
	b.path = path
	m := b.build(n, depth)
	b.path = outer
	return m
}

func (b *builder) at(t *token.Token) place {
	p := place{src: b.src, line: 1, col: 1}
	if t != nil && t.Position != nil {
		p.line, p.col = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return p
}

// build returns the node of n. What it cannot use is a broken null.
func (b *builder) build(n ast.Node, depth int) *node {
	b.count++
	if b.stopped {
		return &node{broken: true}
	}
	if b.count > maxNodes || depth > maxDepth {
		b.stopped = true
		b.report.add(b.at(n.GetToken()), "", "this is too large or nests too deeply once aliases are put in", "",
			"next: write it with fewer anchors and levels")
		return &node{broken: true}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n, depth)
	case *ast.MappingValueNode: // a map of one key
		m := &node{kind: mapKind, at: b.at(n.Key.GetToken())}
		b.entry(m, n, depth)
		return m
	case *ast.SequenceNode:
		m := &node{kind: listKind, at: b.at(n.Start)}
		for i, item := range n.Values {
			m.items = append(m.items, b.inside(fmt.Sprintf("%s[%d]", b.path, i), item, depth+1))
		}
		return m
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		b.anchors[name] = n.Value
		b.open[name] = true
		defer delete(b.open, name)
		return b.build(n.Value, depth+1)
	case *ast.AliasNode:
		return b.alias(n, depth)
	case *ast.TagNode:
		return b.tagged(n, depth)
	default:
		return b.scalar(n)
	}
}

func (b *builder) fail(at place, what, fix string) *node {
	b.report.add(at, b.path, what, fix, "")
	return &node{at: at, broken: true}
}

func (b *builder) mapping(n *ast.MappingNode, depth int) *node {
	m := &node{kind: mapKind, at: b.at(n.Start)}
	if len(n.Values) > 0 && !n.IsFlowStyle {
		m.at = b.at(n.Values[0].Key.GetToken())
	}
	for _, v := range n.Values {
		b.entry(m, v, depth)
	}
	return m
}

func (b *builder) entry(m *node, v *ast.MappingValueNode, depth int) {
	at := b.at(v.Key.GetToken())
	if _, merge := v.Key.(*ast.MergeKeyNode); merge {
		b.merge(m, b.build(v.Value, depth+1), at)
		return
	}
	key, ok := b.key(v.Key)
	if !ok {
		b.fail(at, "this is no key", "write NAME: VALUE")
		return
	}
	value := b.inside(join(b.path, key), v.Value, depth+1)
	for i := range m.entries {
		if e := &m.entries[i]; e.key == key {
			if e.at.line == 0 { // from a <<, which gives way
				*e = entry{key: key, at: at, value: value}
				return
			}
			b.fail(at, fmt.Sprintf("the key %s is given twice", quoteKey(key)), fmt.Sprintf("leave out one; the other is at line %d", e.at.line))
			return
		}
	}
	m.entries = append(m.entries, entry{key: key, at: at, value: value})
}

// quoteKey is a key as a message shows it.
func quoteKey(key string) string {
	r := []rune(strings.Map(printable, key))
	if len(r) > 40 {
		r = append(r[:37], []rune("...")...)
	}
	return `"` + string(r) + `"`
}

func (b *builder) key(k ast.MapKeyNode) (string, bool) {
	t := k.GetToken()
	switch k.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
	default:
		return "", false
	}
	if isKey(t.Value) {
		b.src.show(t.Position.Line, t.Position.Column, strings.TrimSpace(t.Origin))
	}
	return t.Value, true
}

// merge adds what a << brings and the map does not have.
func (b *builder) merge(m, from *node, at place) {
	maps := []*node{from}
	if from.kind == listKind {
		maps = from.items
	}
	for _, f := range maps {
		if f.kind != mapKind {
			if !f.broken {
				b.fail(at, "<< wants a map, or a list of maps", "write <<: *NAME")
			}
			continue
		}
		for _, e := range f.entries {
			if m.get(e.key) == nil {
				m.entries = append(m.entries, entry{key: e.key, value: e.value}) // without a place: a key of the map replaces it
			}
		}
	}
}

func (b *builder) alias(n *ast.AliasNode, depth int) *node {
	name := n.Value.GetToken().Value
	target, ok := b.anchors[name]
	switch {
	case !ok:
		known := make([]string, 0, len(b.anchors))
		for a := range b.anchors {
			known = append(known, a)
		}
		fix := "put &NAME before the value that is meant"
		if near := nearest(name, sorted(known)); near != "" {
			fix = fmt.Sprintf("did you mean *%s?", near)
		}
		return b.fail(b.at(n.Start), "no anchor before this has the name of this alias", fix)
	case b.open[name]:
		return b.fail(b.at(n.Start), "this alias stands inside its own anchor", "leave it out")
	}
	b.open[name] = true
	defer delete(b.open, name)
	return b.build(target, depth+1)
}

// tagged takes the tags of YAML's own core; !!str makes text of a number.
func (b *builder) tagged(n *ast.TagNode, depth int) *node {
	v := n.Value
	switch tag := n.Start.Value; tag {
	case "!!str", "!":
		m := b.build(v, depth+1)
		if m.kind.scalar() && !m.broken {
			m.kind, m.plain = stringKind, false
		}
		return m
	case "!!int", "!!float", "!!bool", "!!map", "!!seq", "!!null":
		return b.build(v, depth+1)
	default:
		return b.fail(b.at(n.Start), "tags are not known here", "leave it out")
	}
}

func (b *builder) scalar(n ast.Node) *node {
	t := n.GetToken()
	m := &node{at: b.at(t), plain: true}
	switch n := n.(type) {
	case *ast.NullNode, nil:
		m.written = "null"
		return m
	case *ast.BoolNode:
		m.kind = boolKind
	case *ast.IntegerNode:
		m.kind = intKind
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		m.kind = floatKind
	case *ast.StringNode:
		m.kind = stringKind
		m.plain = t.Type == token.StringType
	case *ast.LiteralNode:
		m.kind, m.plain, m.at = stringKind, false, b.at(n.Start)
		m.text, m.written = n.Value.Value, n.Value.Value
		return m
	default:
		return b.fail(m.at, "this is no value", "write text, a number, a list or a map")
	}
	m.text, m.written, m.source = t.Value, t.Value, strings.TrimSpace(t.Origin)
	return m
}
