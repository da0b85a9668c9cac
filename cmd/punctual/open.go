package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
)

// defaultFile is read where -c is not given, if it is there.
const defaultFile = "llm.yaml"

// errNoProvider is what a command says when neither a file nor the environment names a provider.
const errNoProvider = `no provider: there is no llm.yaml here, and none of these is set:
  AZURE_OPENAI_ENDPOINT | LLM_BEDROCK_MODEL + AWS_REGION |
  LLM_VERTEX_MODEL + GOOGLE_CLOUD_PROJECT
next: punctual generate -demo "Hello"   (a simulated cloud, no key)`

// configPath is the file that a command reads, "" for the environment alone. Whatever is there under the usual name is
// meant: a directory, or a link that leads nowhere, is an error and not nothing.
func (a *app) configPath(given string) string {
	if given != "" {
		return given
	}
	if _, err := os.Lstat(defaultFile); err == nil {
		return defaultFile
	}
	return ""
}

// opened is a client over a configuration.
type opened struct {
	*llm.Client
	chain *fallback.Chain
}

// use lets calls run on a chain that has taken over from the one before.
func (o *opened) use(chain *fallback.Chain) { o.Client, o.chain = llm.NewClient(chain, nil), chain }

// Close closes the targets. Calls have ended before, or are left behind: the program ends anyway.
func (o *opened) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	return o.chain.Close(ctx)
}

// open reads the configuration, once, for a file that a shell makes, as in -c <(…), cannot be read again; and opens a
// client over it. It sends nothing.
func (a *app) open(ctx context.Context, given string) (*opened, *config.Config, error) {
	path := a.configPath(given)
	conf, err := unlessInterrupted(ctx, func() (*config.Config, error) { return config.Load(path) })
	if err != nil {
		return nil, nil, configError(path, err)
	}
	chain, err := conf.Build(ctx, punctual.Providers(), nil)
	if err != nil {
		return nil, nil, configError(path, err)
	}
	o := &opened{}
	o.use(chain)
	return o, conf, nil
}

// unlessInterrupted is what f returns. When ctx ends first, f is left behind: reading a pipe or a terminal cannot be
// interrupted, and the program ends with it.
func unlessInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, &statusError{status: exitInterrupted, text: "interrupted"}
	}
}

// configError shows every mistake with its line, and says at last that nothing was sent.
func configError(path string, err error) error {
	if path == "" && errors.Is(err, config.ErrNoTarget) {
		return configf(errNoProvider)
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		return s
	}
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		if _, file := errors.AsType[*os.PathError](err); file {
			return configf("%s: %s\nnext: punctual init > %s", path, systemWords(err), defaultFile)
		}
		return configf("%s; nothing was sent", strings.TrimPrefix(err.Error(), "llm: invalid: "))
	}
	name := path
	if name == "" {
		name = "the environment"
	}
	return &statusError{
		status: exitConfig, before: e.Detail(),
		text: fmt.Sprintf("%s has %s; nothing was sent", name, count(len(e.Problems)+e.More, "error")),
	}
}

// setting is what a person looks for: the variable that holds a setting, or else its key.
func setting(conf *config.Config, path, key string) string {
	if conf == nil {
		return key
	}
	from, variables := conf.Origin(path+"."+key), conf.Variables(path+"."+key)
	switch {
	case len(variables) == 1:
		return variables[0]
	case from != "" && from != "default" && !strings.Contains(from, ":"): // a variable that replaces a setting
		return from
	default:
		return key
	}
}

// line is where a file has a setting, " (llm.yaml:10)", "" if none has it.
func line(conf *config.Config, path string) string {
	if conf == nil {
		return ""
	}
	from := conf.Origin(path)
	i := strings.LastIndexByte(from, ':')
	if i < 0 {
		return ""
	}
	return " (" + from[:i] + ")"
}

// places names what a target was made from, for the advice behind a failed call.
type places struct{ credential, host, place string }

func placesOf(conf *config.Config, name string) places {
	path := "targets." + name
	at := func(keys ...string) string {
		text := ""
		for i, key := range keys {
			switch {
			case i == 0:
			case i == len(keys)-1:
				text += " and "
			default:
				text += ", "
			}
			text += setting(conf, path, key)
		}
		return text + line(conf, path+"."+keys[0])
	}
	switch providerOf(conf, name) {
	case "azure":
		return places{at("api_key"), at("endpoint"), at("deployment", "endpoint", "api_version")}
	case "openai":
		return places{at("api_key"), at("base_url"), at("model", "base_url")}
	case "bedrock":
		return places{
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK",
			"AWS_ENDPOINT_URL_BEDROCK_RUNTIME and " + at("region"), at("model", "region"),
		}
	case "vertex":
		return places{
			at("api_key") + " or GOOGLE_APPLICATION_CREDENTIALS (gcloud auth application-default login)",
			"GOOGLE_VERTEX_BASE_URL and " + at("location"), at("model", "project", "location"),
		}
	default:
		return places{"its key", "its endpoint", "its model and endpoint"}
	}
}

func providerOf(conf *config.Config, target string) string {
	if conf == nil || conf.Target(target) == nil {
		return ""
	}
	return conf.Target(target).Provider
}

// limitPlace is where the limit of an operation that ended a call was set: a variable, a place in a file, or its key.
func limitPlace(conf *config.Config, op llm.Operation, bound llm.Bound) string {
	name := string(op)
	if op == "" {
		name = "default"
	}
	path, key := "plans."+name, string(bound)
	if word := setting(conf, path, key); word != key {
		return word
	}
	return path + "." + key + line(conf, path+"."+key)
}
