package splice_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/splice"
)

// request has values of each kind.
type request struct {
	Text  string            `json:"text"`
	More  []string          `json:"more"`
	Data  []byte            `json:"data"`
	Inner json.RawMessage   `json:"inner"`
	Notes map[string]string `json:"notes"`
}

func (r request) with(v *splice.Values) request {
	r.Text, r.Data = v.Text(r.Text), v.Bytes(r.Data)
	more := make([]string, len(r.More))
	for i, s := range r.More {
		more[i] = v.Text(s)
	}
	r.More = more
	return r
}

func plain(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is written is what encoding/json makes of the same values, whatever is in them and wherever they are cut.
func TestItIsWhatTheEncoderWrites(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "aé€🙂\"\\\n<&", "é€🙂", "\x01\u2028", "\xff\xe2\x80", "🙂"} {
		for _, n := range []int{1, 1 << 10, 1<<16 - 1, 1 << 18, 700_001} {
			text := strings.Repeat(unit, n/len(unit)+1)
			r := request{
				Text: text, More: []string{"short", text, "", text[:len(text)/2]}, Data: []byte(text),
				Inner: json.RawMessage(`{"a":[1,2]}`), Notes: map[string]string{"k": "v"},
			}
			v := splice.For(1 << 20)
			skeleton := plain(t, r.with(v))
			if n > 1<<15 && len(skeleton) > 4<<10 {
				t.Errorf("%q: the encoder was given %d bytes", unit, len(skeleton))
			}
			got, err := v.Write(t.Context(), skeleton)
			if want := plain(t, r); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%q × %d: %d bytes, want %d (%v)", unit, n, len(got), len(want), err)
			}
		}
	}
}

func TestAShortRequestIsLeftAlone(t *testing.T) {
	t.Parallel()
	v := splice.For(1<<20 - 1)
	long := strings.Repeat("x", 1<<20)
	if v != nil || v.Text(long) != long || len(v.Bytes([]byte(long))) != len(long) {
		t.Error("a value was taken out")
	}
	if got, err := v.Write(t.Context(), []byte(long)); err != nil || string(got) != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, ok := v.TextOf(long); ok {
		t.Error("a text stands for another")
	}
	if _, ok := v.BytesOf([]byte(long)); ok {
		t.Error("bytes stand for others")
	}
}

// What looks like a stand-in and is none stays as it is.
func TestOnlyStandInsAreReplaced(t *testing.T) {
	t.Parallel()
	v := splice.For(1 << 20)
	text, data := strings.Repeat("é\xff", 1<<10), bytes.Repeat([]byte{7}, 1<<10)
	mark, bytesMark := v.Text(text), v.Bytes(data)
	if got, ok := v.TextOf(mark); !ok || got != strings.Repeat("é\ufffd", 1<<10) {
		t.Errorf("%v, %d bytes", ok, len(got))
	}
	if got, ok := v.BytesOf(bytesMark); !ok || !bytes.Equal(got, data) {
		t.Errorf("%v, %d bytes", ok, len(got))
	}
	other := splice.For(1 << 20).Text(text)
	beyond := append(bytes.Clone(bytesMark[:22]), 9, 0)
	for _, s := range []string{"", "x", other, mark[:31], mark + "x", strings.Repeat("!", 32), base64.StdEncoding.EncodeToString(beyond)} {
		if _, ok := v.TextOf(s); ok {
			t.Errorf("%q stands for something", s)
		}
		in := string(plain(t, []string{s}))
		if out, err := v.Write(t.Context(), []byte(in)); err != nil || s != mark+"x" && string(out) != in {
			t.Errorf("%q became %d bytes, %v", s, len(out), err)
		}
	}
}

// stepped is a context that is over from its nth look on.
type stepped struct {
	context.Context
	looks, from int
}

var errOver = errors.New("over")

func (s *stepped) Err() error {
	if s.looks++; s.looks >= s.from {
		return errOver
	}
	return nil
}

// The context is looked at before every piece, and nothing is written behind the look that found it over.
func TestItStopsWhenTheContextIsOver(t *testing.T) {
	t.Parallel()
	v := splice.For(64 << 20)
	r := request{Text: strings.Repeat("\x01", 1<<20), Data: bytes.Repeat([]byte{1}, 1<<20)}
	skeleton := plain(t, r.with(v))
	whole := &stepped{Context: t.Context(), from: 1 << 30}
	all, err := v.Write(whole, skeleton)
	if err != nil || whole.looks < 12 || len(all) < 7<<20 {
		t.Fatalf("%d looks, %d bytes, %v", whole.looks, len(all), err)
	}
	for from := 1; from <= whole.looks; from++ {
		ctx := &stepped{Context: t.Context(), from: from}
		got, err := v.Write(ctx, skeleton)
		if !errors.Is(err, errOver) || ctx.looks > from+2 || len(got) > from*(6*3<<16)+len(skeleton) {
			t.Fatalf("over at look %d: %d looks, %d bytes, %v", from, ctx.looks, len(got), err)
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("a", []byte("b"))
	f.Add("\"\\\u2028\xff", []byte{0})
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		r := request{Text: strings.Repeat(text, 1+2000/(len(text)+1)), Data: bytes.Repeat(data, 1+2000/(len(data)+1)), More: []string{text}}
		v := splice.For(1 << 20)
		got, err := v.Write(t.Context(), plain(t, r.with(v)))
		if err != nil || !bytes.Equal(got, plain(t, r)) {
			t.Errorf("%q: %v", got, err)
		}
	})
}
