package llm_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

func TestCloneIsDeep(t *testing.T) {
	t.Parallel()
	r := request
	r.Accept = func(*llm.Response) error { return nil }
	c := r.Clone()
	compareApart(t, "Request", reflect.ValueOf(&r).Elem(), reflect.ValueOf(c).Elem())

	before := mustJSON(t, r)
	scramble(reflect.ValueOf(c).Elem())
	if after := mustJSON(t, r); after != before {
		t.Errorf("a change of the clone changed the original\n got: %s\nwant: %s", after, before)
	}
}

func TestCloneOfNothing(t *testing.T) {
	t.Parallel()
	if (*llm.Request)(nil).Clone() != nil {
		t.Error("the clone of nil is not nil")
	}
	if c := new(llm.Request).Clone(); !reflect.DeepEqual(c, &llm.Request{}) {
		t.Errorf("the clone of the zero request is %+v", c)
	}
	bad := &llm.Request{Messages: []llm.Message{{Parts: llm.Parts{nil, &llm.Text{}}}}} // a Detached worker may see it
	if c := bad.Clone(); !reflect.DeepEqual(c, bad) {
		t.Errorf("got %+v", c)
	}
}

// compareApart walks two values that must be equal and share no memory that can be written. Every field must
// be set, so that one added later cannot be forgotten.
func compareApart(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	if a.Kind() != reflect.Struct && a.Kind() != reflect.Bool && a.IsZero() && a.Kind() != reflect.Uint8 && a.Kind() != reflect.Float64 {
		return // filled somewhere else in the value; TestGoldenValuesAreFilled sees to that
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		compareApart(t, path, a.Elem(), b.Elem())
	case reflect.Interface:
		if a.Elem().Type() != b.Elem().Type() {
			t.Fatalf("%s: %s became %s", path, a.Elem().Type(), b.Elem().Type())
		}
		compareApart(t, path, a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			t.Fatalf("%s: length %d became %d", path, a.Len(), b.Len())
		}
		if a.Len() > 0 && a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		for i := range a.Len() {
			compareApart(t, fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	case reflect.Map:
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		for _, k := range a.MapKeys() {
			compareApart(t, fmt.Sprintf("%s[%v]", path, k), a.MapIndex(k), b.MapIndex(k))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			compareApart(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Func:
		if b.IsNil() {
			t.Errorf("%s is lost", path)
		}
	default:
		if !a.Equal(b) {
			t.Errorf("%s: %v became %v", path, a, b)
		}
	}
}

// scramble changes all that can be reached through pointers, slices and maps.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() { // the value inside cannot be set, but what it points to can
			scramble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scramble(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			scramble(v.MapIndex(k))
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scrambled")
		}
	case reflect.Uint8:
		if v.CanSet() {
			v.SetUint(v.Uint() ^ 1)
		}
	case reflect.Int, reflect.Int64:
		if v.CanSet() {
			v.SetInt(-1)
		}
	case reflect.Float64:
		if v.CanSet() {
			v.SetFloat(-1)
		}
	default: // nothing to change, or nothing that JSON shows
	}
}

func TestCloneKeepsTheSameJSON(t *testing.T) {
	t.Parallel()
	var back llm.Request
	if err := json.Unmarshal([]byte(mustJSON(t, request.Clone())), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, request) {
		t.Errorf("got %+v", back)
	}
}
