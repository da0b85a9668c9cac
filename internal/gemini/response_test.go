package gemini

import (
	"encoding/json"
	"testing"
)

func TestAPartThatIsNotKnownIsKeptWhole(t *testing.T) {
	t.Parallel()
	for raw, kept := range map[string]bool{
		`{"text":"a"}`: false, `{"text":""}`: false, `{"text":null}`: false, `{}`: false, `null`: false,
		`{"thought":true,"thoughtSignature":"AA=="}`: false, `{"functionCall":{"name":"f"}}`: false, `{"inlineData":{}}`: false,
		`{"executableCode":{"code":"1"}}`: true, `{"text":{"a":1}}`: true, `{"newer":0,"thought":true}`: true, `{"newer":null}`: false,
	} {
		var p Part
		_ = json.Unmarshal([]byte(raw), &p)
		if got := p.Raw != nil; got != kept || kept && string(p.Raw) != raw {
			t.Errorf("%s: kept %s", raw, p.Raw)
		}
	}
}

func TestBytesOfEitherAlphabet(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"+/8="`: "\xfb\xff", `"-_8"`: "\xfb\xff", `"-_8="`: "\xfb\xff", `"\u002b/8"`: "\xfb\xff", `"?"`: "", `7`: "", `null`: "", `""`: "",
	} {
		var b Bytes
		if err := json.Unmarshal([]byte(raw), &b); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", raw, b, err)
		}
	}
}

func TestEnumsByNameOrNumber(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Enum{`"STOP"`: "STOP", `1`: "1", `-1`: "-1", `null`: "", `"\u0041"`: "A", `{}`: "", `true`: ""} {
		var e Enum
		if err := json.Unmarshal([]byte(raw), &e); err != nil || e != want {
			t.Errorf("%s: %q, %v", raw, e, err)
		}
	}
}

func TestAnErrorMemberThatSaysNothing(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{"": false, "null": false, "{}": false, `""`: false, "false": false, `{"code":1}`: true, `"x"`: true} {
		if Says(json.RawMessage(raw)) != want {
			t.Errorf("%q: want %v", raw, want)
		}
	}
}

// FuzzDecode: nothing panics, and what is no JSON is an error.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "{}", "[]", "[{},{}]", `{"candidates":[{"content":{"parts":[{"text":1},null]}}]}`, "\ufeff{}", `"x"`, "1", "{} x", "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := Decode(raw)
		if err == nil && len(raw) == 0 {
			t.Errorf("nothing became %+v", all)
		}
		for i := range all {
			if _, err := json.Marshal(all[i].Error); err != nil && len(all[i].Error) > 0 {
				t.Errorf("the error member is no JSON: %q", all[i].Error)
			}
		}
	})
}
