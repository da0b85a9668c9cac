package bounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

func TestElementsAreCountedAsTheDecoderWould(t *testing.T) {
	t.Parallel()
	for _, array := range []string{
		"[]", "[ ]", "[1]", "[1,2]", `[{"a":[1,2],"b":{}},[3,4],"a,b","\",",null]`, `["\\",","]`, ` [1]`[1:], "[ [] , {} ]",
	} {
		var all []json.RawMessage
		if err := json.Unmarshal([]byte(array), &all); err != nil {
			t.Fatal(err)
		}
		if n := bounds.Elements([]byte(array)); n != len(all) {
			t.Errorf("%s: %d, not %d", array, n, len(all))
		}
	}
	for _, other := range []string{"", "[", "{}", "null", `"[1,2]"`, "]"} {
		if n := bounds.Elements([]byte(other)); n != 0 {
			t.Errorf("%q: %d", other, n)
		}
	}
	three := []byte("[1,2,3]")
	if bounds.TooMany(three, 3) || !bounds.TooMany(three, 2) {
		t.Error("3 elements are more than 2, and not more than 3")
	}
}

func TestNoCountIsNegativeNorOverflows(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]int64{-1: 0, math.MinInt64: 0, 0: 0, 7: 7} {
		if got := bounds.Count(n); got != want {
			t.Errorf("%d became %d", n, got)
		}
	}
	if most := bounds.Count(math.MaxInt64); most+most+most < most {
		t.Errorf("%d", most)
	}
}

func TestOfALongProblemTheHeadIsKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 2*bounds.Problem)
	for problem, want := range map[string]string{
		`{"code":1}`: `{"code":1}`,
		`{"code":"x","status":429,"message":"` + long + `"}`: `{"code":"x","status":429}`,
		`{"code":4` + strings.Repeat("2", 2*bounds.Problem):  `{}`,
		`"` + long + `"`: `{}`,
		`[` + long:       `{}`,
		long:             `{}`,
	} {
		if got := string(bounds.Head([]byte(problem))); got != want {
			t.Errorf("%.40s became %.80s", problem, got)
		}
	}
}

func TestABodyOfAnErrorIsWhole(t *testing.T) {
	t.Parallel()
	for pad := range 32 { // around the bound
		inner := `{"code":"x","message":"` + strings.Repeat("a", bounds.Problem-40+pad) + `"}`
		for _, reported := range []string{inner, `{"error":` + inner + `}`} {
			var body struct{ Error struct{ Code string } }
			if err := json.Unmarshal(bounds.ErrorBody([]byte(reported)), &body); err != nil || body.Error.Code != "x" {
				t.Errorf("%d bytes: %v, %+v", len(reported), err, body)
			}
		}
	}
}

func TestTheFieldThatIsTooLongIsNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<20+1)
	part := func(parts ...llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{llm.User("a"), {Role: llm.RoleUser, Parts: parts}}}
	}
	for field, req := range map[string]*llm.Request{
		"system":               {System: long},
		"messages[1].parts[0]": part(llm.ToolResult{Parts: llm.Parts{llm.Text{Text: long}}}),
		"messages[1].parts[1]": part(llm.Text{Text: long[:32<<20]}, llm.Reasoning{Text: long[:33<<20]}),
		"messages[1].parts[2]": part(llm.Text{}, llm.Text{}, llm.Media{Data: []byte(long[:48<<20+3])}),
		"tools":                {Tools: []llm.Tool{{Name: "f", Description: long}}},
		"output.json":          {Output: &llm.Schema{JSON: json.RawMessage(long)}},
		"extra.acme":           {Extra: map[string]json.RawMessage{"acme": json.RawMessage(long)}},
	} {
		_, err := bounds.CheckRequest(req, "acme")
		if !strings.Contains(err.Error(), field+": goes beyond") || strings.Contains(err.Error(), "xx") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if size, err := bounds.CheckRequest(part(llm.Text{Text: "four"}), "acme"); err != nil || size != len("a")+len("four") {
		t.Errorf("%d, %v", size, err)
	}
}

func TestTheGraceOfAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if far, near := bounds.Grace(t.Context()), bounds.Grace(ctx); far != time.Second || near != 500*time.Millisecond {
			t.Errorf("%v, %v", far, near)
		}
		start := time.Now()
		hung := make(chan time.Duration, 2)
		e := bounds.Ending{HangUp: func() { hung <- time.Since(start) }}
		wait := func(d time.Duration) { <-time.NewTimer(d).C }
		e.Pause() // before its time it does nothing
		e.Await(t.Context())
		wait(400 * time.Millisecond)
		e.Pause()
		wait(300 * time.Millisecond)
		e.Await(t.Context())
		if got := <-hung; got != time.Second {
			t.Errorf("hung up after %v", got)
		}
		e.Reopen()
		e.Await(t.Context())
		if got := <-hung; got != 2*time.Second {
			t.Errorf("hung up after %v", got)
		}
		e.Pause()
	})
}

func TestContentHasABound(t *testing.T) {
	t.Parallel()
	var c bounds.Content
	if err := c.Grow(bounds.Answer); err != nil {
		t.Error(err)
	}
	if err := c.Grow(1); !errors.Is(err, bounds.TooLarge) {
		t.Error(err)
	}
	late := bounds.Content{Late: true}
	if nothing, something := late.Grow(0), late.Grow(1); nothing != nil || !errors.Is(something, bounds.ErrLate) {
		t.Errorf("%v, %v", nothing, something)
	}
}

func TestAListIsDecodedWithinBounds(t *testing.T) {
	t.Parallel()
	var v struct{ A, B, C bounds.List[struct{ X int }] }
	long := "[" + strings.Repeat("1,", bounds.Parts) + "1]"
	if err := json.Unmarshal([]byte(`{"A":[{"x":1},2,{"x":3}],"B":null,"C":`+long+`}`), &v); err != nil {
		t.Fatal(err)
	}
	if got := v.A.Items; len(got) != 3 || got[2].X != 3 || v.A.TooMany || v.B.Items != nil || v.C.Items != nil || !v.C.TooMany {
		t.Errorf("%+v", v)
	}
}
