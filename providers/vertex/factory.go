package vertex

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/llm"
)

// section is what a target of provider vertex may have in a configuration.
type section struct {
	Project    string         `yaml:"project" json:"project"`
	Location   string         `yaml:"location" json:"location"`
	Model      string         `yaml:"model" json:"model"`
	Endpoint   string         `yaml:"endpoint" json:"endpoint"`
	APIKey     string         `yaml:"api_key" json:"api_key"`
	Engine     string         `yaml:"engine" json:"engine"`
	Parameters map[string]any `yaml:"parameters" json:"parameters"`
	Hint       *hint.Settings `yaml:"hint" json:"hint"`
}

// genaiName is the word for the engine that is always there.
const genaiName = "genai"

// Factory opens targets from a configuration, with the keys project, location, model, endpoint, api_key and
// parameters, as in [Options], and hint (header, unit, configured). engine names one of the given engines; genai is the default.
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
		p, err := New(&Options{
			Project: s.Project, Location: s.Location, Model: s.Model, Endpoint: s.Endpoint, APIKey: s.APIKey,
			Parameters: s.Parameters, Engine: engine, Hint: header,
		})
		if err != nil {
			return llm.Endpoint{}, err
		}
		return llm.Endpoint{
			Generator: p,
			Model:     p.model,
			Can:       llm.Capabilities{Streams: true},
			Prompt:    true,
			Close:     p.Close,
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
