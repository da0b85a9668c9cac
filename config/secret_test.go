package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
)

// secretFile puts the canary wherever a credential may stand.
const secretFile = `
plans: {triage: {attempt: 5s}}
targets:
  - {name: variable, provider: azure, endpoint: "https://azure.example", deployment: d, api_key: "${KEY}"}
  - {name: file, provider: azure, endpoint: "https://azure.example", deployment: d, api_key: "file:/run/secrets/key"}
  - {name: plain, provider: azure, endpoint: "https://azure.example", deployment: d, api_key: canary-7f3a9c1e5b2d}
  - {name: parameters, provider: azure, endpoint: "https://azure.example", deployment: d, api_key: x, parameters: {user: "${KEY}"}}
  - name: block
    provider: azure
    endpoint: "https://user:canary-7f3a9c1e5b2d@azure.example"
    deployment: d
    api_key: |
      canary-7f3a9c1e5b2d
`

// leaks are the ways in which a value may be printed.
func leaks(v any) map[string]string {
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		out[verb] = fmt.Sprintf(verb, v)
	}
	data, err := json.Marshal(v)
	out["json"] = string(data) + fmt.Sprint(err)
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("text", "v", v)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("json", "v", v)
	out["slog"] = b.String()
	return out
}

// walk visits what can be reached through exported fields, pointers, maps and lists.
func walk(v reflect.Value, visit func(any), seen map[any]bool) {
	if !v.IsValid() || !v.CanInterface() {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() || seen[v.Interface()] {
			return
		}
		seen[v.Interface()] = true
	}
	visit(v.Interface())
	switch v.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Pointer, reflect.Interface:
		walk(v.Elem(), visit, seen)
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit, seen)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), visit, seen)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walk(k, visit, seen)
			walk(v.MapIndex(k), visit, seen)
		}
	}
}

func checkNoSecret(t *testing.T, v any) {
	t.Helper()
	visited := 0
	walk(reflect.ValueOf(v), func(x any) {
		visited++
		for how, text := range leaks(x) {
			for _, secret := range []string{canary, canary[:10], fmt.Sprintf("%x", canary), fmt.Sprintf("%q", canary)} {
				if strings.Contains(text, secret) {
					t.Errorf("%T shows the secret by %s: %s", x, how, text)
				}
			}
		}
	}, map[any]bool{})
	if visited == 0 {
		t.Error("nothing was looked at")
	}
}

func TestNoExportedValueShowsASecret(t *testing.T) {
	t.Parallel()
	read := func(text string) (*config.Config, error) {
		return config.LoadWith("llm.yaml", &config.Options{Env: []string{"KEY=" + canary}, ReadFile: disk([]byte(text))})
	}
	c, err := read(secretFile)
	if err != nil {
		t.Fatal(err)
	}
	checkNoSecret(t, c)
	checkNoSecret(t, *c)
	chain, err := c.Build(t.Context(), fakes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkNoSecret(t, chain.Status())
	if err := chain.Close(context.Background()); err != nil {
		t.Error(err)
	}
	// Each line with an error on it, and each target opened by a provider that repeats what it was given.
	lines := strings.Split(secretFile, "\n")
	for i, line := range lines {
		for _, wrong := range []string{strings.Replace(line, "name:", "nam:", 1), strings.Replace(line, "api_key:", "api_kye:", 1), line + "}", strings.Replace(line, ": ", ":", 2)} {
			changed := append(append(append([]string{}, lines[:i]...), wrong), lines[i+1:]...)
			c, err := read(strings.Join(changed, "\n"))
			if err == nil {
				_, err = c.Build(t.Context(), fakes(), nil)
			}
			if err != nil {
				checkNoSecret(t, err)
			}
		}
	}
	_, err = c.Build(t.Context(), map[string]llm.Factory{"azure": talkative}, nil)
	if err == nil {
		t.Fatal("the factory failed and nobody heard")
	}
	checkNoSecret(t, err)
	checkPanics(t, c)
}

// talkative fails with the settings in its error.
func talkative(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
	var s azureKeys
	if err := settings(&s); err != nil {
		return llm.Endpoint{}, err
	}
	return llm.Endpoint{}, fmt.Errorf("dialing with %+v: %w", s, errors.New("refused"))
}

// checkPanics looks at what wrong use of Settings says.
func checkPanics(t *testing.T, c *config.Config) {
	t.Helper()
	for i := range c.Targets {
		for _, into := range []any{
			nil,
			azureKeys{},
			(*azureKeys)(nil), new(string), new(map[string]string),
			&struct {
				Key int `yaml:"api_key"`
			}{},
			&struct {
				Key      chan int `yaml:"api_key"`
				Endpoint bool     `yaml:"endpoint"`
			}{},
		} {
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("Settings panics with %v", p)
					}
				}()
				if err := c.Targets[i].Settings(into); err == nil {
					t.Errorf("Settings into %T is no error", into)
				} else {
					checkNoSecret(t, err)
				}
			}()
		}
	}
}

// TestAnAddressIsShownWithoutItsSecrets: what is wrong with an address is often the password in it.
func TestAnAddressIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	shut := func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
		var s azureKeys
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		return llm.Endpoint{}, llm.Invalid("endpoint", "is no http or https address", "write it as https://HOST")
	}
	for address, shown := range map[string]bool{
		"https://user:" + canary + "@a.example": false, "https://user:" + canary: false, "https://[::" + canary: false,
		"https://a.example/%zz" + canary: false, "https://a.example/" + canary + "/v1": false, "//" + canary: false,
		"https://a.example/?key=" + canary: false, "https://a.example/#" + canary: false,
		"https://a.example": true, "http://10.0.0.1:8080/openai/v1/": true, "http://[::1]:80/v1": true,
	} {
		c, err := config.Parse(fmt.Appendf(nil, "targets: [{name: a, provider: azure, endpoint: %q}]\n", address), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Build(t.Context(), map[string]llm.Factory{"azure": shut}, nil)
		if detail := fmt.Sprintf("%+v", err); strings.Contains(detail, address) != shown {
			t.Errorf("%s", detail)
		}
		checkNoSecret(t, err)
	}
}
