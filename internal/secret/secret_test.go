package secret_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

const key = "sk-CANARY-0123456789-abcdefgh"

func TestNoWordRepeatsACredential(t *testing.T) {
	t.Parallel()
	c := secret.Of("", "AKID", key, "other-secret-of-many-letters")
	for word, want := range map[string]string{
		key:                              "",
		"bad-" + key:                     "",
		key[:len(key)-4]:                 "", // most of it
		key[3:9]:                         key[3:9],
		"throttled":                      "throttled",
		"AKID":                           "AKID", // too short to be a secret
		"x other-secret-of-many-letters": "",
	} {
		if got := c.Clean(word); got != want {
			t.Errorf("%q became %q", word, got)
		}
	}
	e := &llm.Error{Code: key, RequestID: "r " + key, Filtered: []string{"hate", key + " (high)"}, Message: "no such key: " + key}
	c.CleanError(e)
	if e.Code != "" || e.RequestID != "" || e.Filtered[0] != "hate" || e.Filtered[1] != "other" || e.Message != "no such key: [the key]" {
		t.Errorf("%+v", e)
	}
	r := &llm.Response{ID: key, ModelVersion: key, RawFinish: key}
	if c.CleanResponse(r); r.ID+r.ModelVersion+r.RawFinish != "" {
		t.Errorf("%+v", r)
	}
}

func TestACredentialDoesNotPrintItself(t *testing.T) {
	t.Parallel()
	c := secret.Of(key)
	raw, _ := json.Marshal(map[string]any{"c": c})
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s", c, c, c), string(raw)} {
		if strings.Contains(text, "CANARY") {
			t.Error(text)
		}
	}
}

type sdkError struct{ Message string }

func (e sdkError) Error() string { return "the SDK: " + e.Message }

func TestTheTextOfACauseIsNotPrinted(t *testing.T) {
	t.Parallel()
	if secret.Cause(nil) != nil {
		t.Error("nil is no cause")
	}
	err := secret.Cause(fmt.Errorf("%w: %w", sdkError{"CANARY"}, io.ErrUnexpectedEOF))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		if text := fmt.Sprintf(verb, err); strings.Contains(text, "CANARY") || text == "" {
			t.Errorf("%s: %s", verb, text)
		}
	}
	sdk, ok := errors.AsType[sdkError](err)
	if !ok || sdk.Message != "CANARY" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the cause is not there: %v", err)
	}
}
