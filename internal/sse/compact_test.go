package sse

import (
	"bytes"
	"encoding/json"
	"testing"
)

func jsonSamples() []string {
	return []string{
		``, ` `, `null`, `nul`, `true`, ` false `, `truer`, `{}`, `[]`, `{`, `[`, `}`, `]`, `[}`, `{]`,
		`0`, `-0`, `-`, `01`, `1.`, `1.5`, `.5`, `1e`, `1e+`, `1E-7`, `1e5.0`, `+1`, `1 2`, `0x1`, `NaN`,
		`""`, `"`, `"\`, `"\"`, `"\""`, `"a\/b"`, `"\u00e9"`, `"\u00E9"`, `"\u00g0"`, `"\u00`, `"\x"`, "\"a\nb\"", "\"\x00\"", "\"\xff\"", "\"\x7f\"",
		`[1, 2 ,3]`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1,"b":[{}]}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a":1 "b":2}`, `{"a" : 1}`,
		`{"error" : { "a" : 1 } , "b" : 2 }`, `{"b":2,"error":null}`, `{"error":null,"b":2}`, `{"error":"","error":false}`, "\v1", "\xa01", "{}\x00",
	}
}

func TestCompactAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, sample := range jsonSamples() {
		agree(t, []byte(sample))
	}
}

// FuzzCompact holds that the compactor takes what encoding/json takes, and makes
// the same of it.
func FuzzCompact(f *testing.F) {
	for _, sample := range jsonSamples() {
		f.Add([]byte(sample))
	}
	f.Fuzz(agree)
}

func agree(t *testing.T, in []byte) {
	t.Helper()
	const before = "before "
	c := compactor{dst: []byte(before), base: len(before), src: in}
	ok := c.compact()
	if ok != json.Valid(in) {
		t.Fatalf("%q: valid %v, encoding/json says %v", in, ok, !ok)
	}
	if !ok {
		return
	}
	var want bytes.Buffer
	if err := json.Compact(&want, in); err != nil || before+want.String() != string(c.dst) {
		t.Fatalf("%q became %q, want %q", in, c.dst, want.String())
	}
	if c.err.found() {
		if first := c.errorFirst(); !json.Valid(first) || !startsError.Match(first) || emptyError.Match(first) {
			t.Fatalf("%q with its error first became %q", in, first)
		}
		return
	}
	if c.lead > c.base+1 {
		if c.dropLead(); !json.Valid(c.dst[c.base:]) || emptyError.Match(c.dst[c.base:]) {
			t.Fatalf("%q without its lead became %q", in, c.dst[c.base:])
		}
	}
}
