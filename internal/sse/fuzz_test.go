package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// FuzzReader holds three things for any stream: however it is cut into reads the
// result is the same, the result is nothing but one-line data events, and its
// events are those of a plain model of the rules (which takes its JSON from
// encoding/json and looks at everything again at each line).
func FuzzReader(f *testing.F) {
	for i, c := range rewriteCases() {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in), uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		whole := readAll(bytes.NewReader(in))
		random := rand.New(rand.NewPCG(seed, 0))
		split := readAll(&chopper{rest: in, random: random})
		if !bytes.Equal(whole.out, split.out) || !errors.Is(split.err, whole.err) ||
			!bytes.Equal(whole.payload, split.payload) {
			t.Fatalf("reads matter:\n%q %v\n%q %v", whole.out, whole.err, split.out, split.err)
		}
		got := events(t, whole.out)
		want := model(in)
		if len(got) != len(want) {
			t.Fatalf("got %d events %q\nwant %d %q", len(got), got, len(want), want)
		}
		for i := range want {
			compare(t, got[i], want[i])
		}
	})
}

type result struct {
	out, payload []byte
	err          error
}

func readAll(in io.Reader) result {
	r := NewReader(io.NopCloser(in))
	out, err := io.ReadAll(r)
	return result{out, r.ErrorPayload(), err}
}

// chopper hands out its bytes in random pieces, the end now and then with the
// last of them.
type chopper struct {
	rest   []byte
	random *rand.Rand
}

func (c *chopper) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), c.random.IntN(9))], c.rest)
	c.rest = c.rest[n:]
	if len(c.rest) == 0 && (n == 0 || c.random.IntN(2) == 0) {
		return n, io.EOF
	}
	return n, nil
}

// events takes the output apart and fails on anything that is not its shape.
func events(t *testing.T, out []byte) []string {
	t.Helper()
	if len(out) == 0 {
		return nil
	}
	text, ok := strings.CutSuffix(string(out), "\n\n")
	if !ok {
		t.Fatalf("output ends inside an event: %q", out)
	}
	list := strings.Split(text, "\n\n")
	for i, e := range list {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok || data == "" || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("event %q is not one line of data", e)
		}
		list[i] = data
	}
	return list
}

// An error member changes the form of the event; the table tests hold which
// form. Here it is enough that parsers find what they look for.
var (
	errorKey    = regexp.MustCompile(`(?i)"error":`)
	startsError = regexp.MustCompile(`^\{"error":`)
	emptyError  = regexp.MustCompile(`^\{"error":(null|false|"")`)
)

func compare(t *testing.T, got, want string) {
	t.Helper()
	if json.Valid([]byte(want)) && !json.Valid([]byte(got)) {
		t.Fatalf("event %q became invalid: %q", want, got)
	}
	if json.Valid([]byte(got)) && emptyError.MatchString(got) {
		t.Fatalf("event looks like an error and is none: %q", got)
	}
	if errorKey.MatchString(want) || startsError.MatchString(got) {
		return
	}
	if got != want {
		t.Fatalf("got event %q, want %q", got, want)
	}
}

var lineEnd = regexp.MustCompile("\r\n|\r|\n")

// model returns the events of a stream as compact JSON or text.
func model(in []byte) []string {
	var list, data []string
	named := ""
	emit := func() bool {
		text := strings.Trim(strings.Join(data, "\n"), " \t\n")
		if text != "[DONE]" || len(data) > 1 {
			if !json.Valid([]byte(text)) {
				return false
			}
			var b bytes.Buffer
			_ = json.Compact(&b, []byte(text))
			text = b.String()
		}
		list, data = append(list, text), nil
		return true
	}
	give := func() {
		if len(data) > 0 && kindOf([]byte(named)) != kindPing {
			list = append(list, strings.ReplaceAll(strings.Trim(strings.Join(data, "\n"), " \t\n"), "\n", "\t"))
		}
		data = nil
	}
	lines := lineEnd.Split(string(in), -1)
	for i, line := range lines {
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		last := i == len(lines)-1
		if line == "" && !last {
			give()
			named = ""
			continue
		}
		line = strings.Trim(line, " \t")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case name == "" || name == "id" || name == "retry":
			continue
		case name == "event":
			named = strings.Trim(value, " \t")
			continue
		case name == "data":
			value = strings.TrimPrefix(value, " ")
		case line[0] == '{' || line[0] == '[' || halfJSON(data):
			value = line
		default:
			if last && len(data) == 0 && strings.HasPrefix("data:", line) {
				return append(list, line)
			}
			continue
		}
		if len(data) == 0 {
			if value = strings.Trim(value, " \t"); value == "" {
				if last && name == "data" {
					return append(list, line)
				}
				continue
			}
		}
		data = append(data, value)
		emit()
	}
	give()
	return list
}

// halfJSON reports whether data begins an object or array whose brackets and
// strings are in order so far and not closed.
func halfJSON(data []string) bool {
	if len(data) == 0 {
		return false
	}
	text := strings.Join(data, "\n")
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	text = regexp.MustCompile(`"([^"\\\n]|\\[^\n])*"`).ReplaceAllString(text, "")
	if strings.Contains(text, `"`) {
		return false
	}
	depth := 0
	for _, c := range text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return false
		}
	}
	return true
}
