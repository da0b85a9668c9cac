package vertex

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/network"
	"github.com/punctual-llm/punctual/llm"
)

// section is what a target of provider vertex may have in a configuration.
type section struct {
	Project          string         `yaml:"project" json:"project" doc:"The id of the Google Cloud project."`
	Location         string         `yaml:"location" json:"location" doc:"The region, us, eu or global." default:"global"`
	Model            string         `yaml:"model" json:"model" doc:"The name of the model, or the path of a tuned one. Required."`
	Endpoint         string         `yaml:"endpoint" json:"endpoint" doc:"Another address than Google's, for a gateway or a private endpoint." default:"Google's, or GOOGLE_VERTEX_BASE_URL"`
	APIKey           string         `yaml:"api_key" json:"api_key" doc:"A key in place of Application Default Credentials."`
	Engine           string         `yaml:"engine" json:"engine" doc:"The library that carries the calls: genai or vertexai." default:"genai"`
	Parameters       map[string]any `yaml:"parameters" json:"parameters" doc:"Further members of every request's body."`
	Hint             *hint.Settings `yaml:"hint" json:"hint" doc:"A gateway's own header for the time that it may take."`
	network.Settings `yaml:",inline"`
}

// genaiName is the word for the engine that is always there.
const genaiName = "genai"

// Factory opens targets from a configuration, with the keys project, location, model, endpoint, api_key and
// parameters, as in [Options], hint (header, unit, configured), proxy and tls (ca, cert, key). engine names one of the
// given engines; genai is the default, and the only one that takes proxy and tls.
func Factory(engines ...Engine) llm.Factory {
	engines = slices.Clone(engines)
	return func(_ context.Context, settings func(into any) error) (llm.Endpoint, error) {
		var s section
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		engine, err := find(engines, s.Engine)
		if err != nil {
			return llm.Endpoint{}, err
		}
		header, err := s.Hint.Open()
		if err != nil {
			return llm.Endpoint{}, err
		}
		client, err := s.Client()
		if err != nil {
			return llm.Endpoint{}, err
		}
		if client != nil && engine.Name != genaiName {
			return llm.Endpoint{}, llm.Invalid("engine", "takes neither proxy nor tls", "leave engine out, or set HTTPS_PROXY for the whole program")
		}
		p, err := New(&Options{
			Project: s.Project, Location: s.Location, Model: s.Model, Endpoint: s.Endpoint, APIKey: s.APIKey,
			Parameters: s.Parameters, Engine: engine, Hint: header, HTTP: client,
		})
		if err != nil {
			return llm.Endpoint{}, err
		}
		return llm.Endpoint{
			Generator: p,
			Model:     p.model,
			Can:       llm.Capabilities{Streams: true},
			Prompt:    true,
			Close:     network.Closer(p.Close, client),
		}, nil
	}
}

// find returns the engine of that name. What is known but was not given is an error that names the import.
func find(engines []Engine, name string) (Engine, error) {
	if name == "" || name == genaiName {
		return genaiEngine, nil
	}
	known := []string{genaiName}
	for _, e := range engines {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	if name == "vertexai" {
		return Engine{}, llm.Invalid("engine", "is not built in",
			"pass vertexai.Engine of github.com/punctual-llm/punctual/providers/vertex/vertexai to Factory")
	}
	return Engine{}, llm.Invalid("engine", "is unknown", fmt.Sprintf("use %s", strings.Join(known, " or ")))
}
